package trainers_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/trainers"
)

// faulty is an environment that does as fault says in its call number at, counted from 1 over resets and steps. The
// first reset is call 1.
type faulty struct {
	envs.Env
	at, calls int
	fault     func(s *envs.Step) (*envs.Step, error)
}

func (s *faulty) pass(next *envs.Step, err error) (*envs.Step, error) {
	if s.calls++; err != nil || s.calls != s.at {
		return next, err
	}
	changed := *next // the environment's own stays whole
	return s.fault(&changed)
}

func (s *faulty) Reset(seed int64) (*envs.Step, error)       { return s.pass(s.Env.Reset(seed)) }
func (s *faulty) Step(actions []float32) (*envs.Step, error) { return s.pass(s.Env.Step(actions)) }

// A thin wrapper, to see both names.
type around struct{ envs.Env }

func (a around) Unwrap() envs.Env { return a.Env }

var errLost = errors.New("lost a wheel")

// faults is what an environment can do, and what the error says.
var faults = map[string]struct {
	at   int
	does func(s *envs.Step) (*envs.Step, error)
	want string
}{
	"nil from Reset": {1, func(*envs.Step) (*envs.Step, error) { return nil, nil },
		"returned no step (nil) and no error from Reset"},
	"nil from Step": {3, func(*envs.Step) (*envs.Step, error) { return nil, nil },
		"returned no step (nil) and no error from Step"},
	"panic in Step": {3, func(*envs.Step) (*envs.Step, error) { panic(errLost) }, "panicked: lost a wheel"},
	"an index": {3, func(s *envs.Step) (*envs.Step, error) { s.Rewards[len(s.Rewards)] = 1; return s, nil },
		"panicked: runtime error: index out of range [4] with length 4 at trainers_test.init (stepper_test.go:"},
	"ended goroutine": {3, func(*envs.Step) (*envs.Step, error) { runtime.Goexit(); return nil, nil },
		"ended its goroutine in Step"},
	"observations": {3, func(s *envs.Step) (*envs.Step, error) { s.Observations = nil; return s, nil },
		"returned 0 values of Observations from Step, want 16"},
	"states": {3, func(s *envs.Step) (*envs.Step, error) { s.States = make([]float32, 2); return s, nil },
		"returned 2 values of States from Step, want 0"},
	"terminated": {3, func(s *envs.Step) (*envs.Step, error) { s.Terminated = nil; return s, nil },
		"returned 0 values of Terminated"},
	"AMP observations": {3, func(s *envs.Step) (*envs.Step, error) { s.AMPObservations = s.Rewards; return s, nil },
		"returned 4 values of AMPObservations"},
	"final observations": {3, func(s *envs.Step) (*envs.Step, error) { s.FinalObservations = s.Rewards; return s, nil },
		"returned 4 values of FinalObservations"},
	"active seats": {1, func(s *envs.Step) (*envs.Step, error) { s.Seats.Active = make([]bool, 4); return s, nil },
		"returned 4 values of Seats.Active from Reset, want 0"},
	"rewards of seats": {3, func(s *envs.Step) (*envs.Step, error) { s.Seats.Rewards = s.Rewards; return s, nil },
		"returned 4 values of Seats.Rewards from Step, want 0"},
	"an episode": {3, func(s *envs.Step) (*envs.Step, error) {
		s.Episodes = []envs.Episode{{Env: 4}}
		return s,
			nil
	}, "returned an episode of environment 4; there are 4"},
}

// What an environment does wrong is an error of Train and of Evaluate that names its type, with and without a context
// that can be cancelled, and no panic.
func TestFaultyEnvironment(t *testing.T) {
	for name, fault := range faults {
		for _, ctx := range []context.Context{t.Context(), context.Background()} {
			if ctx.Done() == nil && strings.Contains(fault.want, "goroutine") {
				continue // it would be the test's
			}
			env, agent := scenes[0].make(t)
			broken := &faulty{Env: env, at: fault.at, fault: fault.does}
			tr := sequential(t, around{broken}, agent, trainers.Config{Timesteps: 20, CloseEnvironmentAtExit: true})
			err := tr.Train(ctx)
			broken.calls = 0
			_, evaluation := trainers.Evaluate(ctx, around{broken}, agent, trainers.EvaluateOptions{Episodes: 4})
			for _, err := range []error{err, evaluation} {
				wantError(t, name, err, fault.want, "trainers_test.around around *trainers_test.faulty")
			}
			var p *envs.PanicError
			if strings.HasPrefix(fault.want, "panicked") && (!errors.As(err, &p) || p.Env != -1 ||
				!strings.Contains(string(p.Stack), "stepper_test.go")) {
				t.Errorf("%v is no PanicError with a stack", err)
			}
			if name == "panic in Step" && !errors.Is(err, errLost) {
				t.Errorf("%v does not wrap what was panicked with", err)
			}
			must(t, errors.Join(tr.Close(), agent.Close()))
		}
	}
}

