package trainers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// cartPoles is a run on a rank, with more settings of the trainer.
func cartPoles(g *distributed.Group, env envs.Env, trainer map[string]any,
	adjust ...func(*trainers.Config)) (*trainers.Trainer, error) {
	settings := map[string]any{"timesteps": 256}
	for k, v := range trainer {
		settings[k] = v
	}
	return trainers.FromDictIn(g, map[string]any{"models": map[string]any{"mlp": []any{16}},
		"agent": map[string]any{"class": "PPO", "rollouts": 32, "random_timesteps": 16,
			"observation_preprocessor": "RunningStandardScaler"},
		"trainer": settings}, env, adjust...)
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
		var figures [2]map[string]float64
		var writes [2]string
		errs := onRanks(t, func(g *distributed.Group) error {
			trainer, err := cartPoles(g, value(newEnv(4))(t), map[string]any{"timesteps": run.timesteps,
				"evaluation_interval": 128,
				"evaluation_episodes": 2, "resume": true, "write_interval": 32, "checkpoint_interval": 128},
				func(cfg *trainers.Config) {
					cfg.Directory, cfg.Name = dir, "run"
					cfg.EvaluationEnv = func(n int, _ int64) (envs.Env, error) { return newEnv(n) }
				})
			if err != nil {
				return err
			}
			defer trainer.Agent().Close()
			defer trainer.Close()
			if err := trainer.Open(t.Context()); err != nil {
				return err
			}
			if got := trainer.Timestep(); got != run.begin {
				return fmt.Errorf("rank %d begins at timestep %d, want %d", g.Rank(), got, run.begin)
			}
			if err := trainer.Train(t.Context()); err != nil {
				return err
			}
			if got, want := trainer.Steps(), int64(run.timesteps*8); got != want {
				return fmt.Errorf("%d environment steps, want %d", got, want)
			}
			figures[g.Rank()], writes[g.Rank()] = trainer.Metrics(), trainer.Dir()
			snap, err := trainer.Agent().(agents.Snapshotter).Snapshot(agents.SnapshotOptions{})
			if err != nil {
				return err
			}
			snaps[g.Rank()] = map[string][]byte{}
			for name, a := range snap.Arrays {
				if !strings.Contains(name, "random") {
					snaps[g.Rank()][name] = a.Data
				}
			}
			return nil
		})
		must(t, errors.Join(errs[:]...))
		if diff := cmp.Diff(figures[0], figures[1]); diff != "" || figures[0]["episode.length"] == 0 ||
			figures[0]["evaluation.length"] == 0 {
			t.Errorf("the ranks' figures differ, or are missing:\n%s%v", diff, figures[0])
		}
		if diff := cmp.Diff(snaps[0], snaps[1]); diff != "" {
			t.Errorf("the ranks' agents differ:\n%.2000s", diff)
		}
		if writes[0] != filepath.Join(dir, "run") || writes[1] != "" {
			t.Errorf("the ranks write into %q; want the run's folder for rank 0 alone", writes)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "run", "scalars.jsonl"))
	if err != nil || !bytes.Contains(text, []byte("Loss / Policy loss")) {
		t.Errorf("rank 0's curves: %.200s: %v", text, err)
	}
}

// The context of one rank ends: all stop behind the same update, and rank 0 saves.
func TestRanksStop(t *testing.T) {
	dir := t.TempDir()
	var stopped [2]int64
	errs := onRanks(t, func(g *distributed.Group) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		trainer, err := cartPoles(g, newCartPoles(t), map[string]any{"timesteps": 100_000}, func(cfg *trainers.Config) {
			cfg.Directory, cfg.Name = dir, "run"
			cfg.Callbacks = []trainers.Callback{trainers.StepFunc(func(t *trainers.Trainer, _ *envs.Step) error {
				if g.Rank() == 1 && t.Timestep() == 70 {
					cancel()
				}
				return nil
			})}
		})
		if err != nil {
			return err
		}
		defer trainer.Agent().Close()
		defer trainer.Close()
		err = trainer.Train(ctx)
		stopped[g.Rank()] = trainer.Timestep()
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "rank 1 was stopped") {
			return fmt.Errorf("rank %d: %w; want one that says that rank 1 was stopped", g.Rank(), err)
		}
		return nil
	})
	must(t, errors.Join(errs[:]...))
	if stopped != [2]int64{96, 96} {
		t.Errorf("the ranks stopped at timesteps %v, want 96, behind the update", stopped)
	}
	value(os.Stat(filepath.Join(dir, "run", "checkpoints", "agent_96.safetensors")))(t)
}

// crashing is an environment whose steps fail at some time.
type crashing struct {
	envs.Env
	left int
}

func (c *crashing) Step(actions []float32) (*envs.Step, error) {
	if c.left--; c.left < 0 {
		return nil, errors.New("the simulator has lost a wheel")
	}
	return c.Env.Step(actions)
}

// An environment of one rank fails: all ranks end, and say why.
func TestRanksEnvironmentFails(t *testing.T) {
	for failing := range 2 {
		errs := onRanks(t, func(g *distributed.Group) error {
			env := newCartPoles(t)
			if g.Rank() == failing {
				env = &crashing{env, 40}
			}
			trainer, err := cartPoles(g, env, nil)
			if err != nil {
				return err
			}
			defer trainer.Agent().Close()
			defer trainer.Close()
			return trainer.Train(t.Context())
		})
		for r, err := range errs {
			if err == nil || !strings.Contains(err.Error(), "lost a wheel") {
				t.Errorf("rank %d fails: rank %d says %v", failing, r, err)
			}
		}
		var peer *distributed.PeerError
		if !errors.As(errs[1-failing], &peer) || !cmp.Equal(peer.Ranks, []int{failing}) {
			t.Errorf("rank %d fails: the other says %v, which does not name it", failing, errs[1-failing])
		}
	}
}

// What several ranks cannot have is refused before anything begins.
func TestRanksRefuse(t *testing.T) {
	for _, err := range onRanks(t, func(g *distributed.Group) error {
		_, err := cartPoles(g, newCartPoles(t), map[string]any{"save_buffers": true})
		return err
	}) {
		wantError(t, "buffers", err, `"save_buffers"`)
	}
}
