// Package envtest holds environments and wrappers to one set of rules. Only tests use it.
package envtest

import (
	"bytes"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// Make returns a new environment whose options hold the seed. The environment steps on as many goroutines or processes
// as workers says; 0 is its default.
type Make func(seed int64, workers int) (envs.Env, error)

// Conform checks what every environment must do: the contract of [envs.Check], with steps random steps; the seed alone
// makes the run; and what [ConformLearning] checks.
func Conform(t *testing.T, steps int, make Make) {
	t.Helper()
	s := suite{T: t, make: make}
	if err := envs.Check(s.open(1, 0), steps, 3); err != nil {
		t.Error(err)
	}
	s.seeds()
	ConformLearning(t, make)
}

// ConformLearning checks what also holds if the seed of a Reset does not make the whole run, as behind wrappers whose
// running statistics outlive it: bad actions are refused and change nothing, calls in a wrong order are errors, the
// number of workers does not change the run, steps allocate nothing unless an episode ends, and a saved state, if there
// is one, goes on exactly in another environment.
func ConformLearning(t *testing.T, make Make) {
	t.Helper()
	s := suite{T: t, make: make}
	s.order()
	s.actions()
	s.workers()
	s.allocations()
	s.states()
}

type suite struct {
	*testing.T
	make Make
}

// open makes an environment that lives as long as the test.
func (s suite) open(seed int64, workers int) envs.Env {
	s.Helper()
	return must.Open(s.make(seed, workers))(s.T)
}

// reset returns the first observations, which are the caller's.
func (s suite) reset(env envs.Env, seed int64) []float32 {
	s.Helper()
	return slices.Clone(Reset(s.T, env, seed).Observations)
}

// play takes random steps and returns all that the environment shows of them.
func (s suite) play(env envs.Env, steps int, seed uint64) (out []float32) {
	s.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	set := env.Spaces()
	actions, w := set.Action.Rows(env.NumEnvs()), set.Observation.Width()
	var masks []float32
	if o, ok := envs.As[envs.Observer](env); ok && set.ActionMask.Kind != spaces.None {
		masks = must.Get(o.Observe())(s.T).ActionMasks
	}
	for range steps {
		set.SampleActions(rng, actions, masks)
		step := Step(s.T, env, actions)
		masks = step.ActionMasks
		out = append(out, slices.Concat(step.Observations, step.States, step.Rewards, step.AMPObservations, masks,
			step.Seats.Rewards)...)
		for _, on := range slices.Concat(step.Seats.Terminated, step.Seats.Truncated, step.Seats.Active) {
			out = append(out, map[bool]float32{true: 1}[on])
		}
		for _, name := range slices.Sorted(maps.Keys(step.Metrics)) {
			out = append(out, float32(step.Metrics[name]))
		}
		for _, e := range step.Episodes {
			if step.FinalKnown(e.Env) {
				out = append(out, step.FinalObservations[e.Env*w:(e.Env+1)*w]...)
			}
			out = append(out, float32(e.Env), float32(e.Return), float32(e.Length))
		}
	}
	return out
}

// order calls methods before Reset and after Close.
func (s suite) order() {
	env := must.Get(s.make(1, 2))(s.T)
	refused := func(when string) {
		if _, err := env.Step(env.Spaces().Action.Rows(env.NumEnvs())); err == nil {
			s.Errorf("stepped %s", when)
		}
		if o, ok := envs.As[envs.Observer](env); ok {
			if _, err := o.Observe(); err == nil {
				s.Errorf("observed %s", when)
			}
		}
		if f, ok := envs.As[envs.Stateful](env); ok {
			if _, err := f.MarshalState(); err == nil {
				s.Errorf("saved %s", when)
			}
		}
	}
	refused("before Reset")
	s.reset(env, 0)
	for range 2 {
		must.Do(s.T, env.Close())
	}
	refused("after Close")
	if _, err := env.Reset(0); err == nil {
		s.Error("reset after Close")
	}
}

// actions gives rows that are too short, too long, not finite or out of the range of choices.
func (s suite) actions() {
	env := s.open(1, 0)
	space := env.Spaces().Action
	good := space.Rows(env.NumEnvs())
	values := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}
	if leaves := space.Leaves(); leaves[len(leaves)-1].Space.Kind != spaces.Box {
		values = append(values, -1, 0.5, 1e6)
	}
	bad := [][]float32{nil, good[1:], append(slices.Clone(good), 0)}
	for _, v := range values {
		row := slices.Clone(good)
		row[len(row)-1] = v
		bad = append(bad, row)
	}
	before := s.reset(env, 1)
	for _, row := range bad {
		if _, err := env.Step(row); err == nil {
			s.Errorf("accepted the actions %v", row)
		}
	}
	if o, ok := envs.As[envs.Observer](env); ok {
		if now, err := o.Observe(); err != nil || !slices.Equal(before, now.Observations) {
			s.Errorf("refused actions changed the observations: %v", err)
		}
	}
	if _, err := env.Step(good); err != nil {
		s.Errorf("a step after refused actions: %v", err)
	}
}

