package trainers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/panics"
	"github.com/gorl-dev/gorl/tracking"
)

// This file has the body of the training loop, a timestep, and how it steps environments. [Observation] and
// [Transition] translate between environments and agents, for programs with a loop of their own. update.go has what
// follows when a rollout is complete.

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
	if err := l.world.terminate(); err != nil {
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

// ms returns a duration in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Environments are user code: they may panic, block, or return no step or slices of wrong lengths. A stepper resets and
// steps an environment and turns each of these faults into an error with the environment's type.

// ErrBlocked is wrapped by the error of Train, Step and evaluations if an environment has not returned within
// Config.StopTimeout after the context was cancelled. The environment still runs on a goroutine of its own, so neither
// it nor the trainer can be used any more. The trainer's Close leaves the environment open.
var ErrBlocked = errors.New("the environment is blocked")

// defaultStopTimeout is used if Config.StopTimeout is 0, and by [Evaluate].
const defaultStopTimeout = 10 * time.Second

// stepper resets and steps one environment. If the context can be cancelled, each call runs on a goroutine of its own,
// because nothing else lets the caller go on without it. That costs about half a microsecond a step.
type stepper struct {
	// n is the number of environments. timeout is how long a call may take after its context was cancelled.
	env                           envs.Env
	n                             int
	observation, state, amp, mask int // widths of a row
	seats                         int // the number of seats, 0 if one agent acts
	timeout                       time.Duration

	// The call in progress, Reset(seed) if resets is true and Step(actions) otherwise, and its result. done receives
	// one value when the call ends.
	actions []float32
	seed    int64
	resets  bool
	next    *envs.Step
	err     error
	begin   func() // s.call, kept so that a step allocates nothing
	done    chan struct{}

	blocked error // why the environment cannot be used any more
}

// errEnded is the result of a call until it has returned. It remains if the environment ends its goroutine
// (runtime.Goexit).
var errEnded = errors.New("the environment ended its goroutine")

// newStepper returns the stepper of env. After a context is cancelled, the stepper waits for timeout.
func newStepper(env envs.Env, timeout time.Duration) *stepper {
	sp := env.Spaces()
	// done has room for one value, so that a call that ends after the timeout does not block for ever.
	s := &stepper{env: env, n: env.NumEnvs(), timeout: timeout, done: make(chan struct{}, 1)}
	s.observation, s.state, s.amp = sp.Observation.Width(), sp.State.Width(), sp.AMPObservation.Width()
	s.mask, s.seats = sp.ActionMask.Width(), len(sp.Seats)
	s.begin = s.call
	return s
}

// reset calls the environment's Reset and checks the result. A negative seed continues the environment's random
// sequence. The result is the environment's and overwritten by the next call.
func (s *stepper) reset(ctx context.Context, seed int64) (*envs.Step, error) {
	s.actions, s.seed, s.resets = nil, seed, true
	next, err := s.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("reset: %w", err)
	}
	return next, nil
}

// step calls the environment's Step with actions (N, A) and checks the result, which the next call overwrites.
func (s *stepper) step(ctx context.Context, actions []float32) (*envs.Step, error) {
	s.actions, s.resets = actions, false
	return s.run(ctx)
}

// run makes the call and returns its checked result. If ctx is cancelled and the call does not end within timeout, the
// environment counts as blocked, and run returns that error from then on.
func (s *stepper) run(ctx context.Context) (*envs.Step, error) {
	if s.blocked != nil {
		return nil, s.blocked
	}
	if ctx.Done() == nil { // nothing can end the wait
		s.call()
	} else {
		go s.begin()
	}
	select {
	case <-s.done:
		return s.checked()
	case <-ctx.Done():
	}
	late := time.NewTimer(s.timeout)
	defer late.Stop()
	select {
	case <-s.done:
		return s.checked()
	case <-late.C: // the goroutine is left behind: nothing can end it but the environment
		s.blocked = fmt.Errorf("%w: %s of %s has not returned %v after the context was cancelled (\"stop_timeout\"); "+
			"make a new environment and a new trainer", ErrBlocked, s.method(), s.name(), s.timeout)
		return nil, s.blocked
	}
}

