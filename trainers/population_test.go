package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

// A population that tunes the environment's parameters and was interrupted goes on to the very journal of one that was
// not: members come back with the figures of their episodes, which an interval has only few of, with the parameters
// that wait, and with the curriculum. So it is with action masks, which every action must obey.
func TestPopulationResumes(t *testing.T) {
	t.Run("parameters", func(t *testing.T) {
		populationResumes(t, func() envs.Env { return lessons(t, 4, true) },
			map[string]explore.Range{"env.scale": {Low: 0.5, High: 2}})
	})
	t.Run("masks", func(t *testing.T) {
		populationResumes(t, func() envs.Env { return value(newConnectFour(4))(t) }, nil)
	})
}

func populationResumes(t *testing.T, newEnv func() envs.Env, sample map[string]explore.Range) {
	t.Helper()
	rules := explore.Rules{"learning_rate": explore.MutateFloat}
	for key := range sample {
		rules[key] = explore.MutateFloat
	}
	train := func(ctx context.Context, dir string, progress func(pbt.Update)) error {
		population, err := pbt.New(pbt.Options{
			Members: 3, Objective: "episode.return", IntervalSteps: 40, TotalSteps: 320, Seed: 5, Directory: dir,
			Parallel: 1, Progress: progress,
			Strategy: strategy.IsaacLab{},
			Explore:  explore.Mutation{Rate: 0.9, Rules: rules}, Sample: sample,
			New: func(m pbt.Member) (pbt.Trainee, error) {
				env := newEnv()
				build := func() (agents.Agent, error) { return smallPPO(t, env.Spaces(), m.Seed, nil), nil }
				return trainers.NewTrainee(env, build, trainers.Config{Seed: m.Seed, SaveBuffers: true})
			},
		})
		if err != nil {
			return err
		}
		_, err = population.Train(ctx)
		return errors.Join(err, population.Close())
	}
	recorded := func(dir string) string { return fmt.Sprint(value(journal.Read(dir))(t)[1:]) }
	whole, cut := t.TempDir(), t.TempDir()
	replaced := 0
	must(t, train(t.Context(), whole, func(u pbt.Update) {
		if u.Event != nil && u.Event.Kind == journal.Replace {
			replaced++
		}
	}))
	if replaced < 3 {
		t.Errorf("only %d members were replaced", replaced)
	}
	lives := 0
	for err := context.Canceled; err != nil; lives++ { // every life lasts one interval and a bit
		ctx, cancel := context.WithCancel(t.Context())
		first := int64(0)
		err = train(ctx, cut, func(u pbt.Update) {
			if first == 0 {
				first = u.Iteration
			}
			if u.Iteration > first {
				cancel()
			}
		})
		if cancel(); err != nil && !errors.Is(err, context.Canceled) || lives == 20 {
			t.Fatal(err)
		}
	}
	if a, b := recorded(whole), recorded(cut); a != b {
		t.Errorf("the journals differ:\n%s\n%s", a, b)
	}
	if starts := value(runfile.Starts(cut))(t); len(starts) < 3 || starts[2].Interval != 3 {
		t.Errorf("the starts of the population are recorded as %+v", starts)
	}
}

// Members that share an environment or an agent are refused before the population trains. (Networks that agents share
// are in TestNetworkBelongsToOneAgent of package agents.)
func TestPopulationSharesNothing(t *testing.T) {
	for _, what := range []string{"environment", "agent"} {
		env := lessons(t, 4, true)
		agent := smallPPO(t, env.Spaces(), 1, nil)
		refused(pbt.New(pbt.Options{Members: 2, Objective: "episode.return", IntervalSteps: 40, TotalSteps: 80,
			Parallel: 1, Strategy: strategy.IsaacLab{}, Explore: explore.Mutation{},
			New: func(m pbt.Member) (pbt.Trainee, error) {
				if what == "agent" {
					same := func() (agents.Agent, error) { return agent, nil }
					return trainers.NewTrainee(lessons(t, 4, true), same, trainers.Config{})
				}
				build := func() (agents.Agent, error) { return smallPPO(t, env.Spaces(), m.Seed, nil), nil }
				return trainers.NewTrainee(env, build, trainers.Config{})
			}}))(t, what, "members 0 and 1 have the same "+what)
		must(t, errors.Join(agent.Close(), env.Close()))
	}
}

