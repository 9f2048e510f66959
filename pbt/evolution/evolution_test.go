package evolution_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

// networks are architectures by their names.
type networks = map[string]description.Architecture

// trainee builds a member in an environment: an agent with the networks of its snapshot, or those that it begins with.
// onStep is called after every step, where it is not nil.
func trainee(m pbt.Member, env envs.Env, shapes networks, onStep func() error,
	build func(sp spaces.Set, shapes networks) (agents.Agent, error)) (_ pbt.Trainee, err error) {
	if m.Restoring != nil {
		if shapes, err = evolution.Architectures(m.Restoring); err != nil {
			return nil, err
		}
	}
	cfg := trainers.Config{Seed: m.Seed, SaveBuffers: true}
	if onStep != nil {
		cfg.Callbacks = []trainers.Callback{trainers.StepFunc(func(*trainers.Trainer, *envs.Step) error {
			return onStep()
		})}
	}
	return trainers.NewTrainee(env, func() (agents.Agent, error) { return build(env.Spaces(), shapes) }, cfg)
}

// newPPO builds an agent with evolvable networks that learns twice an update.
func newPPO(m pbt.Member) func(sp spaces.Set, shapes networks) (agents.Agent, error) {
	return func(sp spaces.Set, shapes networks) (agents.Agent, error) {
		return ppo.New(ppo.Options{
			Spaces: sp, Seed: m.Seed,
			Models: ppo.Evolvable(sp, shapes["policy"], shapes["value"], models.DefaultGaussianConfig()),
			Dict:   map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 2},
		})
	}
}

// cartpole builds members: PPO with an encoder and a head, on short episodes.
func cartpole(onStep func() error) func(m pbt.Member) (pbt.Trainee, error) {
	return func(m pbt.Member) (pbt.Trainee, error) {
		env, err := classic.NewCartPole(classic.Config{NumEnvs: 4, MaxEpisodeSteps: 30, Seed: m.Seed})
		if err != nil {
			return nil, err
		}
		a, err := description.NewArchitecture(env.Spaces().Observation, []int{8}, 8, []int{8}, "tanh")
		if err != nil {
			return nil, err
		}
		return trainee(m, env, networks{"policy": a, "value": a}, onStep, newPPO(m))
	}
}

// busy has everything happen often, on small networks.
func busy() *evolution.Mutations {
	m := evolution.DefaultMutations()
	m.NoMutation, m.Architecture, m.Parameters, m.Activation, m.RLHP = 0.1, 0.5, 0.2, 0.1, 0.2
	m.Limits = evolution.Limits{MinLayers: 1, MaxLayers: 3, MinNodes: 4, MaxNodes: 64, MinLatent: 2, MaxLatent: 64}
	return &m
}

func options() evolution.Options {
	return evolution.Options{
		Options: pbt.Options{Members: 4, IntervalSteps: 4 * 45, TotalSteps: 4 * 45 * 6, Diversify: true, Seed: 3,
			Sample: map[string]explore.Range{"learning_rate": {Low: 1e-5, High: 1e-2, Log: true}}, New: cartpole(nil)},
		Mutations: busy(),
	}
}

// outcome is everything that an evolution leads to.
type outcome struct {
	journal   []journal.Event
	snapshots []*checkpoint.Snapshot
}

func finish(t *testing.T, e *evolution.Evolution) outcome {
	t.Helper()
	o := outcome{journal: e.Population().Journal()}
	for id := range e.Population().Generation().Members {
		o.snapshots = append(o.snapshots, must.Get(e.Population().Trainee(id).Snapshot())(t))
	}
	must.Do(t, e.Close())
	return o
}

// interrupted trains what build makes to its end, and stops it each time that stop has been called every times.
func interrupted(t *testing.T, every int64, build func(stop func()) evolution.Options) outcome {
	t.Helper()
	for breaks := 0; ; breaks++ {
		ctx, cancel := context.WithCancel(t.Context())
		var left atomic.Int64
		left.Store(every)
		e, err := evolution.New(build(func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		}))
		must.Do(t, err)
		_, err = e.Train(ctx)
		cancel()
		if err == nil {
			if breaks < 3 {
				t.Errorf("only %d interruptions", breaks)
			}
			return finish(t, e)
		}
		if !errors.Is(err, context.Canceled) || breaks > 100 {
			t.Fatal(err)
		}
		must.Do(t, e.Close())
	}
}

