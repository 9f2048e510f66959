// Package trainers runs agents in environments: training, step by step or all at once, and evaluation, with progress,
// tracked values and checkpoints.
//
//	trainer, err := trainers.Sequential(env, agent, trainers.Config{Timesteps: 25_000})
//	// ...
//	err = trainer.Train(ctx)
package trainers

import (
	"context"
	"errors"
	"fmt"
	"image"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/tracking"
)

// RenderFunc is given a picture of an environment at a timestep.
type RenderFunc func(timestep int64, picture image.Image) error

// Trainer drives one agent in one environment. It is used by one goroutine at a time.
type Trainer struct {
	env   envs.Env
	agent agents.Agent
	cfg   Config
	made  *runner // the dictionary that it was made of; nil where it was made of none

	timestep   int64
	now        *envs.Step  // what to act on
	parameters *parameters // of the environment's reward; nil where it has none
	running    running     // the episodes in progress
	episodes   *tracking.Episodes
	recorder   tracking.Recorder
	metrics    metrics
	limits     limits
	run        *tracking.Run
	dir        string
	store      *checkpoint.Store
	best       float64
	hasBest    bool
	bar        tracking.Bar
	barName    string
	damaged    []*checkpoint.DamagedError
	saved      bool // the newest checkpoint is of the present state
	closed     bool
	clock      func() time.Time
}

// Sequential returns a trainer of agent in env. It is an error where cfg makes no sense, where the spaces of env and agent
// differ, or where the agent is already bound to another number of environments. Agent and environment stay the caller's to
// close; [NewTrainee] owns both.
func Sequential(env envs.Env, agent agents.Agent, cfg Config) (*Trainer, error) {
	if env == nil || agent == nil {
		return nil, errors.New("trainers: a trainer needs an environment and an agent")
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Best == "" {
		cfg.Best = "episode.return"
	}
	if err := fit(env, agent); err != nil {
		return nil, fmt.Errorf("trainers: %w", err)
	}
	if err := agent.Bind(env.NumEnvs()); err != nil {
		return nil, fmt.Errorf("trainers: %w", err)
	}
	parameters, err := newParameters(env)
	if err != nil {
		return nil, err
	}
	episodes, err := tracking.NewEpisodes(env.NumEnvs())
	if err != nil {
		return nil, err
	}
	return &Trainer{env: env, agent: agent, cfg: cfg, clock: time.Now, parameters: parameters, episodes: episodes,
		running: newRunning(env.NumEnvs())}, nil
}

// fit says where an environment is not one that the agent was made for.
func fit(env envs.Env, agent agents.Agent) error {
	es, as := env.Spaces(), agent.Spaces()
	if err := es.Validate(); err != nil {
		return fmt.Errorf("the environment's %w", err)
	}
	if !es.Observation.Equal(as.Observation) || !es.Action.Equal(as.Action) || !es.State.Equal(as.State) {
		return fmt.Errorf("the environment has observations %v, states %v and actions %v; the agent was made for %v, %v and %v",
			es.Observation, es.State, es.Action, as.Observation, as.State, as.Action)
	}
	if as.AMPObservation.Width() > 0 && !es.AMPObservation.Equal(as.AMPObservation) {
		return fmt.Errorf("the environment's AMP observations are %v; the agent was made for %v", es.AMPObservation, as.AMPObservation)
	}
	return nil
}

// Agent returns the agent that the trainer trains.
func (t *Trainer) Agent() agents.Agent { return t.agent }

// Env returns the environment that the agent acts in.
func (t *Trainer) Env() envs.Env { return t.env }

// Timestep is the number of steps of the batch that have been trained.
func (t *Trainer) Timestep() int64 { return t.timestep }

// Dir is the run's folder, empty before the first step and where nothing is written.
func (t *Trainer) Dir() string { return t.dir }

// Damaged lists checkpoints that were passed over when the run was resumed, newest first.
func (t *Trainer) Damaged() []*checkpoint.DamagedError { return t.damaged }

// Train trains until cfg.Timesteps. A cancelled context stops it after the step at hand, saves, and returns an error that
// wraps the context's; calling Train again, or a trainer with Resume, continues.
func (t *Trainer) Train(ctx context.Context) error {
	if err := t.open(); err != nil {
		return err
	}
	t.agent.SetTraining(true)
	t.startBar()
	for t.timestep < int64(t.cfg.Timesteps) {
		if err := ctx.Err(); err != nil {
			return t.interrupted(err)
		}
		if _, err := t.step(ctx); err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return t.interrupted(err)
			}
			return err
		}
	}
	if t.agent.Ready() { // the last update was interrupted
		if err := t.update(ctx); err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return t.interrupted(err)
			}
			return err
		}
	}
	if t.bar != nil {
		t.bar.Finish(t.barText())
	}
	return t.finish()
}

// interrupted saves what a cancelled run has reached.
func (t *Trainer) interrupted(cause error) error {
	if err := t.finish(); err != nil {
		return errors.Join(fmt.Errorf("trainers: stopped at timestep %d: %w", t.timestep, cause), err)
	}
	return fmt.Errorf("trainers: stopped at timestep %d: %w", t.timestep, cause)
}

