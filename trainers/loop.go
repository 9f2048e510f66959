package trainers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/tracking"
)

// The body of the training loop, and the two functions that translate between environments and agents for programs with
// a loop of their own: [Observation] and [Transition].

// loop is the training loop with everything that it advances. Its parts know nothing of each other: the world is the
// environment's side, figures are what is measured, files what is written, and calls whom the loop calls.
type loop struct {
	agent agents.Agent
	cfg   Config
	rank  rank // several processes train the agent

	world   *world
	figures figures
	files   files
	calls   callbacks

	timestep  int64
	evaluated int64          // the timestep of the last evaluation by EvaluationInterval
	counted   []envs.Episode // the episodes that ended in the last step, without those of several weights
	reason    error          // see StopReason

	notes      []string // see Notes
	agentNotes []string // the agent's notes while training (agents.Noter)
	bar        tracking.Bar
}

// Step trains one timestep and returns what the environment returned, for programs that run the loop themselves. The
// next step overwrites it. Where a callback asks for the run's end, the timestep is complete, and the error wraps
// [ErrStop].
func (t *Trainer) Step(ctx context.Context) (*envs.Step, error) {
	if err := t.guard.Enter(&callStep); err != nil {
		return nil, err
	}
	defer t.guard.Leave()
	if err := t.Open(ctx); err != nil {
		return nil, err
	}
	t.agent.SetTraining(true)
	runCtx, done := t.rank.runContext(ctx)
	defer done()
	s, err := t.step(runCtx)
	return s, withCause(ctx, err)
}

// step is the training loop's body: act, step the environment, record, learn where a rollout is complete, and do what
// is due.
func (l *loop) step(ctx context.Context) (*envs.Step, error) {
	if err := l.settle(ctx); err != nil { // what an interruption of the step before has left
		return nil, err
	}
	if err := l.stopAsked(); err != nil {
		return l.world.now, err
	}
	// Act and step the environments. Both are timed, for the tracked values.
	start := time.Now()
	actions, err := l.agent.Act(Observation(l.world.now))
	if diverged := (*agents.DivergedError)(nil); errors.As(err, &diverged) {
		return nil, err // the policy itself has diverged: a reset does not help
	} else if err != nil {
		return nil, l.stepFailed(err)
	}
	acted := time.Now()
	if err := l.world.terminator.requestTerminations(); err != nil {
		return nil, fmt.Errorf("trainers: timestep %d: %w", l.timestep, err)
	}
	next, err := l.world.stepper.step(ctx, actions)
	if err != nil {
		return nil, l.stepFailed(err)
	}
	l.figures.recorder.Track("Stats / Inference time (ms)", ms(acted.Sub(start)))
	l.figures.recorder.Track("Stats / Env stepping time (ms)", ms(time.Since(acted)))

	// Record what followed, and count its figures. From here on the step has been made, whatever fails.
	if err := l.agent.Record(Transition(next)); err != nil {
		return nil, l.stepFailed(err)
	}
	l.world.now = next
	l.timestep++
	l.files.saved = false // no checkpoint is of this state
	if err := l.note(next); err != nil {
		return nil, err
	}
	// Environments whose episode has ended take the reward parameters that wait for them.
	if err := l.world.parameters.stepped(next); err != nil {
		return nil, fmt.Errorf("%w (at timestep %d)", err, l.timestep)
	}
	for _, e := range l.counted {
		if err := l.calls.notify(func(c Callback, t *Trainer) error { return c.OnEpisode(t, e) }); err != nil {
			return nil, err
		}
	}
	// Learn, and do what is due.
	if l.evaluationDue() {
		next = copyOf(next)
	}
	if err := l.settle(ctx); err != nil {
		return nil, err
	}
	if err := l.calls.notify(func(c Callback, t *Trainer) error { return c.OnStep(t, next) }); err != nil {
		return next, err
	}
	return next, l.stopAsked()
}

// stepFailed returns the error of a step that failed in the environment, or whose values the agent refused. The next
// call of Train or Step resets the environment first (see restart).
func (l *loop) stepFailed(err error) error {
	l.world.needsReset = true
	err = fmt.Errorf("trainers: timestep %d: %w", l.timestep, err)
	if l.world.stepper.blocked != nil || l.rank.Several() { // another call does not help then
		return err
	}
	return fmt.Errorf("%w (Train or Step may be called again: it resets the environment and goes on)", err)
}

// settle learns where a rollout is complete, and evaluates where that is due.
func (l *loop) settle(ctx context.Context) error {
	if l.agent.Ready() {
		if err := l.update(ctx); err != nil {
			return err
		}
	}
	if l.evaluationDue() {
		return l.evaluateDue(ctx)
	}
	return nil
}

// Observation returns what an agent acts on after an environment's step or reset. It shares the step's slices.
func Observation(s *envs.Step) agents.Observation {
	return agents.Observation{Observations: s.Observations, States: s.States}
}