// An environment that does not return after the context was cancelled does not keep Train for longer than StopTimeout:
// the error names the environment, nothing is saved, and the trainer can only be closed.
func TestBlockedEnvironment(t *testing.T) {
	for _, at := range []int{1, 3} {
		env, agent := scenes[0].make(t)
		defer agent.Close()
		ctx, cancel := context.WithCancel(t.Context())
		release, left := make(chan struct{}), make(chan struct{})
		var cancelled time.Time
		busy := &closing{Env: &faulty{Env: env, at: at, fault: func(s *envs.Step) (*envs.Step, error) {
			defer close(left)
			cancelled = time.Now()
			cancel()
			<-release
			return s, nil
		}}}
		tr := sequential(t, busy, agent, trainers.Config{Timesteps: 20, Directory: t.TempDir(), Name: "run",
			CloseEnvironmentAtExit: true, SaveBuffers: true, StopTimeout: 50 * time.Millisecond})
		err := tr.Train(ctx)
		waited := time.Since(cancelled)
		wantError(t, "Train", err, trainers.ErrBlocked.Error(), " of *trainers_test.closing has not returned")
		_, step := tr.Step(t.Context())
		if saved := checkpoints(t, tr.Dir()); errors.Is(err, context.Canceled) ||
			!errors.Is(err, trainers.ErrBlocked) ||
			!errors.Is(step, trainers.ErrBlocked) || len(saved) != 0 || waited > 3*time.Second {
			t.Errorf("call %d: %v after %v, saved %q; a step afterwards: %v", at, err, waited, saved, step)
		}
		if err := tr.Close(); err != nil || busy.closed != 0 {
			t.Errorf("call %d: Close: %v; the environment was closed %d times while it was busy", at, err, busy.closed)
		}
		close(release)
		<-left
		must(t, env.Close())
	}
}

// A step that is in progress when the context is cancelled is finished, recorded and saved.
func TestStepInProgressIsFinished(t *testing.T) {
	env, agent := scenes[0].made(t)
	ctx, cancel := context.WithCancel(t.Context())
	broken := &faulty{Env: env, at: 6, fault: func(s *envs.Step) (*envs.Step, error) { cancel(); return s, nil }}
	tr := sequential(t, broken, agent, trainers.Config{Timesteps: 20, Directory: t.TempDir(), Name: "run"})
	if err := tr.Train(ctx); !errors.Is(err, context.Canceled) || tr.Timestep() != 5 ||
		len(checkpoints(t, tr.Dir())) != 1 {
		t.Errorf("%v at timestep %d with %d checkpoints, want a stop after step 5 with one", err, tr.Timestep(),
			len(checkpoints(t, tr.Dir())))
	}
}

// A context that can be cancelled, callbacks, and parameters of the environment cost no allocation a step.
func TestStepsDoNotAllocate(t *testing.T) {
	per := func(ctx context.Context, env envs.Env, callbacks ...trainers.Callback) float64 {
		m := sequential(t, env, newMinimal(env.Spaces()), trainers.Config{Callbacks: callbacks}).Trainee()
		defer m.Close()
		for range 100 { // all figures are known
			must(t, m.Train(ctx, 1))
		}
		return testing.AllocsPerRun(200, func() { must(t, m.Train(ctx, 1)) })
	}
	background := context.Background()
	for name, x := range map[string][2]float64{
		"a context": {per(t.Context(), newCartPoles(t)), per(background, newCartPoles(t))},
		"callbacks": {per(background, newCartPoles(t), trainers.BaseCallback{}, trainers.BaseCallback{}),
			per(background, newCartPoles(t))},
		"parameters": {per(background, lessons(t, 4, true)), per(background, &opaque{lessons(t, 4, true)})},
	} {
		if x[0] > x[1] {
			t.Errorf("%g allocations a step with %s, %g without", x[0], name, x[1])
		}
	}
}
