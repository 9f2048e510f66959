package trainers

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
)

// Evaluation is what a number of whole episodes were like.
type Evaluation struct {
	// Episodes is how many were finished; the other figures are means over them.
	Episodes int
	// Return and Length are the mean undiscounted return and number of steps.
	Return, Length float64
	// Metrics are the means of the environment's own episode figures.
	Metrics map[string]float64
}

// Evaluate resets the environment with the given seed and lets the agent act, without learning, until at least episodes
// have finished. Only an environment's first k episodes count, the same k for all environments, so that short episodes
// do not weigh more.
func Evaluate(ctx context.Context, env envs.Env, agent agents.Agent, episodes int, seed int64) (Evaluation, error) {
	return evaluate(ctx, env, agent, episodes, seed, nil)
}

// Evaluate is [Evaluate] with the trainer's agent and environment, and with StochasticEvaluation sampled actions. An
// environment that can restore its state (envs.Stateful, envs.Observer) goes on training as if nothing had been, another
// one from a fresh reset.
func (t *Trainer) Evaluate(ctx context.Context, episodes int, seed int64) (Evaluation, error) {
	if t.err != nil {
		return Evaluation{}, t.err
	}
	if s, ok := t.agent.(stochastic); ok && t.cfg.StochasticEvaluation {
		s.SetStochastic(true)
		defer s.SetStochastic(false)
	}
	if t.now == nil {
		return evaluate(ctx, t.env, t.agent, episodes, seed, t.cfg.OnRender)
	}
	resume, err := t.pause()
	if err != nil {
		return Evaluation{}, err
	}
	e, err := evaluate(ctx, t.env, t.agent, episodes, seed, t.cfg.OnRender)
	return e, errors.Join(err, resume())
}

// stochastic is implemented by agents that can sample in evaluation.
type stochastic interface{ SetStochastic(on bool) }

// pause remembers the environment, and returns what brings it back.
func (t *Trainer) pause() (resume func() error, err error) {
	s, stateful := envs.As[envs.Stateful](t.env)
	o, observer := envs.As[envs.Observer](t.env)
	if !stateful || !observer {
		return func() error {
			t.episodes.Reset()
			now, err := t.env.Reset(-1)
			if err == nil {
				t.now = now
			}
			return err
		}, nil
	}
	state, err := s.MarshalState()
	if err != nil {
		return nil, fmt.Errorf("trainers: the environment's state: %w", err)
	}
	return func() error {
		if err := s.RestoreState(state); err != nil {
			return fmt.Errorf("trainers: the environment's state: %w", err)
		}
		now, err := o.Observe()
		if err == nil {
			t.now = now
		}
		return err
	}, nil
}

func evaluate(ctx context.Context, env envs.Env, agent agents.Agent, episodes int, seed int64, render RenderFunc) (e Evaluation, err error) {
	defer func() {
		if err != nil {
			e = Evaluation{}
		}
	}()
	if episodes <= 0 {
		return e, fmt.Errorf("trainers: Evaluate needs a positive number of episodes, not %d", episodes)
	}
	if err := agent.Bind(env.NumEnvs()); err != nil {
		return e, err
	}
	training := agent.Training()
	agent.SetTraining(false)
	defer agent.SetTraining(training)
	step, err := env.Reset(seed)
	if err != nil {
		return e, err
	}
	each := (episodes + env.NumEnvs() - 1) / env.NumEnvs()
	done := make([]int, env.NumEnvs())
	e.Metrics = map[string]float64{}
	for k := int64(0); e.Episodes < each*env.NumEnvs(); k++ {
		if err := ctx.Err(); err != nil {
			return e, err
		}
		actions, err := agent.Act(agents.Observation{Observations: step.Observations, States: step.States})
		if err != nil {
			return e, err
		}
		if step, err = env.Step(actions); err != nil {
			return e, err
		}
		if render != nil {
			if err := renderTo(env, k, render); err != nil {
				return e, err
			}
		}
		for _, x := range step.Episodes {
			if done[x.Env] == each {
				continue
			}
			done[x.Env]++
			e.Episodes++
			e.Return += x.Return
			e.Length += float64(x.Length)
			for name, v := range x.Metrics {
				e.Metrics[name] += v
			}
		}
	}
	n := float64(e.Episodes)
	e.Return, e.Length = e.Return/n, e.Length/n
	for name := range e.Metrics {
		e.Metrics[name] /= n
	}
	return e, nil
}

func renderTo(env envs.Env, k int64, render RenderFunc) error {
	r, ok := envs.As[envs.Renderer](env)
	if !ok {
		return nil
	}
	picture, err := r.Render(0)
	if err != nil {
		return err
	}
	return render(k, picture)
}
