package trainers_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/spaces"
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
	checkLiveTensors(t)
	misfit := spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewDiscrete(2)}
	for name, test := range map[string]struct {
		build func(sp spaces.Set) (agents.Agent, error)
		cfg   trainers.Config
		want  string
	}{
		"no agent":          {func(spaces.Set) (agents.Agent, error) { return nil, errors.New("no luck") }, trainers.Config{}, "no luck"},
		"none and no error": {func(spaces.Set) (agents.Agent, error) { return nil, nil }, trainers.Config{}, "needs an environment and an agent"},
		"a misfit":          {func(spaces.Set) (agents.Agent, error) { return smallPPO(t, misfit, 1, nil), nil }, trainers.Config{}, "the agent was made for"},
		"a bad setting":     {func(sp spaces.Set) (agents.Agent, error) { return smallPPO(t, sp, 1, nil), nil }, trainers.Config{Timesteps: -1}, `"timesteps" is -1`},
		"nothing wrong":     {func(sp spaces.Set) (agents.Agent, error) { return smallPPO(t, sp, 1, nil), nil }, trainers.Config{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inner, other := scenes[0].make(t)
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			env := &closing{Env: inner}
			var agent *closingAgent
			trainee, err := trainers.NewTrainee(env, func() (agents.Agent, error) {
				a, err := test.build(env.Spaces())
				if a == nil {
					return nil, err
				}
				agent = &closingAgent{Agent: a}
				return agent, err
			}, test.cfg)
			if test.want == "" {
				if err == nil {
					err = trainee.Train(t.Context(), 8)
				}
				if err = errors.Join(err, trainee.Close()); err != nil {
					t.Fatal(err)
				}
			} else if trainee != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("a trainee %v and the error %v, want %q", trainee, err, test.want)
			}
			if env.closed != 1 || agent != nil && agent.closed != 1 {
				t.Errorf("the environment was closed %d times, the agent is %+v; want both closed once", env.closed, agent)
			}
		})
	}
	if _, err := trainers.NewTrainee(nil, nil, trainers.Config{}); err == nil || !strings.Contains(err.Error(), "needs an environment") {
		t.Error(err)
	}
}

// A population whose members' agent does not fit their environment says so, and not what follows from it: that no member has
// the environment's hyperparameters.
func TestPopulationNamesTheMisfit(t *testing.T) {
	checkLiveTensors(t)
	population, err := pbt.New(pbt.Options{
		Members: 2, Objective: "episode.return", IntervalSteps: 40, TotalSteps: 80, Parallel: 1, Strategy: strategy.IsaacLab{},
		Explore: explore.Mutation{Rate: 0.9, Rules: explore.Rules{"env.scale": explore.MutateFloat}},
		New: func(m pbt.Member) (pbt.Trainee, error) {
			env := lessons(t, 4, true)
			return trainers.NewTrainee(env, func() (agents.Agent, error) {
				return smallPPO(t, spaces.Set{Observation: spaces.Unbounded(9), Action: env.Spaces().Action}, m.Seed, nil), nil
			}, trainers.Config{Seed: m.Seed})
		},
	})
	if err == nil {
		_, err = population.Train(t.Context())
		err = errors.Join(err, population.Close())
	}
	if err == nil || !strings.Contains(err.Error(), "the agent was made for") || strings.Contains(err.Error(), "env.scale") {
		t.Errorf("%v, want the misfit of environment and agent", err)
	}
}

// interrupting cancels a context within a step of its environment.
type interrupting struct {
	envs.Env
	left   int
	cancel func()
}

func (i *interrupting) Step(actions []float32) (*envs.Step, error) {
	if i.left--; i.left == 0 {
		i.cancel()
	}
	return i.Env.Step(actions)
}

// An interruption of the last timestep that Train was asked for leaves no update undone: who resumes has nothing left to
// train before the member is measured.
func TestTraineeCompletesLastUpdate(t *testing.T) {
	checkLiveTensors(t)
	for _, at := range []int{7, 8} {
		inner, err := classic.NewCartPole(classic.Config{NumEnvs: 2})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		env := &interrupting{inner, at, cancel}
		m, err := trainers.NewTrainee(env, func() (agents.Agent, error) {
			return smallPPO(t, inner.Spaces(), 1, map[string]any{"rollouts": 8}), nil
		}, trainers.Config{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		err = m.Train(ctx, 16)
		if !errors.Is(err, context.Canceled) || m.Steps() < 12 || m.Agent().Ready() {
			t.Errorf("interrupted in step %d: %v after %d environment steps, a rollout is complete: %t", at, err, m.Steps(), m.Agent().Ready())
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
