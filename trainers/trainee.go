package trainers

import (
	"context"
	"errors"
)

// Trainee is a [Trainer] as a population sees it: it advances by environment steps, and there is no end to its training
// but the population's. It satisfies pbt.Trainee, and pbt.Reseeder, pbt.Sampler and pbt.Evaluator.
type Trainee struct {
	*Trainer
}

// Trainee returns the trainer as a member of a population. Its agent is closed with it.
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
	if err := m.agent.Reseed(uint64(seed)); err != nil {
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