// A population whose members cannot be evaluated is refused before anything is trained.
func TestPopulationChecksEvaluation(t *testing.T) {
	refused(pbt.New(pbt.Options{Members: 2, Objective: "episode.return", IntervalSteps: 64, TotalSteps: 128,
		Measure: pbt.Measure{EvaluationEpisodes: 4},
		New: func(m pbt.Member) (pbt.Trainee, error) {
			env, agent := scenes[0].make(t)
			return trainers.NewTrainee(&faulty{Env: env}, func() (agents.Agent, error) { return agent, nil },
				trainers.Config{})
		}}))(t, "no evaluation", "measure.evaluation_episodes", "(*trainers_test.faulty) cannot restore its state")
}

// closing counts how often an environment is closed.
type closing struct {
	envs.Env
	closed int
}

func (c *closing) Close() error {
	c.closed++
	return c.Env.Close()
}

// closingAgent counts how often an agent is closed.
type closingAgent struct {
	agents.Agent
	closed int
}

func (c *closingAgent) Close() error {
	c.closed++
	return c.Agent.Close()
}

// A trainee owns environment and agent from the call on: both are closed on every error, and with the trainee.
func TestNewTraineeOwns(t *testing.T) {
	for name, test := range map[string]struct {
		build func() (agents.Agent, error) // nil: a small PPO agent
		cfg   trainers.Config
		want  string
	}{
		"no agent": {func() (agents.Agent, error) { return nil, errors.New("no luck") }, trainers.Config{}, "no luck"},
		"none and no error": {func() (agents.Agent, error) { return nil, nil }, trainers.Config{},
			"needs an environment and an agent"},
		"its evaluation": {nil, trainers.Config{EvaluationInterval: every(5)}, "evaluates its members itself"},
		"nothing wrong":  {nil, trainers.Config{}, ""},
	} {
		env, agent := &closing{Env: newCartPoles(t)}, &closingAgent{}
		trainee, err := trainers.NewTrainee(env, func() (agents.Agent, error) {
			if test.build != nil {
				return test.build()
			}
			agent.Agent = smallPPO(t, env.Spaces(), 1, nil)
			return agent, nil
		}, test.cfg)
		if test.want != "" {
			wantError(t, name, err, test.want)
		} else {
			must(t, errors.Join(err, trainee.Train(t.Context(), 8), trainee.Close()))
		}
		if env.closed != 1 || agent.Agent != nil && agent.closed != 1 {
			t.Errorf("%s: the environment was closed %d times, the agent is %+v; want both closed once", name,
				env.closed, agent)
		}
	}
}

