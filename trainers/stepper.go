package trainers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/panics"
)

// An environment is code of its author's, and may do anything: return nothing or too little, panic, or never return. A
// stepper resets and steps it, and makes an error of each, with the environment's type in it.

// ErrBlocked is wrapped by the error of Train, Step and of evaluations where an environment has not returned within
// Config.StopTimeout after the context was cancelled. The environment is still busy on a goroutine of its own, so that
// neither it nor the trainer can be used any more; the trainer's Close leaves the environment open.
var ErrBlocked = errors.New("the environment is blocked")

// defaultStopTimeout is that of a Config without one, and of [Evaluate].
const defaultStopTimeout = 10 * time.Second

// stepper resets and steps one environment. A call is made on a goroutine of its own where its context can be
// cancelled, since nothing else lets the caller go on without it; that costs about half a microsecond a step.
type stepper struct {
	env                     envs.Env
	n                       int
	observation, state, amp int // widths of a row
	timeout                 time.Duration

	// The call in progress and its result.
	actions []float32
	seed    int64
	resets  bool
	next    *envs.Step
	err     error
	begin   func() // s.call, kept so that a step allocates nothing
	done    chan struct{}

	blocked error // why the environment cannot be used any more
}

// errEnded stands for the result of a call that does not return.
var errEnded = errors.New("the environment ended its goroutine")

// newStepper returns the stepper of env. It waits for timeout after a context is cancelled.
func newStepper(env envs.Env, timeout time.Duration) *stepper {
	sp := env.Spaces()
	// so that a late call ends
	s := &stepper{env: env, n: env.NumEnvs(), timeout: timeout, done: make(chan struct{}, 1)}
	s.observation, s.state, s.amp = sp.Observation.Width(), sp.State.Width(), sp.AMPObservation.Width()
	s.begin = s.call
	return s
}

// reset is the environment's Reset.
func (s *stepper) reset(ctx context.Context, seed int64) (*envs.Step, error) {
	s.actions, s.seed, s.resets = nil, seed, true
	next, err := s.run(ctx)
	if err == nil {
		err = s.check(next)
	}
	if err != nil {
		return nil, fmt.Errorf("reset: %w", err)
	}
	return next, nil
}

// step is the environment's Step.
func (s *stepper) step(ctx context.Context, actions []float32) (*envs.Step, error) {
	s.actions, s.resets = actions, false
	next, err := s.run(ctx)
	if err == nil {
		err = s.check(next)
	}
	if err != nil {
		return nil, err
	}
	return next, nil
}

// run makes the call, and waits for it until the context is cancelled and the time is up.
func (s *stepper) run(ctx context.Context) (*envs.Step, error) {
	if s.blocked != nil {
		return nil, s.blocked
	}
	if ctx.Done() == nil { // nothing can end the wait
		s.call()
		<-s.done
		return s.next, s.err
	}
	go s.begin()
	select {
	case <-s.done:
		return s.next, s.err
	case <-ctx.Done():
	}
	late := time.NewTimer(s.timeout)
	defer late.Stop()
	select {
	case <-s.done:
		return s.next, s.err
	case <-late.C: // the goroutine is left behind: nothing can end it but the environment
		s.blocked = fmt.Errorf("%w: %s of %s has not returned %v after the context was cancelled (\"stop_timeout\"); "+
			"make a new environment and a new trainer", ErrBlocked, s.method(), s.name(), s.timeout)
		return nil, s.blocked
	}
}

// call calls the environment.
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

// close closes the environment.
func (s *stepper) close() error { return panics.Guard(s.what(), s.env.Close) }

// check returns an error that names the first slice of a wrong length. It is cheap enough for every step;
// [envs.Checked] looks at every value.
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
		{"Rewards", len(next.Rewards), 1, false}, {"Terminated", len(next.Terminated), 1, false},
		{"Truncated", len(next.Truncated), 1, false}, {"AMPObservations", len(next.AMPObservations), s.amp, false},
		{"FinalObservations", len(next.FinalObservations), s.observation, true},
		{"FinalStates", len(next.FinalStates), s.state, true},
		{"FinalUnknown", len(next.FinalUnknown), 1, true}, {"Invalid", len(next.Invalid), 1, true},
	} {
		if s.resets && i == 2 { // a reset gives observations and states
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

// method is the name of the call in progress.
func (s *stepper) method() string {
	if s.resets {
		return "Reset"
	}
	return "Step"
}

// name returns the environment's type and, of a wrapper, those that it wraps: "*wrappers.ClipAction around
// *main.arena".
func (s *stepper) name() string {
	var types []string
	for _, env := range slices.Backward(envs.All[envs.Env](s.env)) {
		types = append(types, fmt.Sprintf("%T", env))
	}
	return strings.Join(types, " around ")
}
