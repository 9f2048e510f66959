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

// sick is an environment that does as fault says in its step number at, counted from 1 over resets and steps; reset 1
// comes first.
type sick struct {
	envs.Env
	at, calls int
	fault     func(s *envs.Step) (*envs.Step, error)
}

func (s *sick) pass(next *envs.Step, err error) (*envs.Step, error) {
	if s.calls++; err != nil || s.calls != s.at {
		return next, err
	}
	changed := *next // the environment's own stays whole
	return s.fault(&changed)
}

func (s *sick) Reset(seed int64) (*envs.Step, error)       { return s.pass(s.Env.Reset(seed)) }
func (s *sick) Step(actions []float32) (*envs.Step, error) { return s.pass(s.Env.Step(actions)) }

// A thin wrapper, to see both names.
type around struct{ envs.Env }

func (a around) Unwrap() envs.Env { return a.Env }

var errLost = errors.New("lost a wheel")

// ills is what an environment can do, and what the error says.
var ills = map[string]struct {
	at    int
	fault func(s *envs.Step) (*envs.Step, error)
	want  string
}{
	"nil from Reset":     {1, func(*envs.Step) (*envs.Step, error) { return nil, nil }, "returned no step (nil) and no error from Reset"},
	"nil from Step":      {3, func(*envs.Step) (*envs.Step, error) { return nil, nil }, "returned no step (nil) and no error from Step"},
	"panic in Reset":     {1, func(*envs.Step) (*envs.Step, error) { panic("lost a wheel") }, "panicked: lost a wheel"},
	"panic in Step":      {3, func(*envs.Step) (*envs.Step, error) { panic(errLost) }, "panicked: lost a wheel"},
	"an index":           {3, func(s *envs.Step) (*envs.Step, error) { s.Rewards[len(s.Rewards)] = 1; return s, nil }, "panicked: runtime error: index out of range [4] with length 4 at trainers_test.init (stepper_test.go:"},
	"ended goroutine":    {3, func(*envs.Step) (*envs.Step, error) { runtime.Goexit(); return nil, nil }, "ended its goroutine in Step"},
	"first observations": {1, func(s *envs.Step) (*envs.Step, error) { s.Observations = s.Observations[:15]; return s, nil }, "returned 15 values of Observations from Reset, want 16 (4 environments × 4)"},
	"observations":       {3, func(s *envs.Step) (*envs.Step, error) { s.Observations = nil; return s, nil }, "returned 0 values of Observations from Step, want 16"},
	"states":             {3, func(s *envs.Step) (*envs.Step, error) { s.States = make([]float32, 2); return s, nil }, "returned 2 values of States from Step, want 0"},
	"rewards":            {3, func(s *envs.Step) (*envs.Step, error) { s.Rewards = s.Rewards[:1]; return s, nil }, "returned 1 values of Rewards from Step, want 4"},
	"terminated":         {3, func(s *envs.Step) (*envs.Step, error) { s.Terminated = nil; return s, nil }, "returned 0 values of Terminated"},
	"truncated":          {3, func(s *envs.Step) (*envs.Step, error) { s.Truncated = make([]bool, 5); return s, nil }, "returned 5 values of Truncated"},
	"AMP observations":   {3, func(s *envs.Step) (*envs.Step, error) { s.AMPObservations = s.Rewards; return s, nil }, "returned 4 values of AMPObservations"},
	"final observations": {3, func(s *envs.Step) (*envs.Step, error) { s.FinalObservations = s.Rewards; return s, nil }, "returned 4 values of FinalObservations"},
	"final states":       {3, func(s *envs.Step) (*envs.Step, error) { s.FinalStates = s.Rewards; return s, nil }, "returned 4 values of FinalStates"},
	"an episode":         {3, func(s *envs.Step) (*envs.Step, error) { s.Episodes = []envs.Episode{{Env: 4}}; return s, nil }, "returned an episode of environment 4; there are 4"},
}

