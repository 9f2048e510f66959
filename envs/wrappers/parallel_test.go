package wrappers_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/spaces"
)

func TestParallelKeepsTheContract(t *testing.T) {
	for _, workers := range []int{1, 3} {
		env := probes(t, 5, wrappers.ParallelOptions{Workers: workers}, nil)
		if err := envs.Check(env, 50, 2); err != nil {
			t.Error(err)
		}
	}
}

func TestParallelAutoReset(t *testing.T) {
	env := probes(t, 3, wrappers.ParallelOptions{Seed: 1, Workers: 2}, nil)
	s := must(t)(env.Reset(-1))
	if s.Rewards != nil || s.Terminated != nil || s.AMPObservations != nil || len(s.Observations) != 9 || len(s.States) != 3 {
		t.Fatalf("after Reset: %+v", s)
	}
	actions := []float32{1, 0, 2, 0, 3, 0}
	s = must(t)(env.Step(actions))
	if s.FinalObservations != nil || s.FinalStates != nil || s.Episodes != nil {
		t.Errorf("nothing ended, but %+v", s)
	}
	s = must(t)(env.Step(actions)) // probe 0 ends
	if !slices.Equal(s.Terminated, []bool{true, false, false}) || !slices.Equal(s.Truncated, []bool{false, false, false}) {
		t.Errorf("terminated %v, truncated %v", s.Terminated, s.Truncated)
	}
	if s.Observations[1] != 0 || s.FinalObservations[1] != 2 || s.States[0] != 2 || s.FinalStates[0] != 1 {
		t.Errorf("probe 0 shows %v, %v; its last was %v, %v", s.Observations[:3], s.States[:1], s.FinalObservations[:3], s.FinalStates[:1])
	}
	if s.Observations[4] != 2 || s.States[1] != 1 {
		t.Errorf("probe 1 shows %v, %v", s.Observations[3:6], s.States[1])
	}
	if !slices.Equal(s.AMPObservations, []float32{20, 20, 20}) {
		t.Errorf("AMP observations %v, want those before the reset", s.AMPObservations)
	}
	if !slices.Equal(s.Rewards, []float32{1, 2, 3}) {
		t.Errorf("rewards %v", s.Rewards)
	}
	if d := cmp.Diff([]envs.Episode{{Env: 0, Return: 2, Length: 2, Metrics: map[string]float64{"episode": 1}}}, s.Episodes); d != "" {
		t.Error(d)
	}
	metrics := s.Episodes[0].Metrics
	must(t)(env.Step(actions))     // probe 1 ends
	s = must(t)(env.Step(actions)) // probes 0 and 2 end
	if d := cmp.Diff([]envs.Episode{
		{Env: 0, Return: 2, Length: 2, Metrics: map[string]float64{"episode": 2}},
		{Env: 2, Return: 12, Length: 4, Metrics: map[string]float64{"episode": 1}},
	}, s.Episodes); d != "" {
		t.Error(d)
	}
	if metrics["episode"] != 1 {
		t.Error("an earlier episode's metrics changed")
	}
}

// play records everything that a batch returns over some hundred steps.
func play(t *testing.T, env envs.Env, seed int64, steps int) [][]float32 {
	t.Helper()
	s := must(t)(env.Reset(seed))
	out := [][]float32{slices.Clone(s.Observations)}
	rng := rand.New(rand.NewPCG(1, 1))
	action := env.Spaces().Action
	actions := make([]float32, env.NumEnvs()*action.Width())
	for range steps {
		action.Sample(rng, actions)
		s = must(t)(env.Step(actions))
		out = append(out, slices.Concat(s.Observations, s.Rewards, s.AMPObservations))
		for _, e := range s.Episodes {
			w := env.Spaces().Observation.Width()
			out = append(out, append(slices.Clone(s.FinalObservations[e.Env*w:(e.Env+1)*w]), float32(e.Env), float32(e.Return), float32(e.Length)))
		}
	}
	return out
}