// TestResume: an evolution that is stopped in the middle of generations, rollouts and episodes, and continued in
// another process, ends as one that was not, however many members train at a time.
func TestResume(t *testing.T) {
	ippo := func(onStep func() error) func(m pbt.Member) (pbt.Trainee, error) {
		return pair(false, rendezvous{}, onStep)
	}
	for name, c := range map[string]struct {
		// build makes a function that builds members. onStep is called after every step, where it is not nil.
		build     func(onStep func() error) func(m pbt.Member) (pbt.Trainee, error)
		change    func(o *evolution.Options)
		check     func(t *testing.T, o evolution.Options, e *evolution.Evolution)
		mutations []string // the beginnings of those that must occur
	}{
		"IPPO": {ippo, func(o *evolution.Options) {
			o.Sample = map[string]explore.Range{"speaker_0.learning_rate": {Low: 1e-5, High: 1e-2, Log: true}}
			o.Mutations.Architecture, o.TotalSteps = 1.5, 4*o.IntervalSteps
		}, checkGroups, []string{"speaker_0: ", "listener_0: "}},
		"memory": {walker, func(o *evolution.Options) {
			m := o.Mutations
			m.Architecture, m.Activation, m.NewLayerProb = 5, 0.05, 0.05
			m.Limits.MinHidden, m.Limits.MaxHidden = 2, 128
			o.Members, o.IntervalSteps, o.TotalSteps, o.Seed, o.Sample = 3, 24, 8*24, 4, nil
		}, checkMemory, []string{"memory."}},
	} {
		t.Run(name, func(t *testing.T) {
			agenttest.CheckLive(t)
			o := options()
			c.change(&o)
			o.Directory, o.Parallel, o.New = t.TempDir(), 1, c.build(nil)
			e := must.Get(evolution.New(o))(t)
			must.Get(e.Train(t.Context()))(t)
			c.check(t, o, e)
			want, again := finish(t, e), o
			again.Directory, again.Parallel = t.TempDir(), 4
			got := interrupted(t, 77, func(stop func()) evolution.Options {
				again.New = c.build(func() error { stop(); return nil })
				return again
			})
			must.Equal(t, "the journal", want.journal, got.journal)
			for id := range want.snapshots {
				must.Equal(t, fmt.Sprint("where member ", id, " differs"), []string(nil),
					agenttest.Differences(want.snapshots[id], got.snapshots[id]))
			}
			architectures, done := map[string]bool{}, map[string]bool{}
			for _, e := range want.journal {
				if e.Kind == journal.ApplyFailed || e.Kind == journal.Failed {
					t.Errorf("%+v", e)
				}
				architectures[e.Architecture] = true
				for _, beginning := range c.mutations {
					if strings.HasPrefix(e.Mutation, beginning) {
						done[beginning] = true
					}
				}
			}
			if len(architectures) < 4 || len(done) < len(c.mutations) {
				t.Errorf("architectures %v, mutations %v: this shows little", architectures, done)
			}
		})
	}
}

func TestEliteAndCheckpoints(t *testing.T) {
	agenttest.CheckLive(t)
	o := options()
	o.Directory = t.TempDir()
	o.SaveElite, o.Checkpoint = true, 400
	e := must.Get(evolution.New(o))(t)
	best := must.Get(e.Train(t.Context()))(t)
	defer e.Close()
	saved := must.Get(evolution.LoadElite(filepath.Join(o.Directory, "elite")))(t)
	must.Is(t, saved.Manifest.Step, best.Steps, "steps of the elite saved")
	elite := must.Open(evolution.Build(o.New, saved.Snapshot, o.Seed))(t)
	must.Equal(t, "where the elite differs", []string(nil),
		agenttest.Differences(best.Snapshot, must.Get(elite.Snapshot())(t)))
	files := must.Get(filepath.Glob(filepath.Join(o.Directory, "checkpoints", "*", "*.safetensors")))(t)
	must.Is(t, len(files), 4*2, "checkpoints of 1080 steps, after 540 and 900")
	wantInTable(t, e, "last mutation", "learning_rate", "policy 4→[")
}

// wantInTable checks that the table of an evolution has all parts.
func wantInTable(t *testing.T, e *evolution.Evolution, parts ...string) {
	t.Helper()
	var table strings.Builder
	must.Do(t, e.WriteTable(&table))
	for _, part := range parts {
		if !strings.Contains(table.String(), part) {
			t.Errorf("the table has no %q:\n%s", part, table.String())
		}
	}
}