// Step trains one timestep and returns what the environment returned, for programs that run the loop themselves. What it
// returns is overwritten by the next step.
func (t *Trainer) Step(ctx context.Context) (*envs.Step, error) {
	if err := t.open(); err != nil {
		return nil, err
	}
	t.agent.SetTraining(true)
	return t.step(ctx)
}

// step is the training loop's body: act, step, record, learn, write.
func (t *Trainer) step(ctx context.Context) (*envs.Step, error) {
	if t.agent.Ready() { // an update that was interrupted
		if err := t.update(ctx); err != nil {
			return nil, err
		}
	}
	start := t.clock()
	actions, err := t.agent.Act(Observation(t.now))
	if err != nil {
		return nil, err
	}
	acted := t.clock()
	next, err := t.env.Step(actions)
	if err != nil {
		return nil, fmt.Errorf("trainers: timestep %d: %w", t.timestep, err)
	}
	t.recorder.Track("Stats / Inference time (ms)", ms(acted.Sub(start)))
	t.recorder.Track("Stats / Env stepping time (ms)", ms(t.clock().Sub(acted)))
	if err := t.agent.Record(Transition(next)); err != nil {
		return nil, fmt.Errorf("trainers: timestep %d: %w", t.timestep, err)
	}
	if err := t.note(next); err != nil {
		return nil, err
	}
	t.now = next
	t.timestep++
	t.saved = false
	if err := t.parameters.stepped(next); err != nil {
		return nil, fmt.Errorf("%w (at timestep %d)", err, t.timestep)
	}
	if t.agent.Ready() {
		if err := t.update(ctx); err != nil {
			return nil, err
		}
	}
	return next, t.after()
}

// Observation returns what an agent acts on after an environment's step or reset. It shares the step's slices.
func Observation(s *envs.Step) agents.Observation {
	return agents.Observation{Observations: s.Observations, States: s.States}
}

// Transition returns what an agent records after an environment's step. It shares the step's slices.
func Transition(s *envs.Step) agents.Transition {
	return agents.Transition{
		Rewards: s.Rewards, Terminated: s.Terminated, Truncated: s.Truncated,
		NextObservations: s.Observations, NextStates: s.States,
		FinalObservations: s.FinalObservations, FinalStates: s.FinalStates,
		AMPObservations: s.AMPObservations,
	}
}

func (t *Trainer) update(ctx context.Context) error {
	start := t.clock()
	t.saved = false
	if err := t.agent.Update(ctx); err != nil {
		return fmt.Errorf("trainers: update at timestep %d: %w", t.timestep, err)
	}
	t.recorder.Track("Stats / Algorithm update time (ms)", ms(t.clock().Sub(start)))
	t.agent.Tracked(func(tag string, value float64) {
		t.recorder.Track(tag, value)
		t.metrics.track(tag, value)
	})
	return nil
}

// note follows episodes and the environment's own figures. An episode that is partly other weights' doing is not counted.
func (t *Trainer) note(s *envs.Step) error {
	if err := t.episodes.Record(s.Rewards, s.Terminated, s.Truncated); err != nil {
		return fmt.Errorf("trainers: timestep %d: %w", t.timestep, err)
	}
	for _, e := range s.Episodes {
		if t.running.mixed[e.Env] {
			continue
		}
		t.metrics.episode("", e)
		if g, ok := t.agent.(*Group); ok {
			t.metrics.episode(layout.Member(g.owner(e.Env))+".", e)
		}
	}
	for name, x := range s.Metrics {
		t.recorder.Track("Info / "+name, x)
		t.metrics.step(name, x)
	}
	t.running.stepped(s)
	return nil
}

// after does what is due at this timestep: pictures, tracked values, checkpoints, the bar.
func (t *Trainer) after() error {
	if !t.cfg.Headless && t.cfg.OnRender != nil && t.cfg.RenderInterval > 0 && t.timestep%int64(t.cfg.RenderInterval) == 0 {
		if r, ok := envs.As[envs.Renderer](t.env); ok {
			picture, err := r.Render(0)
			if err != nil {
				return fmt.Errorf("trainers: render: %w", err)
			}
			if err := t.cfg.OnRender(t.timestep, picture); err != nil {
				return err
			}
		}
	}
	if n := t.cfg.WriteInterval.Of(t.cfg.Timesteps, 100); n > 0 && t.timestep%int64(n) == 0 {
		if err := t.write(); err != nil {
			return err
		}
	}
	if n := t.cfg.CheckpointInterval.Of(t.cfg.Timesteps, 10); n > 0 && t.timestep%int64(n) == 0 {
		if err := t.save(); err != nil {
			return err
		}
	}
	if t.bar != nil && t.timestep%8 == 0 {
		t.bar.Set(t.timestep*int64(t.env.NumEnvs()), t.barText())
	}
	if t.cfg.OnStep != nil {
		return t.cfg.OnStep(t)
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Close ends the run's files, and the environment with CloseEnvironmentAtExit. The agent is its maker's. It may be called
// twice.
func (t *Trainer) Close() error {
	if t.closed {
		return nil
	}
	t.closed = true
	var errs []error
	if t.run != nil {
		errs = append(errs, t.run.Close())
	}
	if t.cfg.CloseEnvironmentAtExit && t.env != nil {
		errs = append(errs, t.env.Close())
	}
	return errors.Join(errs...)
}