// Transition returns what an agent records after an environment's step. It shares the step's slices, which the
// environment overwrites with the next step, so it is for Record and not for keeping. A training loop of one's own is,
// with the errors left out:
//
//	now, _ := env.Reset(seed)
//	for range timesteps {
//		actions, _ := agent.Act(trainers.Observation(now))
//		now, _ = env.Step(actions)
//		_ = agent.Record(trainers.Transition(now))
//		if agent.Ready() { // a rollout is complete
//			_ = agent.Update(ctx)
//		}
//	}
func Transition(s *envs.Step) agents.Transition {
	return agents.Transition{
		Rewards: s.Rewards, Terminated: s.Terminated, Truncated: s.Truncated,
		NextObservations: s.Observations, NextStates: s.States,
		FinalObservations: s.FinalObservations, FinalStates: s.FinalStates,
		FinalUnknown: s.FinalUnknown, Invalid: s.Invalid,
		AMPObservations: s.AMPObservations,
	}
}

// update lets the agent learn and collects the figures that it tracks.
func (l *loop) update(ctx context.Context) error {
	start := time.Now()
	l.files.saved = false // the newest checkpoint is of the weights before
	if err := l.agent.Update(ctx); err != nil {
		l.rank.diverged(err)
		return fmt.Errorf("trainers: update at timestep %d: %w", l.timestep, err)
	}
	l.figures.recorder.Track("Stats / Algorithm update time (ms)", ms(time.Since(start)))
	l.trackAgent()
	if err := l.exchange(); err != nil {
		return err
	}
	if l.rank.Several() {
		l.figures.recorder.Track("Stats / Waiting for other ranks (ms)", ms(l.rank.Spent()-l.rank.spent))
		l.rank.spent = l.rank.Spent()
	}
	return l.calls.notify(func(c Callback, t *Trainer) error { return c.OnUpdate(t) })
}

// learned waits for an update that goes on after the agent's Update (agents.Overlapping), and collects its figures. It
// waits where the run is cancelled, too, because a state with half an update in it cannot be saved.
func (l *loop) learned() error {
	o, ok := agents.As[agents.Overlapping](l.agent)
	if !ok {
		return nil
	}
	if err := o.Wait(context.Background()); err != nil {
		return fmt.Errorf("trainers: update before timestep %d: %w", l.timestep, err)
	}
	l.trackAgent()
	return nil
}

// trackAgent collects the figures that the agent tracks, and reports the agent's notes (agents.Noter) as warnings.
func (l *loop) trackAgent() {
	if tracker, ok := agents.As[agents.Tracker](l.agent); ok {
		tracker.Tracked(func(tag string, value float64) {
			l.figures.recorder.Track(tag, value)
			l.figures.metrics.track(tag, value)
		})
	}
	if noter, ok := agents.As[agents.Noter](l.agent); ok {
		noter.Noted(func(note string) {
			l.agentNotes = append(l.agentNotes, note)
			l.files.warn(errors.New(note))
		})
	}
}

// note counts the figures of a step: those of episodes that ended, for all environments together and for each agent of
// a group, and those of the batch. An episode that began under other weights is not counted, because it says little
// about the present ones.
func (l *loop) note(s *envs.Step) error {
	if err := l.figures.episodes.Record(s.Rewards, s.Terminated, s.Truncated, s.Invalid); err != nil {
		return fmt.Errorf("trainers: timestep %d: %w", l.timestep, err)
	}
	// Figures of finished episodes. Those that other weights have begun are left out, see running.go.
	l.counted = l.counted[:0]
	for _, e := range s.Episodes {
		if l.world.running.mixed[e.Env] {
			continue
		}
		l.counted = append(l.counted, e)
		if l.rank.Several() { // all ranks count it behind the next update
			l.rank.episodes = append(l.rank.episodes, e)
			continue
		}
		l.figures.metrics.episode("", e)
		if c, ok := agents.As[agents.Composite](l.agent); ok {
			l.figures.metrics.episode(layout.Member(c.AgentOf(e.Env))+".", e)
		}
	}
	// Figures of the whole batch at this step.
	for name, x := range s.Metrics {
		l.figures.recorder.Track("Info / "+name, x)
		l.figures.metrics.step(name, x)
	}
	l.world.running.stepped(s)
	return nil
}

// startBar shows the progress bar, once, if Config.Progress is set.
func (l *loop) startBar() {
	if l.cfg.Progress == nil || l.cfg.DisableProgressbar || l.bar != nil {
		return
	}
	l.bar = l.cfg.Progress.Bar(l.agent.Name(), int64(l.cfg.Timesteps)*l.batch())
	l.bar.Set(l.timestep*l.batch(), "")
}

// ms returns a duration in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
