package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/trainers"
)

// onRanks runs f on two ranks, goroutines with a group each, and returns their errors.
func onRanks(t *testing.T, f func(g *distributed.Group) error) (errs [2]error) {
	t.Helper()
	t.Chdir(t.TempDir()) // where runs are written that have no folder
	cfg := distributed.DefaultConfig()
	cfg.Timeout = time.Minute
	groups := value(distributed.Local(2, cfg))(t)
	var wait sync.WaitGroup
	for r, g := range groups {
		wait.Go(func() {
			defer g.Close()
			errs[r] = f(g)
		})
	}
	wait.Wait()
	return errs
}

// onRank makes a run of PPO on a rank, with more settings of the trainer, and calls f with it.
func onRank(g *distributed.Group, env envs.Env, trainer map[string]any, f func(tr *trainers.Trainer) error,
	adjust ...func(*trainers.Config)) error {
	settings := map[string]any{"timesteps": 256}
	maps.Copy(settings, trainer)
	tr, err := trainers.FromDictIn(g, map[string]any{"models": map[string]any{"mlp": []any{16}},
		"agent": map[string]any{"class": "PPO", "rollouts": 32, "random_timesteps": 16,
			"observation_preprocessor": "RunningStandardScaler"},
		"trainer": settings}, env, adjust...)
	if err != nil {
		return err
	}
	defer tr.Agent().Close()
	defer tr.Close()
	return f(tr)
}

func newCartPoles(t testing.TB) envs.Env { return newCartPolesOf(t, 4) }

func newCartPolesOf(t testing.TB, n int) envs.Env {
	t.Helper()
	return value(classic.NewCartPole(classic.Config{NumEnvs: n}))(t)
}

// Two ranks train one agent: both have the same parameters and figures, and rank 0 alone writes and evaluates. A second
// run goes on from its checkpoint, on both. So it is with action masks, which every action must obey.
func TestRanksTrain(t *testing.T) {
	for name, newEnv := range map[string]func(n int) (envs.Env, error){
		"cart-pole": func(n int) (envs.Env, error) { return classic.NewCartPole(classic.Config{NumEnvs: n}) },
		"masks":     newConnectFour,
	} {
		t.Run(name, func(t *testing.T) { ranksTrain(t, newEnv) })
	}
}

// newConnectFour makes games whose players must obey action masks.
func newConnectFour(n int) (envs.Env, error) {
	return classic.NewConnectFour(classic.ConnectFourConfig{Config: classic.Config{NumEnvs: n}})
}

func ranksTrain(t *testing.T, newEnv func(n int) (envs.Env, error)) {
	dir := t.TempDir()
	for _, run := range []struct {
		timesteps int
		begin     int64
	}{{256, 0}, {320, 256}} {
		var snaps [2]map[string][]byte
		var metrics [2]map[string]float64
		errs := onRanks(t, func(g *distributed.Group) error {
			return onRank(g, value(newEnv(4))(t), map[string]any{"timesteps": run.timesteps, "evaluation_interval": 128,
				"evaluation_episodes": 2, "resume": true, "write_interval": 32, "checkpoint_interval": 128},
				func(tr *trainers.Trainer) error {
					opened, begun := tr.Open(t.Context()), tr.Timestep()
					err := errors.Join(opened, tr.Train(t.Context()))
					if steps := tr.Steps(); begun != run.begin || steps != int64(run.timesteps*8) ||
						(tr.Dir() == "") != (g.Rank() > 0) {
						t.Errorf("rank %d begins at timestep %d, makes %d environment steps and writes to %q", g.Rank(),
							begun, steps, tr.Dir())
					}
					metrics[g.Rank()], snaps[g.Rank()] = tr.Metrics(), map[string][]byte{}
					snap, wrong := tr.Agent().(agents.Snapshotter).Snapshot(agents.SnapshotOptions{})
					if wrong != nil {
						return wrong
					}
					for name, a := range snap.Arrays {
						if !strings.Contains(name, "random") {
							snaps[g.Rank()][name] = a.Data
						}
					}
					return err
				},
				func(cfg *trainers.Config) {
					cfg.Directory, cfg.Name = dir, "run"
					cfg.EvaluationEnv = func(n int, _ int64) (envs.Env, error) { return newEnv(n) }
				})
		})
		must(t, errors.Join(errs[:]...))
		if diff := cmp.Diff(metrics[0], metrics[1]); diff != "" || metrics[0]["episode.length"] == 0 ||
			metrics[0]["evaluation.length"] == 0 {
			t.Errorf("the ranks' figures differ, or are missing:\n%s%v", diff, metrics[0])
		}
		if diff := cmp.Diff(snaps[0], snaps[1]); diff != "" {
			t.Errorf("the ranks' agents differ:\n%.2000s", diff)
		}
	}
	if rows := figures(t, filepath.Join(dir, "run")); !strings.Contains(fmt.Sprint(rows), "Loss / Policy loss") {
		t.Errorf("rank 0's curves: %q", rows)
	}
}

// The context of one rank ends: all stop behind the same update, and rank 0 saves.
func TestRanksStop(t *testing.T) {
	dir := t.TempDir()
	errs := onRanks(t, func(g *distributed.Group) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return onRank(g, newCartPoles(t), map[string]any{"timesteps": 100_000}, func(tr *trainers.Trainer) error {
			err := tr.Train(ctx)
			if tr.Timestep() != 96 {
				t.Errorf("rank %d stopped at timestep %d, want 96, behind the update", g.Rank(), tr.Timestep())
			}
			return err
		}, func(cfg *trainers.Config) {
			cfg.Directory, cfg.Name = dir, "run"
			cfg.Callbacks = after(func(tr *trainers.Trainer) error {
				if g.Rank() == 1 && tr.Timestep() == 70 {
					cancel()
				}
				return nil
			})
		})
	})
	for r, err := range errs {
		if wantError(t, r, err, "rank 1 was stopped"); !errors.Is(err, context.Canceled) {
			t.Errorf("rank %d: %v", r, err)
		}
	}
	value(os.Stat(filepath.Join(dir, "run", "checkpoints", "agent_96.safetensors")))(t)
}

// An environment of one rank fails: all ranks end, and say why.
func TestRanksEnvironmentFails(t *testing.T) {
	for failing := range 2 {
		errs := onRanks(t, func(g *distributed.Group) error {
			env := newCartPoles(t)
			if g.Rank() == failing {
				env = &faulty{Env: env, at: 41, fault: func(*envs.Step) (*envs.Step, error) { return nil, errLost }}
			}
			return onRank(g, env, nil, func(tr *trainers.Trainer) error { return tr.Train(t.Context()) })
		})
		wantError(t, failing, errs[failing], errLost.Error())
		var peer *distributed.PeerError
		if wantError(t, failing, errs[1-failing], errLost.Error()); !errors.As(errs[1-failing], &peer) ||
			!cmp.Equal(peer.Ranks, []int{failing}) {
			t.Errorf("rank %d fails: the other says %v, which does not name it", failing, errs[1-failing])
		}
	}
}

// What several ranks cannot have is refused before anything begins.
func TestRanksRefuse(t *testing.T) {
	for r, err := range onRanks(t, func(g *distributed.Group) error {
		return onRank(g, newCartPoles(t), map[string]any{"save_buffers": true}, nil)
	}) {
		wantError(t, r, err, `"save_buffers"`)
	}
}