// checked returns the result of a call that has ended.
func (s *stepper) checked() (*envs.Step, error) {
	if s.err == nil {
		s.err = s.check(s.next)
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.next, nil
}

// call calls the environment, stores the result in next and err, and signals done. It runs on the caller's goroutine if
// the context cannot be cancelled, otherwise on its own.
func (s *stepper) call() {
	s.next, s.err = nil, errEnded
	defer func() {
		if s.err == errEnded { //nolint:errorlint // exactly the value from above: the call did not return
			s.err = fmt.Errorf("the environment (%s) ended its goroutine in %s (runtime.Goexit)", s.name(), s.method())
		}
		s.done <- struct{}{}
	}()
	if p := panics.Catch(func() {
		if s.resets {
			s.next, s.err = s.env.Reset(s.seed)
		} else {
			s.next, s.err = s.env.Step(s.actions)
		}
	}); p != nil {
		p.What, s.err = s.what(), p
	}
}

// what names the environment in the error of its panic.
func (s *stepper) what() string { return fmt.Sprintf("the environment (%s)", s.name()) }

// close closes the environment. It turns a panic into an error.
func (s *stepper) close() error { return panics.Guard(s.what(), s.env.Close) }

// check returns an error that names the first slice of a wrong length, or an episode of an environment that does not
// exist. It is cheap enough for every step; [envs.Checked] looks at every value.
func (s *stepper) check(next *envs.Step) error {
	if next == nil {
		return fmt.Errorf("the environment (%s) returned no step (nil) and no error from %s", s.name(), s.method())
	}
	for i, part := range [...]struct {
		name        string
		values, row int
		optional    bool // may be empty
	}{
		{"Observations", len(next.Observations), s.observation, false},
		{"States", len(next.States), s.state, false},
		{"ActionMasks", len(next.ActionMasks), s.mask, false}, {"Seats.Active", len(next.Seats.Active), s.seats, false},
		{"Rewards", len(next.Rewards), 1, false}, {"Terminated", len(next.Terminated), 1, false},
		{"Truncated", len(next.Truncated), 1, false}, {"AMPObservations", len(next.AMPObservations), s.amp, false},
		{"FinalObservations", len(next.FinalObservations), s.observation, true},
		{"FinalStates", len(next.FinalStates), s.state, true},
		{"FinalUnknown", len(next.FinalUnknown), 1, true}, {"Invalid", len(next.Invalid), 1, true},
		{"Seats.Rewards", len(next.Seats.Rewards), s.seats, false},
		{"Seats.Terminated", len(next.Seats.Terminated), s.seats, false},
		{"Seats.Truncated", len(next.Seats.Truncated), s.seats, false},
	} {
		if s.resets && i == 4 { // a reset gives observations, states, action masks and who acts
			return nil
		}
		if want := s.n * part.row; part.values != want && !(part.optional && part.values == 0) {
			return fmt.Errorf("the environment (%s) returned %d values of %s from %s, want %d (%d environments × %d)",
				s.name(), part.values, part.name, s.method(), want, s.n, part.row)
		}
	}
	for _, e := range next.Episodes {
		if e.Env < 0 || e.Env >= s.n {
			return fmt.Errorf("the environment (%s) returned an episode of environment %d; there are %d", s.name(),
				e.Env, s.n)
		}
	}
	return nil
}

// method returns the name of the call in progress, for errors.
func (s *stepper) method() string {
	if s.resets {
		return "Reset"
	}
	return "Step"
}

// name returns the environment's type, for errors. A wrapper's name includes the types inside it: "*wrappers.ClipAction
// around *main.arena".
func (s *stepper) name() string {
	var types []string
	for _, env := range slices.Backward(envs.All[envs.Env](s.env)) {
		types = append(types, fmt.Sprintf("%T", env))
	}
	return strings.Join(types, " around ")
}
