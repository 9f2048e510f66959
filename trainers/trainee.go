package trainers

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/exclusive"
)

// Trainee is a [Trainer] as a member of a population. It advances by environment steps instead of up to
// Config.Timesteps, and it owns its agent. It satisfies pbt.Trainee, pbt.Reseeder, pbt.Planner, pbt.Sampler and
// pbt.Evaluator. Snapshot and Restore are the trainer's: save.go, restore.go.
type Trainee struct {
	*Trainer
}

// NewTrainee returns a trainer for a population. build makes the agent, which trains in env. The trainee owns both: it
// closes them with itself, and NewTrainee closes them before it returns an error. A population's New is then one
// statement:
//
//	New: func(m pbt.Member) (pbt.Trainee, error) {
//		env, err := classic.NewCartPole(classic.Config{NumEnvs: 16, Seed: m.Seed})
//		if err != nil {
//			return nil, err
//		}
//		return trainers.NewTrainee(env, func() (agents.Agent, error) {
//			return ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ..., Seed: m.Seed})
//		}, trainers.Config{Seed: m.Seed})
//	}
//
// Config.EvaluationInterval is an error, because a population evaluates its members itself. Other errors are those of
// build and of [New].
func NewTrainee(env envs.Env, build func() (agents.Agent, error), cfg Config) (*Trainee, error) {
	if env == nil {
		return nil, errors.New("trainers: a trainee needs an environment")
	}
	if err := cfg.single(); err != nil {
		return nil, errors.Join(err, env.Close())
	}
	agent, err := build()
	if err != nil {
		return nil, errors.Join(err, env.Close())
	}
	t, err := New(env, agent, cfg)
	if err != nil {
		if agent != nil {
			err = errors.Join(err, agent.Close())
		}
		return nil, errors.Join(err, env.Close())
	}
	return t.Trainee(), nil
}

// single returns an error if the configuration asks for what only a single agent does. NewTrainee and the trainee's
// Train call it.
func (c *Config) single() error {
	if c.evaluates() {
		return errors.New("trainers: \"evaluation_interval\" is for a single agent; a population evaluates its " +
			"members itself, with Measure.EvaluationEpisodes (pbt.measure.evaluation_episodes)")
	}
	return nil
}

// Trainee returns a trainer that exists already, such as one of [FromDict], as a member of a population. The trainee
// closes agent and environment. If Config.EvaluationInterval is set, its Train returns an error.
func (t *Trainer) Trainee() *Trainee { return &Trainee{Trainer: t} }

// Train advances by at least steps environment steps, rounded up to whole timesteps. If the context is cancelled, Train
// stops between timesteps with the context's error. An update after the last of these timesteps is still made, because
// a population that resumes measures the member without further steps.
func (m *Trainee) Train(ctx context.Context, steps int64) (err error) {
	if err := m.guard.Enter(&callTrain); err != nil {
		return err
	}
	defer m.guard.Leave()
	defer func() { m.rank.left(err) }()
	if err := m.cfg.single(); err != nil {
		return err
	}
	if err := m.Open(ctx); err != nil {
		return err
	}
	m.agent.SetTraining(true)
	m.rank.stop, m.rank.asked = nil, ctx
	runCtx, done := m.rank.runContext(ctx)
	defer done()
	// Steps are counted from the trainer's own counter, so that a restored snapshot's count goes on.
	n := m.batch()
	for target := m.timestep*n + steps; m.timestep*n < target; {
		if err := m.rank.cancelled(ctx); err != nil {
			return err
		}
		if _, err := m.step(runCtx); err != nil {
			err = withCause(ctx, err)
			// All steps were made, and only the update was cancelled. It is made again without the context, because it
			// belongs to these steps.
			if ctx.Err() != nil && m.timestep*n >= target && m.agent.Ready() {
				return errors.Join(err, m.settle(context.WithoutCancel(ctx)))
			}
			return err
		}
	}
	return m.learned()
}

// Plan sets how many environment steps the population will train this member in all. The agent spreads its schedules
// over the timesteps that these make, rounded up.
func (m *Trainee) Plan(steps int64) {
	n := m.batch()
	m.plan(int((steps + n - 1) / n))
}

// Reseed is called after Restore has put another member's weights into this one. It gives the agent a random sequence
// of its own and clears the figures, because the figures so far describe the other member.
//
// Episodes in progress go on, but do not count when they end, because the old weights played their first part. If the
// environment's state came with the weights, the other member played these episodes from their beginning, and they
// count.
func (m *Trainee) Reseed(seed int64) error {
	if err := m.usable(); err != nil {
		return err
	}
	if r, ok := agents.As[agents.Reseeder](m.agent); ok {
		if err := r.Reseed(seed); err != nil {
			return err
		}
	}
	// The figures so far describe the other member's past.
	m.figures.metrics = metrics{}
	m.figures.recorder.SetState(nil)
	m.figures.episodes.Reset()
	m.rank.know(m.figures.episodes)
	m.world.running.takenOver()
	return nil
}

// Holds implements pbt.Holder: it returns the agent and the environment, each with everything inside its wrappers. Two
// members could otherwise share an agent or an environment in different wrappers.
func (m *Trainee) Holds() map[string][]any {
	held := map[string][]any{}
	for _, env := range envs.All[envs.Env](m.world.env) {
		held["environment"] = append(held["environment"], env)
	}
	for agent := m.agent; agent != nil; {
		held["agent"] = append(held["agent"], agent)
		u, ok := agent.(interface{ Unwrap() agents.Agent })
		if !ok {
			break
		}
		agent = u.Unwrap()
	}
	return held
}

// limits are the arguments of LimitEvaluation. steps is the largest length of an episode, and loops the smallest number
// of episodes per environment. 0 is no limit.
type limits struct{ steps, loops int }

// LimitEvaluation sets how EvaluateMetrics evaluates from now on, for package pbt/evolution. Every environment of the
// batch plays at least loops episodes, and each episode ends after at most steps steps. 0, the default, is no such
// limit. A negative number is an error.
func (m *Trainee) LimitEvaluation(steps, loops int) error {
	if err := m.usable(); err != nil {
		return err
	}
	if steps < 0 || loops < 0 {
		return fmt.Errorf("trainers: LimitEvaluation of %d environment steps and %d loops; give 0 or more", steps,
			loops)
	}
	m.limits = limits{steps, loops}
	return nil
}

// Close closes trainer, environment and agent. It may be called twice. While Train or an evaluation is running, Close
// returns an error and closes nothing.
func (m *Trainee) Close() error {
	// The trainee owns its environment, whatever its configuration says.
	m.cfg.CloseEnvironmentAtExit = true
	err := m.Trainer.Close()
	// The running call still uses the agent.
	if errors.Is(err, exclusive.ErrOverlap) {
		return err
	}
	return errors.Join(err, m.agent.Close())
}