func TestParallelDoesNotDependOnWorkers(t *testing.T) {
	create := func(workers int) []envs.Env {
		cart, err := classic.NewCartPole(classic.Config{NumEnvs: 11, Seed: 5, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cart.Close() })
		return []envs.Env{cart, probes(t, 11, wrappers.ParallelOptions{Seed: 5, Workers: workers}, nil)}
	}
	for i, one := range create(1) {
		want := play(t, one, 7, 120)
		for _, workers := range []int{2, 3, 11, 50, 0} {
			if got := play(t, create(workers)[i], 7, 120); !cmp.Equal(want, got) {
				t.Errorf("%T: %d workers give another run than one", one, workers)
			}
		}
		if got := play(t, one, 7, 120); i == 0 && !cmp.Equal(want, got) {
			t.Error("the same seed gives another run the second time")
		}
		if got := play(t, one, 8, 120); cmp.Equal(want, got) {
			t.Error("another seed gives the same run")
		}
	}
}

func TestParallelSeeds(t *testing.T) {
	a := probes(t, 4, wrappers.ParallelOptions{Seed: 3}, nil)
	b := probes(t, 8, wrappers.ParallelOptions{Seed: 99}, nil)
	first := slices.Clone(must(t)(a.Reset(-1)).Observations)
	if got := must(t)(b.Reset(3)).Observations; !slices.Equal(first, got[:len(first)]) {
		t.Errorf("environment i depends on more than seed and index: %v and %v", first, got)
	}
	second := slices.Clone(must(t)(a.Reset(-1)).Observations)
	if slices.Equal(first, second) {
		t.Error("a second Reset with a negative seed began anew")
	}
	seen := map[float32]bool{}
	for seed := range int64(20) {
		for i, v := range must(t)(b.Reset(seed)).Observations {
			if i%3 == 2 {
				seen[v] = true
			}
		}
	}
	if len(seen) != 160 {
		t.Errorf("%d different numbers from 160 generators", len(seen))
	}
}

// inside wraps a Single.
type inside struct {
	envs.Single
	size int
}

func (i *inside) Unwrap() envs.Single { return i.Single }

func TestNewParallelRefuses(t *testing.T) {
	good := func(i int) (envs.Single, error) { return &classic.CartPole{}, nil }
	for _, c := range []struct {
		n      int
		create func(int) (envs.Single, error)
		opts   wrappers.ParallelOptions
		want   string
	}{
		{0, good, wrappers.ParallelOptions{}, "number of environments is 0"},
		{-3, good, wrappers.ParallelOptions{}, "number of environments is -3"},
		{1, nil, wrappers.ParallelOptions{}, "got nil"},
		{1, good, wrappers.ParallelOptions{Seed: -1}, "seed is -1"},
		{1, good, wrappers.ParallelOptions{Workers: -1}, "workers is -1"},
		{2, func(i int) (envs.Single, error) { return nil, nil }, wrappers.ParallelOptions{}, "environment 0 is nil"},
		{2, func(i int) (envs.Single, error) {
			if i == 1 {
				return nil, errors.New("no licence")
			}
			return &classic.CartPole{}, nil
		}, wrappers.ParallelOptions{}, "environment 1: no licence"},
		{2, func(i int) (envs.Single, error) {
			if i == 1 {
				return &classic.Pendulum{}, nil
			}
			return &classic.CartPole{}, nil
		}, wrappers.ParallelOptions{}, "environment 1 (*classic.Pendulum) has the observation space Box(3)"},
	} {
		if _, err := wrappers.NewParallel(c.n, c.create, c.opts); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "wrappers: ") {
			t.Errorf("error %v, want it to contain %q", err, c.want)
		}
	}
	closed := 0
	shared, alone := &probe{closed: &closed, length: 3}, &probe{closed: &closed, length: 3}
	for _, wrap := range []func(s envs.Single) envs.Single{
		func(s envs.Single) envs.Single { return s },
		func(s envs.Single) envs.Single { return &inside{s, 1} },
	} {
		closed = 0
		_, err := wrappers.NewParallel(4, func(i int) (envs.Single, error) {
			return wrap([]envs.Single{alone, shared, &probe{closed: &closed}, shared}[i]), nil
		}, wrappers.ParallelOptions{})
		if err == nil || !strings.Contains(err.Error(), "environments 1 and 3 are the same *wrappers_test.probe") || closed != 3 {
			t.Errorf("one environment for two indices: %v, and %d of 3 were closed", err, closed)
		}
	}
	closed = 0
	_, err := wrappers.NewParallel(3, func(i int) (envs.Single, error) {
		if i == 2 {
			return nil, errors.New("no")
		}
		return &probe{closed: &closed}, nil
	}, wrappers.ParallelOptions{})
	if err == nil || closed != 2 {
		t.Errorf("error %v, and %d of 2 environments were closed", err, closed)
	}
}

