package trainers

import (
	"context"
	"errors"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
)

// Trainee is a [Trainer] as a population sees it: it advances by environment steps, and there is no end to its training
// but the population's. It satisfies pbt.Trainee, and pbt.Reseeder, pbt.Sampler and pbt.Evaluator.
type Trainee struct {
	*Trainer
}

// NewTrainee returns a trainer for a population of the agent that build makes, in env. It owns both from the call on: they
// are closed on an error of build or of the trainer, and with the trainee.
func NewTrainee(env envs.Env, build func() (agents.Agent, error), cfg Config) (*Trainee, error) {
	if env == nil {
		return nil, errors.New("trainers: a trainee needs an environment")
	}
	agent, err := build()
	if err != nil {
		return nil, errors.Join(err, env.Close())
	}
	t, err := Sequential(env, agent, cfg)
	if err != nil {
		if agent != nil {
			err = errors.Join(err, agent.Close())
		}
		return nil, errors.Join(err, env.Close())
	}
	return t.Trainee(), nil
}

// Trainee returns a trainer that exists already, such as one of [FromDict], as a member of a population. Agent and
// environment are closed with it.
func (t *Trainer) Trainee() *Trainee { return &Trainee{Trainer: t} }

// Train advances by at least steps environment steps, a whole number of timesteps.
func (m *Trainee) Train(ctx context.Context, steps int64) error {
	if err := m.open(); err != nil {
		return err
	}
	m.agent.SetTraining(true)
	n := int64(m.env.NumEnvs())
	for target := m.timestep*n + steps; m.timestep*n < target; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := m.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Steps is the number of environment steps trained.
func (m *Trainee) Steps() int64 { return m.timestep * int64(m.env.NumEnvs()) }

// Reseed gives the agent random numbers of its own, once its weights are another member's. Figures begin anew: those so far
// are the other's. Episodes that are running go on, but are not counted when they end, as the old weights had a part in
// them; where the environment's state came with the weights they are the other's, and count.
func (m *Trainee) Reseed(seed int64) error {
	if err := m.agent.Reseed(seed); err != nil {
		return err
	}
	m.metrics = metrics{}
	m.episodes.Reset()
	m.running.takenOver()
	return nil
}

// Close closes trainer, environment and agent.
func (m *Trainee) Close() error {
	m.cfg.CloseEnvironmentAtExit = true
	return errors.Join(m.Trainer.Close(), m.agent.Close())
}
