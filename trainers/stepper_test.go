package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/spaces"
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
	"terminated": {3, func(s *envs.Step) (*envs.Step, error) { s.Terminated = nil; return s, nil },
		"returned 0 values of Terminated"},
	"an episode": {3, func(s *envs.Step) (*envs.Step, error) { s.Episodes = []envs.Episode{{Env: 4}}; return s, nil },
		"returned an episode of environment 4; there are 4"},
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
			must(t, errors.Join(tr.Close(), agent.Close()))
		}
	}
}

// An environment that does not return after the context was cancelled does not keep Train for longer than StopTimeout:
// the error names the environment, nothing is saved, and the trainer can only be closed.
func TestBlockedEnvironment(t *testing.T) {
	for _, at := range []int{1, 3} {
		env, agent := scenes[0].made(t)
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
		_, step := tr.Step(t.Context())
		wantError(t, "Train", err, trainers.ErrBlocked.Error(), " of *trainers_test.closing has not returned")
		saved := checkpoints(t, tr.Dir())
		if errors.Is(err, context.Canceled) || !errors.Is(step, trainers.ErrBlocked) || len(saved) != 0 ||
			waited > 3*time.Second {
			t.Errorf("call %d: %v after %v, saved %q; a step afterwards: %v", at, err, waited, saved, step)
		}
		if must(t, tr.Close()); busy.closed != 0 {
			t.Errorf("call %d: the environment was closed %d times while it was busy", at, busy.closed)
		}
		close(release)
		<-left
	}
}

// counting counts the steps of an episode that never ends: its observation. Step number bad fails once, after it has
// changed the environment, and the reward of step number nan is NaN once.
type counting struct {
	set      spaces.Set
	at       float32
	bad, nan int
	steps    int
}

func (c *counting) Spaces() spaces.Set { return c.set }
func (c *counting) Close() error       { return nil }
func (c *counting) show(out envs.Row)  { out.Observation[0], out.Observation[1] = c.at, 1 }

func (c *counting) advance(out envs.Row) (reward float64, err error) {
	c.at++
	c.steps++
	c.show(out)
	switch c.steps {
	case c.bad:
		return 0, errLost
	case c.nan:
		return math.NaN(), nil
	}
	return 1, nil
}

// single is a counting in a wrappers.Parallel, which has a state if its environments have.
type single struct{ counting }

func (s *single) Reset(_ *rand.Rand, out envs.Row) error { s.at = 0; s.show(out); return nil }

func (s *single) Step(_ []float32, out envs.Row) (float64, bool, bool, error) {
	reward, err := s.advance(out)
	return reward, false, false, err
}

// direct is a counting that is an envs.Env itself. After an error it goes on as if nothing had happened.
type direct struct{ counting }

func (d *direct) NumEnvs() int { return 1 }

func (d *direct) Reset(int64) (*envs.Step, error) {
	d.at = 0
	return &envs.Step{Observations: []float32{0, 1}}, nil
}

func (d *direct) Step([]float32) (*envs.Step, error) {
	s := &envs.Step{Observations: make([]float32, 2), Terminated: []bool{false}, Truncated: []bool{false}}
	reward, err := d.advance(envs.Row{Observation: s.Observations})
	s.Rewards = []float32{float32(reward)}
	return s, err
}

// rolloutOf returns the first value in each row of a field of the rollout in progress.
func rolloutOf(t *testing.T, snap *checkpoint.Snapshot, field string, width int) (out []float32) {
	t.Helper()
	for row := range slices.Chunk(value(snap.Arrays["rollout/"+field].Float32s())(t), width) {
		out = append(out, row[0])
	}
	return out
}

