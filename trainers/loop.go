package trainers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/tracking"
)

// This file has the body of the training loop. [Observation] and [Transition] translate between environments and
// agents, for programs with a loop of their own.

// loop is the training loop with everything that it advances. [Trainer] embeds it and adds the methods for users. world
// is the environment's side, figures is what is measured, files is what is written, and calls are the callbacks.
type loop struct {
	agent agents.Agent
	cfg   Config
	rank  rank // several processes train the agent

	world   *world
	figures figures
	files   files
	calls   callbacks

	// timestep counts the timesteps trained, including those before a resumed checkpoint.
	timestep  int64
	evaluated int64          // the timestep of the last evaluation by EvaluationInterval
	filmed    int64          // one more than the timestep of the last film
	counted   []envs.Episode // the episodes that ended in the last step, without those of several weights
	reason    error          // see StopReason

	// What users see of the loop. bar is nil until Train shows it.
	notes      []string // see Notes
	agentNotes []string // the agent's notes while training (agents.Noter)
	bar        tracking.Bar
}

// Step trains one timestep and returns what the environment returned, for programs that run the loop themselves. The
// next step overwrites the result. If a callback ends the run, the timestep is complete, and the error wraps [ErrStop].
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

// step is the body of the training loop: act, step the environment, record, learn if a rollout is complete, and do what
// is due. Train, Step and the population's Train call it. The agent must be in training mode.
func (l *loop) step(ctx context.Context) (*envs.Step, error) {
	if err := l.settle(ctx); err != nil { // what an interruption of the step before has left
		return nil, err
	}
	// The callbacks that settle has called may have ended the run.
	if err := l.stopAsked(); err != nil {
		return l.world.now, err
	}
	if err := l.recordStart(); err != nil {
		return nil, err
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
	l.figures.recorder.Track(tracking.TagInferenceTime, ms(acted.Sub(start)))
	l.figures.recorder.Track(tracking.TagEnvSteppingTime, ms(time.Since(acted)))

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
	// Environments whose episode has ended take the reward parameters that were set during it.
	if err := l.world.parameters.stepped(next); err != nil {
		return nil, fmt.Errorf("%w (at timestep %d)", err, l.timestep)
	}
	for _, e := range l.counted {
		if err := l.calls.notify(func(c Callback, t *Trainer) error { return c.OnEpisode(t, e) }); err != nil {
			return nil, err
		}
	}
	// Learn, and do what is due. An evaluation or a film in the training environment overwrites next, which callbacks
	// and the caller still read.
	if l.evaluationDue() || l.filmDue() {
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
// call of Train or Step resets the environment first (see restart), because its state may be inconsistent.
func (l *loop) stepFailed(err error) error {
	l.world.needsReset = true
	err = fmt.Errorf("trainers: timestep %d: %w", l.timestep, err)
	if l.world.stepper.blocked != nil || l.rank.Several() { // another call does not help then
		return err
	}
	return fmt.Errorf("%w (Train or Step may be called again: it resets the environment and goes on)", err)
}

// settle makes the update, the film and the evaluation that are due. step calls it after recording, and also first,
// because a cancelled context may have interrupted one of them, and because the first film comes before training. An
// interrupted update leaves the agent Ready; an interrupted film or evaluation leaves filmed or evaluated as it was.
func (l *loop) settle(ctx context.Context) error {
	if l.agent.Ready() {
		if err := l.update(ctx); err != nil {
			return err
		}
	}
	if l.filmDue() {
		if err := l.makeFilm(ctx); err != nil {
			return err
		}
	}
	if l.evaluationDue() {
		return l.evaluateDue(ctx)
	}
	return nil
}

// Observation returns what an agent acts on after a step or reset of the environment. The result shares the step's
// slices.
func Observation(s *envs.Step) agents.Observation {
	return agents.Observation{Observations: s.Observations, States: s.States, ActionMasks: s.ActionMasks,
		Active: s.Seats.Active}
}

// Transition returns what an agent records after a step of the environment. The result shares the step's slices, which
// the next step overwrites: pass it to Record, and do not keep it. A training loop without a trainer, with the errors
// left out:
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
		AMPObservations: s.AMPObservations, Seats: s.Seats,
	}
}

// update lets the agent learn from its complete rollout. Then it collects the figures that the agent tracked, exchanges
// episodes with the other ranks, and calls OnUpdate. With agents.Overlapping the update may still be running.
func (l *loop) update(ctx context.Context) error {
	start := time.Now()
	l.files.saved = false // the newest checkpoint is of the weights before
	if err := l.agent.Update(ctx); err != nil {
		l.trackAgent() // of several agents, some may have learned
		l.rank.diverged(err)
		return fmt.Errorf("trainers: update at timestep %d: %w", l.timestep, err)
	}
	l.figures.recorder.Track(tracking.TagUpdateTime, ms(time.Since(start)))
	l.figures.updates++
	l.trackAgent()
	if err := l.exchange(); err != nil {
		return err
	}
	// Most of this time is waiting for the slowest rank.
	if l.rank.Several() {
		l.figures.recorder.Track("Stats / Waiting for other ranks (ms)", ms(l.rank.Spent()-l.rank.spent))
		l.rank.spent = l.rank.Spent()
	}
	return l.calls.notify(func(c Callback, t *Trainer) error { return c.OnUpdate(t) })
}

// learned waits for an update that continues after the agent's Update has returned (agents.Overlapping), and collects
// its figures. It ignores cancellation, because a state with half an update cannot be saved. Savers call it first.
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

// trackAgent collects the values that the agent has tracked since the last call: the recorder keeps them for files,
// metrics for programs. It also keeps the agent's notes (agents.Noter) for Notes and reports them as warnings.
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

// note counts the figures of a step: those of finished episodes, for all environments together and for each agent of a
// group, and those of the batch. Afterwards counted has the episodes for OnEpisode. An episode that began under other
// weights is not counted, because it says little about the present ones.
func (l *loop) note(s *envs.Step) error {
	if err := l.figures.episodes.Record(s.Rewards, s.Terminated, s.Truncated, s.Invalid); err != nil {
		return fmt.Errorf("trainers: timestep %d: %w", l.timestep, err)
	}
	// Figures of finished episodes, except those that began under other weights (running.go).
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
		l.figures.recorder.Track(infoTag(name), x)
		l.figures.metrics.step(name, x)
	}
	l.world.running.stepped(s)
	return nil
}

// infoTag returns the tag of a figure of the batch. A name with a group, such as a simulator's "Episode_Reward/speed",
// is a tag itself: dashboards look for it under this name.
func infoTag(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "Info / " + name
}

// startBar shows the progress bar, once, if Config.Progress is set. The bar counts environment steps of all ranks, and
// begins with those before a resumed checkpoint.
func (t *Trainer) startBar() {
	if t.cfg.Progress == nil || t.cfg.DisableProgressbar || t.bar != nil {
		return
	}
	t.bar = t.cfg.Progress.Bar(t.agent.Name(), int64(t.cfg.Timesteps)*t.batch())
	t.bar.Set(t.timestep*t.batch(), "")
}

// ms returns a duration in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
