package trainers_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

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
	small := func(sp spaces.Set) (agents.Agent, error) { return smallPPO(t, sp, 1, nil), nil }
	misfit := spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewDiscrete(2)}
	for name, test := range map[string]struct {
		build func(sp spaces.Set) (agents.Agent, error)
		cfg   trainers.Config
		want  string
	}{
		"no agent": {func(spaces.Set) (agents.Agent, error) { return nil, errors.New("no luck") },
			trainers.Config{}, "no luck"},
		"none and no error": {func(spaces.Set) (agents.Agent, error) { return nil, nil }, trainers.Config{},
			"needs an environment and an agent"},
		"a misfit": {func(spaces.Set) (agents.Agent, error) { return small(misfit) }, trainers.Config{},
			"the agent was made for"},
		"a bad setting": {small, trainers.Config{Timesteps: -1}, `"timesteps" is -1`},
		"nothing wrong": {small, trainers.Config{}, ""},
	} {
		env := &closing{Env: newCartPoles(t)}
		var agent *closingAgent
		trainee, err := trainers.NewTrainee(env, func() (agents.Agent, error) {
			a, err := test.build(env.Spaces())
			if a == nil {
				return nil, err
			}
			agent = &closingAgent{Agent: a}
			return agent, err
		}, test.cfg)
		if test.want != "" {
			wantError(t, name, err, test.want)
		} else {
			must(t, errors.Join(err, trainee.Train(t.Context(), 8), trainee.Close()))
		}
		if env.closed != 1 || agent != nil && agent.closed != 1 {
			t.Errorf("%s: the environment was closed %d times, the agent is %+v; want both closed once", name,
				env.closed, agent)
		}
	}
	// A population evaluates its members itself.
	env := &closing{Env: newCartPoles(t)}
	_, err := trainers.NewTrainee(env, nil, trainers.Config{EvaluationInterval: every(5)})
	if wantError(t, "evaluation", err, "a population evaluates its members itself"); env.closed != 1 {
		t.Errorf("the environment was closed %d times", env.closed)
	}
}

// interrupting cancels a context within a step of its environment.
type interrupting struct {
	envs.Env
	left   int
	cancel func()
}

func (i *interrupting) Unwrap() envs.Env { return i.Env }

func (i *interrupting) Step(actions []float32) (*envs.Step, error) {
	if i.left--; i.left == 0 {
		i.cancel()
	}
	return i.Env.Step(actions)
}

// An interruption of the last timestep that Train was asked for leaves no update undone: who resumes has nothing left
// to train before the member is measured.
func TestTraineeCompletesLastUpdate(t *testing.T) {
	for _, at := range []int{7, 8} {
		inner := value(classic.NewCartPole(classic.Config{NumEnvs: 2}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		env := &interrupting{inner, at, cancel}
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
	must(t, errors.Join(a.Train(context.Background(), 100), b.Train(context.Background(), 41)))
	if a.Steps() != 100 || b.Steps() != 44 { // whole timesteps of four environments
		t.Errorf("%d and %d steps, want 100 and 44", a.Steps(), b.Steps())
	}
	if err := a.Train(&countdown{context.Background(), 3}, 100); !errors.Is(err, context.Canceled) || a.Steps() >= 200 {
		t.Errorf("%v after %d steps", err, a.Steps())
	}
	if err := a.Train(context.Background(), 200-a.Steps()); err != nil || a.Steps() != 200 {
		t.Errorf("%v after %d steps", err, a.Steps())
	}
	must(t, b.Restore(value(a.Snapshot())(t)))
	if got, want := b.Metrics(), a.Metrics(); !maps.Equal(got, want) || len(got) == 0 || b.Steps() != 200 {
		t.Errorf("after %d steps the weights come with figures %v, want %v", b.Steps(), got, want)
	}
	must(t, b.Reseed(9))
	m := b.Metrics()
	delete(m, tracking.TagUpdates) // those of the weights
	if len(m) != 0 || b.Samples("episode.return", 9) != nil {
		t.Errorf("a copy has another's figures: %v", m)
	}
	must(t, b.Train(context.Background(), 100))
	if _, ok := b.Metrics()["episode.return"]; !ok {
		t.Errorf("metrics %v", b.Metrics())
	}
}