// A rollout in progress does not go on over a reset: the step before it is marked truncated, whatever caused the
// reset. Nothing else of the rollout changes, and an error of the environment is one that Train goes on after.
func TestResetWithinRollout(t *testing.T) {
	set := spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewBox(-1, 1, 1)}
	// Each case makes 10 steps. The environment is reset after the sixth, and the figures and notes say so.
	for name, test := range map[string]struct {
		bad, nan int
		fails    string
	}{
		"evaluation":               {},
		"resume":                   {},
		"error of the environment": {bad: 7, fails: "lost a wheel"},
		"error of the agent":       {nan: 7, fails: "NaN"},
	} {
		for kind, make := range map[string]func(c counting) envs.Env{
			"direct": func(c counting) envs.Env { return &direct{c} },
			"parallel": func(c counting) envs.Env {
				return value(wrappers.NewParallel(1, func(int) (envs.Single, error) { return &single{c}, nil },
					wrappers.ParallelOptions{}))(t)
			},
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				dir := t.TempDir()
				start := func() *trainers.Trainer {
					env := make(counting{set: set, bad: test.bad, nan: test.nan})
					agent := smallPPO(t, set, 1, map[string]any{"rollouts": 12})
					agenttest.Close(t, agent)
					return sequential(t, env, agent, trainers.Config{Timesteps: 10, Directory: dir, Name: "run",
						SaveBuffers: true, Resume: true, WriteInterval: every(1), CloseEnvironmentAtExit: true})
				}
				tr := start()
				onward(t, tr, 6)
				switch {
				case name == "evaluation":
					value(tr.Evaluate(t.Context(), trainers.EvaluateOptions{Episodes: 1, MaxSteps: 3}))(t)
				case name == "resume": // stopped, as by a signal
					wantError(t, name, tr.Train(&countdown{Context: t.Context()}), context.Canceled.Error())
					wantError(t, "the notes", errors.New(strings.Join(tr.Notes(), "; ")), `"save_buffers"`,
						"cannot save its state")
					must(t, tr.Close())
					tr = start()
				default: // the error says what to do
					wantError(t, name, tr.Train(t.Context()), test.fails, "may be called again", "timestep 6")
				}
				must(t, tr.Train(t.Context()))
				snap := value(tr.Snapshot())(t)
				if got := fmt.Sprint(rolloutOf(t, snap, "observations", 2)); got != "[0 1 2 3 4 5 0 1 2 3]" {
					t.Errorf("the rollout is of the observations %s", got)
				}
				if got := fmt.Sprint(rolloutOf(t, snap, "truncated", 1)); got != "[0 0 0 0 0 1 0 0 0 0]" {
					t.Errorf("the steps marked truncated are %s, want the one before the reset", got)
				}
				if final := rolloutOf(t, snap, "final_values", 1); final[5] == 0 || final[4] != 0 || final[6] != 0 {
					t.Errorf("final values %v, want one of the step before the reset", final)
				}
				const figure = "Stats / Environment resets"
				if n := tr.Metrics()[figure]; name != "resume" && n != 1 {
					t.Errorf("%q is %g, want 1", figure, n)
				}
			})
		}
	}
}

// unlisted is an environment that ends its episodes and does not list them in Step.Episodes.
type unlisted struct{ direct }

func (u *unlisted) Step(actions []float32) (*envs.Step, error) {
	s, err := u.direct.Step(actions)
	if u.at == 4 {
		s.Truncated[0], s.FinalObservations = true, []float32{4, 1}
		u.at = 0
	}
	return s, err
}

// An evaluation that would wait for ever is an error: of an environment that does not list the episodes that end, at
// the first of them, and of one whose episodes do not end.
func TestEvaluationEnds(t *testing.T) {
	set := spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewBox(-1, 1, 1)}
	for want, env := range map[string]envs.Env{
		"step 3: environment 0 (*trainers_test.unlisted) ended an episode (Terminated or Truncated) that is not in " +
			"Step.Episodes": &unlisted{direct{counting{set: set}}},
		"environment 0 (*trainers_test.direct) has not ended after 1000000 steps; give " +
			"EvaluateOptions.MaxSteps": &direct{counting{set: set}},
	} {
		refused(trainers.Evaluate(context.Background(), env, newMinimal(set),
			trainers.EvaluateOptions{Episodes: 1}))(t, want, want)
	}
}