func TestParallelRefusesBadActions(t *testing.T) {
	cart, err := classic.NewCartPole(classic.Config{NumEnvs: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cart.Close() })
	boxes := probes(t, 2, wrappers.ParallelOptions{}, nil)
	for _, c := range []struct {
		env     envs.Env
		actions []float32
		want    string
	}{
		{cart, nil, "got 0 values, want 2"},
		{cart, []float32{1}, "got 1 values, want 2"},
		{cart, []float32{1, 2}, "environment 1, dimension 0 is 2"},
		{cart, []float32{-1, 0}, "environment 0, dimension 0 is -1"},
		{cart, []float32{0, .5}, "environment 1, dimension 0 is 0.5"},
		{cart, []float32{0, nan}, "environment 1, dimension 0 is NaN"},
		{boxes, []float32{0, 0, 0}, "got 3 values, want 4"},
		{boxes, []float32{0, 0, 0, 0, 0}, "got 5 values, want 4"},
		{boxes, []float32{0, 0, 0, nan}, "environment 1, dimension 1 is NaN"},
		{boxes, []float32{0, -inf, 0, 0}, "environment 0, dimension 1 is -Inf"},
	} {
		s := must(t)(c.env.Reset(1))
		before := slices.Clone(s.Observations)
		if _, err := c.env.Step(c.actions); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want it to contain %q", c.actions, err, c.want)
		}
		if !slices.Equal(before, s.Observations) {
			t.Errorf("%v: the refused actions changed the observations", c.actions)
		}
		// Bad actions stop nothing.
		must(t)(c.env.Step(make([]float32, c.env.NumEnvs()*c.env.Spaces().Action.Width())))
	}
}

func TestParallelNamesTheEnvironmentThatFails(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		fault func(p *probe, out envs.Row) error
		want  string
	}{
		{func(p *probe, out envs.Row) error { return boom }, "environment 3 (*wrappers_test.probe): step 2 of the episode: boom"},
		{func(p *probe, out envs.Row) error { panic("lost a wheel") }, "environment 3 (*wrappers_test.probe) panicked: lost a wheel at wrappers_test.TestParallelNamesTheEnvironmentThatFails (parallel_test.go:"},
		{func(p *probe, out envs.Row) error { out.Observation[2] = nan; return nil }, "environment 3 (*wrappers_test.probe): step 2 of the episode: observation, dimension 2 is NaN"},
		{func(p *probe, out envs.Row) error { out.State[0] = inf; return nil }, "state, dimension 0 is +Inf"},
		{func(p *probe, out envs.Row) error { out.AMPObservation[0] = nan; return nil }, "AMP observation, dimension 0 is NaN"},
	} {
		for _, workers := range []int{1, 2, 6} {
			failing := false
			env := probes(t, 6, wrappers.ParallelOptions{Workers: workers}, func(i int, p *probe) {
				p.length = 10
				p.fault = func(p *probe, out envs.Row) error {
					if failing && i >= 3 {
						return c.fault(p, out)
					}
					return nil
				}
			})
			must(t)(env.Reset(0))
			actions := make([]float32, 12)
			must(t)(env.Step(actions))
			failing = true
			_, err := env.Step(actions)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d workers: error %v, want it to contain %q", workers, err, c.want)
			}
			if strings.HasSuffix(c.want, "boom") && !errors.Is(err, boom) {
				t.Errorf("%v does not wrap the environment's error", err)
			}
			var p *envs.PanicError
			if strings.Contains(c.want, "wheel") && (!errors.As(err, &p) || p.Env != 3 || !strings.Contains(string(p.Stack), "probe_test.go")) {
				t.Errorf("%v is no PanicError with a stack", err)
			}
			failing = false
			if _, err := env.Step(actions); err == nil || !strings.Contains(err.Error(), "call Reset") {
				t.Errorf("a step after an error: %v", err)
			}
			must(t)(env.Reset(0))
			must(t)(env.Step(actions))
		}
	}
}

