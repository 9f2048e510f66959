package wrappers_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

func TestParallelAutoReset(t *testing.T) {
	env := probes(t, 3, wrappers.ParallelOptions{Seed: 1, Workers: 2}, nil)
	s := must.Get(env.Reset(-1))(t)
	must.Not(t, s.Rewards != nil || s.Terminated != nil || s.AMPObservations != nil, "after Reset: %+v", s)
	actions := []float32{1, 0, 2, 0, 3, 0}
	must.Get(env.Step(actions))(t)
	s = must.Get(env.Step(actions))(t) // probe 0 ends
	must.Same(t, s.Terminated, []bool{true, false, false}, "terminated")
	must.Not(t, s.Observations[1] != 0 || s.FinalObservations[1] != 2 || s.States[0] != 2 || s.FinalStates[0] != 1,
		"probe 0 shows %+v", s)
	must.Same(t, s.AMPObservations, []float32{20, 20, 20}, "AMP observations")
	must.Same(t, s.Rewards, []float32{1, 2, 3}, "rewards")
	metrics := s.Episodes[0].Metrics
	must.Get(env.Step(actions))(t)     // probe 1 ends
	s = must.Get(env.Step(actions))(t) // probes 0 and 2 end
	must.Match(t, []envs.Episode{
		{Env: 0, Return: 2, Length: 2, Metrics: map[string]float64{"episode": 2}},
		{Env: 2, Return: 12, Length: 4, Metrics: map[string]float64{"episode": 1}},
	}, s.Episodes, "episodes")
	must.Is(t, metrics["episode"], 1, "an earlier episode's metrics changed")
}

// inside wraps a Single.
type inside struct {
	envs.Single
	size int
}

func (i *inside) Unwrap() envs.Single { return i.Single }

func TestNewParallelRefuses(t *testing.T) {
	cart := func(int) (envs.Single, error) { return &classic.CartPole{}, nil }
	second := func(s envs.Single) func(int) (envs.Single, error) {
		return func(i int) (envs.Single, error) { return []envs.Single{&classic.CartPole{}, s}[i], nil }
	}
	for want, err := range map[string]error{
		"number of environments is 0":   newParallel(0, cart, wrappers.ParallelOptions{}),
		"environment 1 is nil":          newParallel(2, second(nil), wrappers.ParallelOptions{}),
		"environment 1 (*classic.Pendu": newParallel(2, second(&classic.Pendulum{}), wrappers.ParallelOptions{}),
	} {
		must.Refuse(t, err, "wrappers: ", want)
	}
	closed := 0
	shared, alone := &probe{closed: &closed, length: 3}, &probe{closed: &closed, length: 3}
	err := newParallel(4, func(i int) (envs.Single, error) {
		return &inside{[]envs.Single{alone, shared, &probe{closed: &closed}, shared}[i], 1}, nil
	}, wrappers.ParallelOptions{})
	must.Refuse(t, err, "environments 1 and 3 are the same *wrappers_test.probe")
	must.Is(t, closed, 3, "closed")
}

func newParallel(n int, create func(int) (envs.Single, error), opts wrappers.ParallelOptions) error {
	_, err := wrappers.NewParallel(n, create, opts)
	return err
}

func TestParallelNamesTheEnvironmentThatFails(t *testing.T) {
	boom := errors.New("boom")
	spoil := func(f func(p *probe, out envs.Row)) func(p *probe, out envs.Row) error {
		return func(p *probe, out envs.Row) error { f(p, out); return nil }
	}
	for want, fault := range map[string]func(p *probe, out envs.Row) error{
		"step 2 of the episode: boom":     func(*probe, envs.Row) error { return boom },
		"the reward is 1e+300":            spoil(func(p *probe, _ envs.Row) { p.more = 1e300 }),
		"observation, dimension 2 is NaN": spoil(func(_ *probe, out envs.Row) { out.Observation[2] = nan }),
		"state, dimension 0 is +Inf":      spoil(func(_ *probe, out envs.Row) { out.State[0] = inf }),
		"panicked: lost a wheel":          spoil(func(*probe, envs.Row) { panic("lost a wheel") }),
	} {
		for _, workers := range []int{1, 2, 6} {
			failing := false
			env := probes(t, 6, wrappers.ParallelOptions{Workers: workers}, func(i int, p *probe) {
				p.length = 10
				p.fault = func(p *probe, out envs.Row) error {
					if p.more = 0; failing && i >= 3 {
						return fault(p, out)
					}
					return nil
				}
			})
			must.Get(env.Reset(0))(t)
			actions := make([]float32, 12)
			must.Get(env.Step(actions))(t)
			failing = true
			_, err := env.Step(actions)
			must.Refuse(t, err, "environment 3 (*wrappers_test.probe)", want)
			must.Is(t, errors.Is(err, boom), strings.HasSuffix(want, "boom"), "%d workers: %v wraps boom", workers, err)
			failing = false
			must.Refused(env.Step(actions))(t, "call Reset")
			must.Get(env.Reset(0))(t)
			must.Get(env.Step(actions))(t)
		}
	}
}