// What an environment does wrong is an error of Train and of Evaluate that names its type, with and without a context
// that can be cancelled, and no panic.
func TestSickEnvironment(t *testing.T) {
	checkLiveTensors(t)
	for name, ill := range ills {
		t.Run(name, func(t *testing.T) {
			for _, cancellable := range []bool{true, false} {
				if !cancellable && strings.Contains(ill.want, "goroutine") {
					continue // it would be the test's
				}
				ctx := context.Background()
				if cancellable {
					ctx = t.Context()
				}
				env, agent := scenes[0].make(t)
				defer agent.Close()
				defer env.Close()
				patient := &sick{Env: env, at: ill.at, fault: ill.fault}
				tr := sequential(t, around{patient}, agent, trainers.Config{Timesteps: 20})
				defer tr.Close()
				train := tr.Train(ctx)
				*patient = sick{Env: env, at: ill.at, fault: ill.fault}
				_, evaluate := trainers.Evaluate(ctx, around{patient}, agent, trainers.EvaluateOptions{Episodes: 4})
				for what, err := range map[string]error{"Train": train, "Evaluate": evaluate} {
					if err == nil || !strings.Contains(err.Error(), ill.want) || !strings.Contains(err.Error(), "trainers_test.around around *trainers_test.sick") {
						t.Errorf("%s: %v, want an error with %q and the environment's type", what, err, ill.want)
					}
				}
				var p *envs.PanicError
				if strings.HasPrefix(ill.want, "panicked") && (!errors.As(train, &p) || p.Env != -1 || !strings.Contains(string(p.Stack), "stepper_test.go")) {
					t.Errorf("%v is no PanicError with a stack", train)
				}
				if name == "panic in Step" && !errors.Is(train, errLost) {
					t.Errorf("%v does not wrap what was panicked with", train)
				}
			}
		})
	}
}

// An environment that does not return after the context was cancelled does not keep Train: the error names it, nothing
// is saved, and the trainer can only be closed.
func TestBlockedEnvironment(t *testing.T) {
	checkLiveTensors(t)
	for _, at := range []int{1, 3} {
		env, agent := scenes[0].make(t)
		defer agent.Close()
		ctx, cancel := context.WithCancel(t.Context())
		release, left := make(chan struct{}), make(chan struct{})
		patient := &sick{Env: env, at: at, fault: func(s *envs.Step) (*envs.Step, error) {
			defer close(left)
			cancel()
			<-release
			return s, nil
		}}
		closed := &closing{Env: patient}
		tr := sequential(t, closed, agent, trainers.Config{Timesteps: 20, Directory: t.TempDir(), Name: "run", CloseEnvironmentAtExit: true, SaveBuffers: true, StopTimeout: time.Nanosecond})
		err := tr.Train(ctx)
		if !errors.Is(err, trainers.ErrBlocked) || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), " of *trainers_test.closing has not returned") {
			t.Errorf("call %d: %v, want ErrBlocked with the environment's type", at, err)
		}
		if got := checkpoints(t, tr.Dir()); len(got) != 0 {
			t.Errorf("call %d: saved %q", at, got)
		}
		if _, err := tr.Step(t.Context()); !errors.Is(err, trainers.ErrBlocked) {
			t.Errorf("call %d: a step afterwards: %v", at, err)
		}
		if err := tr.Close(); err != nil || closed.closed != 0 {
			t.Errorf("call %d: Close: %v; the environment was closed %d times while it was busy", at, err, closed.closed)
		}
		close(release)
		<-left
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A step that is in progress when the context is cancelled is finished, recorded and saved.
func TestStepInProgressIsFinished(t *testing.T) {
	checkLiveTensors(t)
	env, agent := scenes[0].make(t)
	defer agent.Close()
	defer env.Close()
	ctx, cancel := context.WithCancel(t.Context())
	patient := &sick{Env: env, at: 6, fault: func(s *envs.Step) (*envs.Step, error) { cancel(); return s, nil }}
	tr := sequential(t, patient, agent, trainers.Config{Timesteps: 20, Directory: t.TempDir(), Name: "run"})
	defer tr.Close()
	if err := tr.Train(ctx); !errors.Is(err, context.Canceled) || tr.Timestep() != 5 || len(checkpoints(t, tr.Dir())) != 1 {
		t.Errorf("%v at timestep %d with %d checkpoints, want a stop after step 5 with one", err, tr.Timestep(), len(checkpoints(t, tr.Dir())))
	}
}

// A context that can be cancelled costs no allocation a step.
func TestStepsDoNotAllocate(t *testing.T) {
	checkLiveTensors(t)
	per := func(ctx context.Context) float64 {
		env, agent := scenes[0].make(t)
		m := sequential(t, env, newMinimal(env.Spaces()), trainers.Config{}).Trainee()
		defer agent.Close()
		defer m.Close()
		advance := func() {
			if err := m.Train(ctx, 1); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 { // all figures are known
			advance()
		}
		return testing.AllocsPerRun(200, advance)
	}
	if with, without := per(t.Context()), per(context.Background()); with > without {
		t.Errorf("%g allocations a step with a context that can be cancelled, %g without", with, without)
	}
}