// An interruption of the last timestep that Train was asked for leaves no update undone: who resumes has nothing left
// to train before the member is measured.
func TestTraineeCompletesLastUpdate(t *testing.T) {
	for _, at := range []int{7, 8} {
		inner := value(classic.NewCartPole(classic.Config{NumEnvs: 2}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		stop := func(s *envs.Step) (*envs.Step, error) { cancel(); return s, nil }
		env := &faulty{Env: inner, at: at + 1, fault: stop}
		m := value(trainers.NewTrainee(env, func() (agents.Agent, error) {
			return smallPPO(t, inner.Spaces(), 1, map[string]any{"rollouts": 8}), nil
		}, trainers.Config{Seed: 1}))(t)
		if err := m.Train(ctx, 16); !errors.Is(err, context.Canceled) || m.Steps() < 12 || m.Agent().Ready() {
			t.Errorf("interrupted in step %d: %v after %d environment steps, a rollout is complete: %t", at, err,
				m.Steps(), m.Agent().Ready())
		}
		must(t, m.Close())
	}
}

// A trainee advances by environment steps, goes on after an interruption, and can take another's place.
func TestTrainee(t *testing.T) {
	member := func(seed int64) *trainers.Trainee {
		env, agent := scenes[0].make(t)
		m := sequential(t, env, agent, trainers.Config{Seed: seed}).Trainee()
		t.Cleanup(func() { must(t, errors.Join(m.Close(), m.Close())) })
		return m
	}
	a, b := member(1), member(2)
	must(t, errors.Join(a.Train(t.Context(), 100), b.Train(t.Context(), 41)))
	interrupted := a.Train(&countdown{t.Context(), 3}, 100)
	if !errors.Is(interrupted, context.Canceled) || a.Steps() >= 200 || b.Steps() != 44 { // whole timesteps
		t.Errorf("%v after %d steps; %d steps, want 44", interrupted, a.Steps(), b.Steps())
	}
	must(t, a.Train(t.Context(), 200-a.Steps()))
	must(t, b.Restore(value(a.Snapshot())(t)))
	if got, want := b.Metrics(), a.Metrics(); !maps.Equal(got, want) || len(got) == 0 || b.Steps() != 200 {
		t.Errorf("after %d steps the weights come with figures %v, want %v", b.Steps(), got, want)
	}
	must(t, b.Reseed(9))
	m := b.Metrics()
	delete(m, tracking.TagUpdates) // those of the weights
	must(t, b.Train(t.Context(), 100))
	if _, ok := b.Metrics()["episode.return"]; !ok || len(m) != 0 {
		t.Errorf("a copy has another's figures: %v, or none of its own: %v", m, b.Metrics())
	}
}

// The end of a run waits for an update in progress: its figures are tracked, and its error is that of the run.
func TestOverlapEnds(t *testing.T) {
	tr := overlapping[0].trained(t, trainers.Config{Timesteps: 24, Directory: t.TempDir(), Name: "run", Seed: 11,
		WriteInterval: every(1)})
	if n := len(scalars(t, tr.Dir())["Loss / Policy loss"]); n != 3 {
		t.Errorf("the losses of %d updates are tracked, want 3", n)
	}
	bad := overlapping[0].open(t, trainers.Config{Timesteps: 8, Seed: 11})
	must(t, bad.SetHyperparameters(map[string]float64{"learning_rate": 1e30, "grad_norm_clip": 0}))
	var diverged *agents.DivergedError
	if err := bad.Train(context.Background()); !errors.As(err, &diverged) ||
		!strings.Contains(err.Error(), "timestep 8") {
		t.Errorf("a run whose last update diverges: %v", err)
	}
}

// A member of a population has made all its updates when it is measured, whether or not it is evaluated in between.
func TestOverlapTrainee(t *testing.T) {
	train := func(evaluate bool) *trainers.Trainee {
		env, agent := overlapping[0].make(t)
		m := sequential(t, env, agent, trainers.Config{Seed: 11}).Trainee()
		t.Cleanup(func() { must(t, m.Close()) })
		for range 3 {
			must(t, m.Train(context.Background(), 8*4))
			if evaluate {
				value(m.EvaluateMetrics(context.Background(), 4, 3))(t)
			}
		}
		return m
	}
	a, b := train(false), train(true)
	if n := value(agenttest.Snapshot(t, a.Agent()).Int("updates"))(t); n != 3 {
		t.Errorf("%d updates, want 3", n)
	}
	agenttest.Same(t, a.Agent(), b.Agent())

	// The weights of another member act from the next step on.
	must(t, a.Restore(value(b.Snapshot())(t)))
	must(t, a.Reseed(77))
	snap := agenttest.Snapshot(t, a.Agent())
	for name, array := range snap.Arrays {
		if acting, ok := snap.Arrays["rollout/acting/"+name]; ok && string(acting.Data) != string(array.Data) {
			t.Errorf("%s is not what the member acts with", name)
		}
	}
}