// A panic in any method of an environment, or in its constructor, is an error that says where.
func TestParallelCatchesPanics(t *testing.T) {
	for method, call := range map[string]func(env *wrappers.Parallel) error{
		"constructor": nil, "Spaces": nil,
		"Reset":  func(env *wrappers.Parallel) error { _, err := env.Reset(1); return err },
		"Render": func(env *wrappers.Parallel) error { _, err := env.Render(0); return err },
		"CollectReferenceMotions": func(env *wrappers.Parallel) error {
			_, err := env.CollectReferenceMotions(1, nil)
			return err
		},
		"MarshalState": func(env *wrappers.Parallel) error { _, err := env.MarshalState(); return err },
		"RestoreState": func(env *wrappers.Parallel) error {
			state, err := env.MarshalState()
			return errors.Join(err, env.RestoreState(state))
		},
		"Close": (*wrappers.Parallel).Close,
	} {
		p := &probe{length: 5, panics: method}
		env, err := wrappers.NewParallel(1, func(int) (envs.Single, error) { p.enter("constructor"); return p, nil },
			wrappers.ParallelOptions{})
		if call != nil {
			must.Do(t, err)
			if method != "Reset" {
				must.Get(env.Reset(1))(t)
			}
			err = call(env)
			p.panics = ""
			must.Do(t, env.Close())
		}
		var panicked *envs.PanicError
		if !errors.As(err, &panicked) || panicked.Env > 0 {
			t.Errorf("%s: the error is %v", method, err)
		}
		must.RefuseAs(t, method, err, "environment 0",
			"panicked: lost a wheel at wrappers_test.(*probe).enter (probe_test.go:")
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

// A batch is what its environments are, through their wrappers, and says what they lack.
func TestParallelOptionalInterfaces(t *testing.T) {
	has := func(create func(i int) (envs.Single, error)) string {
		env := must.Get(wrappers.NewParallel(2, create, wrappers.ParallelOptions{}))(t)
		_, r := envs.As[envs.Renderer](env)
		_, s := envs.As[envs.Stateful](env)
		_, m := envs.As[envs.MotionSource](env)
		_, w := envs.As[envs.RewardShaper](env)
		_, c := envs.As[envs.Curriculum](env)
		return fmt.Sprint(r, s, m, w, c)
	}
	newProbe := func(i int) *probe { return &probe{index: i, length: 3} }
	for want, create := range map[string]func(i int) (envs.Single, error){
		"false false false false false": func(int) (envs.Single, error) { return wrappers.NewTimeLimit(bare{}, 3) },
		"true true false true false": func(int) (envs.Single, error) {
			return wrappers.NewTimeLimit(&classic.MountainCar{}, 3)
		},
		"true true true false false": func(i int) (envs.Single, error) { // one has no parameters
			return []envs.Single{&shaped{probe: newProbe(0)}, newProbe(1)}[i], nil
		},
		"true true true true true": func(i int) (envs.Single, error) { return &shaped{probe: newProbe(i)}, nil },
	} {
		must.Is(t, has(create), want, "has")
	}
	create := func(int) (envs.Single, error) { return bare{}, nil }
	env := must.Get(wrappers.NewParallel(2, create, wrappers.ParallelOptions{}))(t)
	_, err := env.CollectReferenceMotions(1, nil)
	must.Is(t, errors.Is(err, errors.ErrUnsupported), true, "unsupported")
	must.Refuse(t, env.Close(), "environment 1 (wrappers_test.bare): stuck")
}

func step(env envs.Env, actions []float32) error {
	_, err := env.Step(actions)
	return err
}

// While Step runs, another goroutine's Step and Close are refused, and no environment is closed.
func TestParallelRefusesOverlap(t *testing.T) {
	for _, workers := range []int{1, 2} {
		entered, release, closed := make(chan struct{}), make(chan struct{}), 0
		env := probes(t, 2, wrappers.ParallelOptions{Workers: workers}, func(_ int, p *probe) {
			p.closed = &closed
			if p.index == 0 {
				p.fault = func(*probe, envs.Row) error { close(entered); <-release; return nil }
			}
		})
		must.Get(env.Reset(1))(t)
		actions, stepped := make([]float32, 4), make(chan error)
		go func() { stepped <- step(env, actions) }()
		<-entered
		for name, call := range map[string]func() error{
			"Step": func() error { return step(env, actions) }, "Close": env.Close,
		} {
			must.Refuse(t, call(), "wrappers: "+name+" was called while Step is running")
		}
		must.Is(t, closed, 0, "environments were closed")
		close(release)
		if err := errors.Join(<-stepped, env.Close(), env.Close()); err != nil || closed != 2 {
			t.Errorf("%v; %d environments were closed", err, closed)
		}
	}
}
