package trainers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
)

// The body of the training loop, and the two functions that translate between environments and agents for programs with
// a loop of their own: [Observation] and [Transition].

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
	runCtx, done := t.runContext(ctx)
	defer done()
	s, err := t.step(runCtx)
	return s, withCause(ctx, err)
}

// step is the training loop's body: act, step the environment, record, learn where a rollout is complete, and do what
// is due.
func (t *Trainer) step(ctx context.Context) (*envs.Step, error) {
	if err := t.settle(ctx); err != nil { // what an interruption of the step before has left
		return nil, err
	}
	if err := t.stopAsked(); err != nil {
		return t.now, err
	}
	// Act and step the environments. Both are timed, for the tracked values.
	start := t.clock()
	actions, err := t.agent.Act(Observation(t.now))
	if diverged := (*agents.DivergedError)(nil); errors.As(err, &diverged) {
		return nil, err // the policy itself has diverged: a reset does not help
	} else if err != nil {
		return nil, t.stepFailed(err)
	}
	acted := t.clock()
	if err := t.terminator.requestTerminations(); err != nil {
		return nil, fmt.Errorf("trainers: timestep %d: %w", t.timestep, err)
	}
	next, err := t.stepper.step(ctx, actions)
	if err != nil {
		return nil, t.stepFailed(err)
	}
	t.recorder.Track("Stats / Inference time (ms)", ms(acted.Sub(start)))
	t.recorder.Track("Stats / Env stepping time (ms)", ms(t.clock().Sub(acted)))

	// Record what followed, and count its figures. From here on the step has been made, whatever fails.
	if err := t.agent.Record(Transition(next)); err != nil {
		return nil, t.stepFailed(err)
	}
	t.now = next
	t.timestep++
	t.saved = false // no checkpoint is of this state
	if err := t.note(next); err != nil {
		return nil, err
	}
	// Environments whose episode has ended take the reward parameters that wait for them.
	if err := t.parameters.stepped(next); err != nil {
		return nil, fmt.Errorf("%w (at timestep %d)", err, t.timestep)
	}
	for _, e := range t.counted {
		if err := t.notifyCallbacks(func(c Callback) error { return c.OnEpisode(t, e) }); err != nil {
			return nil, err
		}
	}
	// Learn, and do what is due.
	if t.evaluationDue() {
		next = copyOf(next)
	}
	if err := t.settle(ctx); err != nil {
		return nil, err
	}
	if err := t.notifyCallbacks(func(c Callback) error { return c.OnStep(t, next) }); err != nil {
		return next, err
	}
	return next, t.stopAsked()
}

// stepFailed returns the error of a step that failed in the environment, or whose values the agent refused. The next
// call of Train or Step resets the environment first (see restart).
func (t *Trainer) stepFailed(err error) error {
	t.needsReset = true
	err = fmt.Errorf("trainers: timestep %d: %w", t.timestep, err)
	if t.stepper.blocked != nil || t.rank.Several() { // another call does not help then
		return err
	}
	return fmt.Errorf("%w (Train or Step may be called again: it resets the environment and goes on)", err)
}

// settle learns where a rollout is complete, and evaluates where that is due.
func (t *Trainer) settle(ctx context.Context) error {
	if t.agent.Ready() {
		if err := t.update(ctx); err != nil {
			return err
		}
	}
	if t.evaluationDue() {
		return t.evaluateDue(ctx)
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
func (t *Trainer) update(ctx context.Context) error {
	start := t.clock()
	t.saved = false // the newest checkpoint is of the weights before
	if err := t.agent.Update(ctx); err != nil {
		t.rank.diverged(err)
		return fmt.Errorf("trainers: update at timestep %d: %w", t.timestep, err)
	}
	t.recorder.Track("Stats / Algorithm update time (ms)", ms(t.clock().Sub(start)))
	t.trackAgent()
	if err := t.exchange(); err != nil {
		return err
	}
	if t.rank.Several() {
		t.recorder.Track("Stats / Waiting for other ranks (ms)", ms(t.rank.Spent()-t.rank.spent))
		t.rank.spent = t.rank.Spent()
	}
	return t.notifyCallbacks(func(c Callback) error { return c.OnUpdate(t) })
}

// learned waits for an update that goes on after the agent's Update (agents.Overlapping), and collects its figures. It
// waits where the run is cancelled, too, because a state with half an update in it cannot be saved.
func (t *Trainer) learned() error {
	o, ok := agents.As[agents.Overlapping](t.agent)
	if !ok {
		return nil
	}
	if err := o.Wait(context.Background()); err != nil {
		return fmt.Errorf("trainers: update before timestep %d: %w", t.timestep, err)
	}
	t.trackAgent()
	return nil
}

// trackAgent collects the figures that the agent tracks, and reports the agent's notes (agents.Noter) as warnings.
func (t *Trainer) trackAgent() {
	if tracker, ok := agents.As[agents.Tracker](t.agent); ok {
		tracker.Tracked(func(tag string, value float64) {
			t.recorder.Track(tag, value)
			t.metrics.track(tag, value)
		})
	}
	if noter, ok := agents.As[agents.Noter](t.agent); ok {
		noter.Noted(func(note string) {
			t.agentNotes = append(t.agentNotes, note)
			t.warn(errors.New(note))
		})
	}
}

// note counts the figures of a step: those of episodes that ended, for all environments together and for each agent of
// a group, and those of the batch. An episode that began under other weights is not counted, because it says little
// about the present ones.
func (t *Trainer) note(s *envs.Step) error {
	if err := t.episodes.Record(s.Rewards, s.Terminated, s.Truncated, s.Invalid); err != nil {
		return fmt.Errorf("trainers: timestep %d: %w", t.timestep, err)
	}
	// Figures of finished episodes. Those that other weights have begun are left out, see running.go.
	t.counted = t.counted[:0]
	for _, e := range s.Episodes {
		if t.running.mixed[e.Env] {
			continue
		}
		t.counted = append(t.counted, e)
		if t.rank.Several() { // all ranks count it behind the next update
			t.rank.episodes = append(t.rank.episodes, e)
			continue
		}
		t.metrics.episode("", e)
		if c, ok := agents.As[agents.Composite](t.agent); ok {
			t.metrics.episode(layout.Member(c.AgentOf(e.Env))+".", e)
		}
	}
	// Figures of the whole batch at this step.
	for name, x := range s.Metrics {
		t.recorder.Track("Info / "+name, x)
		t.metrics.step(name, x)
	}
	t.running.stepped(s)
	return nil
}

// ms returns a duration in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