// seeds holds runs of equal and of other seeds against each other.
func (s suite) seeds() {
	a, b := s.open(5, 0), s.open(6, 0)
	first := s.reset(a, -1)
	run := s.play(a, 40, 1)
	if !slices.Equal(first, s.reset(b, 5)) || !slices.Equal(run, s.play(b, 40, 1)) {
		s.Error("Reset(-1) of a new environment and Reset with the options' seed give two runs")
	}
	if !slices.Equal(first, s.reset(a, 5)) || !slices.Equal(run, s.play(a, 40, 1)) {
		s.Error("the same seed gives another run the second time")
	}
	again, alike := false, true
	for seed := range int64(8) {
		rows := s.reset(b, 50+seed)
		again = again || !slices.Equal(rows, first)
		for row := range slices.Chunk(rows, len(rows)/b.NumEnvs()) {
			alike = alike && slices.Equal(row, rows[:len(row)])
		}
	}
	if !again || alike && b.NumEnvs() > 1 {
		s.Errorf("another seed, or another environment, begins otherwise: %t, %t", again, !alike)
	}
}

// workers compares runs with different numbers of workers.
func (s suite) workers() {
	var want []float32
	for _, workers := range []int{1, 2, 3, 0} {
		env := s.open(5, workers)
		s.reset(env, 7)
		got := s.play(env, 80, 2)
		if want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			s.Errorf("%d workers give another run than one", workers)
		}
	}
}

// allocations counts those of steps in which no episode ends.
func (s suite) allocations() {
	env := s.open(1, 2)
	s.reset(env, 1)
	set, rng, masks := env.Spaces(), rand.New(rand.NewPCG(1, 1)), []float32(nil)
	actions, ended := set.Action.Rows(env.NumEnvs()), 0
	perStep := testing.AllocsPerRun(4, func() {
		if masks != nil {
			set.SampleActions(rng, actions, masks)
		}
		step := Step(s.T, env, actions)
		masks, ended = step.ActionMasks, ended+len(step.Episodes)
	})
	if ended == 0 && perStep != 0 {
		s.Errorf("%g allocations a step", perStep)
	}
}

// states saves an environment in the middle of episodes and restores it into a new one and into a used one. What is no
// state is refused, and changes nothing.
func (s suite) states() {
	a, fresh, used := s.open(1, 2), s.open(2, 1), s.open(3, 0)
	saver, ok := envs.As[envs.Stateful](a)
	if !ok {
		return
	}
	s.reset(a, 1)
	s.play(a, 17, 1)
	s.reset(used, 2)
	s.play(used, 5, 2)
	state := slices.Clone(State(s.T, saver))
	want := s.play(a, 60, 3)
	for name, env := range map[string]envs.Env{"a new": fresh, "a used": used} {
		restorer, _ := envs.As[envs.Stateful](env)
		must.Do(s.T, restorer.RestoreState(state))
		if again, err := restorer.MarshalState(); err != nil || !bytes.Equal(state, again) {
			s.Errorf("%s environment saves another state than was restored: %v", name, err)
		}
		if !slices.Equal(want, s.play(env, 60, 3)) {
			s.Errorf("%s environment with a restored state goes on differently", name)
		}
	}
	before := slices.Clone(State(s.T, saver))
	bad := [][]byte{append(slices.Clone(state), 0), []byte("something else")}
	for k := range 64 {
		bad = append(bad, state[:k*len(state)/64])
	}
	for _, b := range bad {
		if err := saver.RestoreState(b); err == nil {
			s.Errorf("accepted %d bytes of a state of %d", len(b), len(state))
		}
	}
	if after, err := saver.MarshalState(); err != nil || !bytes.Equal(before, after) {
		s.Errorf("refused states changed the environment: %v", err)
	}
}

// Reset resets an environment; an error ends the test.
func Reset(t testing.TB, env envs.Env, seed int64) *envs.Step {
	t.Helper()
	return must.Get(env.Reset(seed))(t)
}

// Step steps an environment; an error ends the test.
func Step(t testing.TB, env envs.Env, actions []float32) *envs.Step {
	t.Helper()
	return must.Get(env.Step(actions))(t)
}

// State returns an environment's state; an error ends the test.
func State(t testing.TB, env envs.Stateful) []byte {
	t.Helper()
	return must.Get(env.MarshalState())(t)
}