// A panic in any method of an environment, or in its constructor, is an error that says where.
func TestParallelCatchesPanics(t *testing.T) {
	one := func(method string) (*wrappers.Parallel, *probe, error) {
		p := &probe{length: 5, panics: method}
		env, err := wrappers.NewParallel(1, func(int) (envs.Single, error) { p.enter("constructor"); return p, nil }, wrappers.ParallelOptions{})
		return env, p, err
	}
	for method, call := range map[string]func(env *wrappers.Parallel) error{
		"constructor": nil, "Spaces": nil,
		"Reset":                   func(env *wrappers.Parallel) error { _, err := env.Reset(1); return err },
		"Render":                  func(env *wrappers.Parallel) error { _, err := env.Render(0); return err },
		"CollectReferenceMotions": func(env *wrappers.Parallel) error { _, err := env.CollectReferenceMotions(1, nil); return err },
		"MarshalState":            func(env *wrappers.Parallel) error { _, err := env.MarshalState(); return err },
		"RestoreState": func(env *wrappers.Parallel) error {
			state, err := env.MarshalState()
			return errors.Join(err, env.RestoreState(state))
		},
		"Close": (*wrappers.Parallel).Close,
	} {
		t.Run(method, func(t *testing.T) {
			env, p, err := one(method)
			if call != nil {
				if err != nil {
					t.Fatal(err)
				}
				if method != "Reset" {
					must(t)(env.Reset(1))
				}
				err = call(env)
				p.panics = ""
				if e := env.Close(); e != nil {
					t.Error(e)
				}
			}
			var panicked *envs.PanicError
			if !errors.As(err, &panicked) || !strings.Contains(err.Error(), "panicked: lost a wheel at wrappers_test.(*probe).enter (probe_test.go:") ||
				!strings.Contains(err.Error(), "environment 0") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestParallelRefusesInfiniteRewards(t *testing.T) {
	single := func(int) (envs.Single, error) { return overflow{&probe{length: 5}}, nil }
	big, err := wrappers.NewParallel(1, single, wrappers.ParallelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = big.Close() })
	must(t)(big.Reset(0))
	if _, err := big.Step([]float32{1, 0}); err == nil || !strings.Contains(err.Error(), "reward is 1e+300") {
		t.Errorf("error %v", err)
	}
}

// overflow gives rewards that float32 cannot hold.
type overflow struct{ *probe }

func (o overflow) Step(action []float32, out envs.Row) (float64, bool, bool, error) {
	_, terminated, truncated, err := o.probe.Step(action, out)
	return 1e300, terminated, truncated, err
}

func TestParallelOrderOfCalls(t *testing.T) {
	closed := 0
	env := probes(t, 3, wrappers.ParallelOptions{Workers: 3}, func(_ int, p *probe) { p.closed = &closed })
	if _, err := env.Step(make([]float32, 6)); err == nil || !strings.Contains(err.Error(), "call Reset before Step") {
		t.Errorf("a step before Reset: %v", err)
	}
	if _, err := env.Observe(); err == nil {
		t.Error("observed before Reset")
	}
	if _, err := env.MarshalState(); err == nil {
		t.Error("saved before Reset")
	}
	must(t)(env.Reset(0))
	for range 2 {
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	}
	if closed != 3 {
		t.Errorf("%d of 3 environments were closed", closed)
	}
	if _, err := env.Step(make([]float32, 6)); err == nil {
		t.Error("stepped after Close")
	}
	if _, err := env.Reset(0); err == nil {
		t.Error("reset after Close")
	}
	if err := env.RestoreState(nil); err == nil {
		t.Error("restored after Close")
	}
}

func TestParallelStepsWithoutAllocating(t *testing.T) {
	for _, workers := range []int{1, 2} {
		env, err := classic.NewCartPole(classic.Config{NumEnvs: 8, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		must(t)(env.Reset(0))
		actions := make([]float32, 8)
		if n := testing.AllocsPerRun(200, func() { must(t)(env.Step(actions)) }); n != 0 {
			t.Errorf("%d workers: %g allocations a step", workers, n)
		}
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	}
}

// bare is a Single with no optional interface.
type bare struct{}

func (bare) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.Unbounded(1), Action: spaces.NewMultiDiscrete(2, 3)}
}
func (bare) Reset(*rand.Rand, envs.Row) error { return nil }
func (bare) Step([]float32, envs.Row) (float64, bool, bool, error) {
	return 1, false, false, nil
}
func (bare) Close() error { return errors.New("stuck") }

// guide is a bare Single with reference motion.
type guide struct{ bare }

func (guide) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	return make([]float32, n), nil
}

func TestParallelOptionalInterfaces(t *testing.T) {
	of := func(create func() (envs.Single, error)) *wrappers.Parallel {
		env, err := wrappers.NewParallel(2, func(int) (envs.Single, error) { return create() }, wrappers.ParallelOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	has := func(env envs.Env) string {
		_, r := envs.As[envs.Renderer](env)
		_, s := envs.As[envs.Stateful](env)
		_, m := envs.As[envs.MotionSource](env)
		_, o := envs.As[envs.Observer](env)
		return fmt.Sprint(r, s, m, o)
	}
	newBare := func() (envs.Single, error) { return bare{}, nil }
	newGuide := func() (envs.Single, error) { return guide{}, nil }
	limited := func() (envs.Single, error) { return wrappers.NewTimeLimit(bare{}, 3) }
	limitedCart := func() (envs.Single, error) { return wrappers.NewTimeLimit(&classic.CartPole{}, 3) }
	for _, c := range []struct {
		env  envs.Env
		want string // drawn, saved, with motion, observed
	}{
		{of(newBare), "false false false true"},
		{of(limited), "false false false true"},
		{of(newGuide), "false false true true"},
		{of(limitedCart), "true true false true"},
	} {
		if got := has(c.env); got != c.want {
			t.Errorf("has %s, want %s", got, c.want)
		}
	}
	env := of(newBare)
	if _, err := env.Render(0); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Render: %v", err)
	}
	if _, err := env.Render(2); err == nil || errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Render of environment 2 of 2: %v", err)
	}
	if _, err := env.CollectReferenceMotions(1, nil); !errors.Is(err, errors.ErrUnsupported) ||
		!strings.Contains(err.Error(), "(wrappers_test.bare) shows no reference motion: give it the method CollectReferenceMotions(n int") {
		t.Errorf("CollectReferenceMotions: %v", err)
	}
	if rows, err := of(newGuide).CollectReferenceMotions(5, nil); err != nil || len(rows) != 5 {
		t.Errorf("CollectReferenceMotions: %v, %v", rows, err)
	}
	if err := env.Close(); err == nil || !strings.Contains(err.Error(), "environment 1 (wrappers_test.bare): stuck") {
		t.Errorf("Close: %v", err)
	}
}
