package gymnasium

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
)

// lived is one valid step of an environment.
type lived struct {
	Reward                float64
	Terminated, Truncated bool
	// Final is the last observation where the episode ended, and Next what was seen after the step and any reset.
	Final, Next []float32
}

// live steps environments for so many timesteps and returns the valid steps of each. Actions depend on the environment
// and on how many valid steps it has made, so that environments which pause for a reset live the same lives.
func live(t *testing.T, e *Env, timesteps int, seed int64) [][]lived {
	t.Helper()
	n, w, wA := e.NumEnvs(), e.Spaces().Observation.Width(), e.Spaces().Action.Width()
	envtest.Reset(t, e, seed)
	all, acts := make([][]lived, n), make([]float32, n*wA)
	returns, lengths := make([]float64, n), make([]int, n)
	for step := range timesteps {
		for i := range n {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(len(all[i]))))
			e.Spaces().Action.Sample(rng, acts[i*wA:(i+1)*wA])
		}
		s := envtest.Step(t, e, acts)
		episodes := s.Episodes
		for i := range n {
			row := slices.Clone(s.Observations[i*w : (i+1)*w])
			if s.Invalid != nil && s.Invalid[i] {
				last := &all[i][len(all[i])-1]
				must.Same(t, last.Next, last.Final, "timestep %d, environment %d: seen before its reset", step, i)
				must.Is(t, s.Rewards[i] != 0 || s.Terminated[i] || s.Truncated[i], false, "a reset is a step: %d", step)
				last.Next = row
				continue
			}
			l := lived{Reward: e.exact[i], Terminated: s.Terminated[i], Truncated: s.Truncated[i], Next: row}
			returns[i], lengths[i] = returns[i]+l.Reward, lengths[i]+1
			if l.Terminated || l.Truncated {
				l.Final = slices.Clone(s.FinalObservations[i*w : (i+1)*w])
				must.Match(t, envs.Episode{Env: i, Length: lengths[i], Return: returns[i],
					Metrics: episodes[0].Metrics},
					episodes[0], "timestep %d", step)
				episodes, returns[i], lengths[i] = episodes[1:], 0, 0
			}
			all[i] = append(all[i], l)
		}
	}
	return all
}

// In every mode of resetting, Gymnasium's vector environments live through the bridge as the single environments do
// that gorl steps itself: row for row, last observations included.
func TestPeersVectorEqualsSingle(t *testing.T) {
	const n, seed = 3, 17
	for _, c := range []struct {
		name, how string
		steps     int
		episodes  int
	}{{"CartPole-v1", "sync", 10_000, 1000}, {"CartPole-v1", "async", 2_000, 200}, {"Pendulum-v1", "sync", 10_000, 140},
		{"bridge_environments:Rooms", "sync", 10_000, 1000}, {"bridge_environments:Rooms", "async", 1_000, 100}} {
		var want [][]lived
		for _, mode := range autoresets {
			t.Run(fmt.Sprint(c.name, c.how, mode), func(t *testing.T) {
				if want == nil {
					want = live(t, open(t, real(t, c.name, n, 1)), c.steps, seed)
				}
				o := real(t, "bridge_batches:vector", n, 0)
				o.Simulator, o.Kwargs = Vector, map[string]any{"name": c.name, "how": c.how, "mode": mode}
				got := live(t, open(t, o), c.steps, seed)
				episodes := 0
				for i, steps := range got {
					for k, l := range steps[:len(steps)-1] { // what follows the last step may not have been seen
						must.Match(t, want[i][k], l, "environment %d, step %d", i, k)
						if l.Final != nil {
							episodes++
						}
					}
				}
				must.Not(t, episodes < c.episodes, "%d episodes, want at least %d", episodes, c.episodes)
			})
		}
	}
}

// gymnasium.make_vec by id: same step where there is a choice, and what a vector environment says otherwise.
func TestPeersMakeVec(t *testing.T) {
	o := real(t, "CartPole-v1", 4, 0)
	o.Simulator = Vector
	for _, invalid := range []bool{true, false} { // CartPole's own vector environment resets in the next step
		e := open(t, o)
		must.Do(t, envs.Check(e, 200, 5))
		seen := false
		for range 200 {
			s := envtest.Step(t, e, make([]float32, 4))
			must.Is(t, s.FinalUnknown == nil, true, "last observations are known")
			seen = seen || s.Invalid != nil
		}
		must.Is(t, seen, invalid, "%v: there are invalid rows", o.Kwargs)
		o.Kwargs = map[string]any{"vectorization_mode": "sync"}
	}
	o.Kwargs, o.Autoreset = nil, SameStep
	must.Refused(New(o))(t, "says that its autoreset is next_step; the options say same_step")
}

// EnvPool through the bridge is EnvPool stepped from Python, row for row; a reset with another seed is that of a new
// pool.
func TestSimulatorsEnvPool(t *testing.T) {
	python := peers.Simulators(t, "envpool")
	const name, n, steps, seed = "HalfCheetah-v4", 4, 10_000, 17
	numbers := reference(t, python, "envpool_reference.py", name, n, steps, seed)
	array := func(name string) []float32 { return number.Float32s(nil, numbers(name)) }
	observations, rewards, flags, acts := array("observations"), array("rewards"), array("flags"), array("actions")
	e := open(t, Options{Python: python, Simulator: EnvPool, ID: name, NumEnvs: n, Seed: 3})
	const w, wA = 17, 6
	s := envtest.Reset(t, e, seed)
	ended, episodes := make([]bool, n), 0
	for step := range steps {
		must.Same(t, s.Observations, observations[step*n*w:(step+1)*n*w], "timestep %d: observations", step)
		s = envtest.Step(t, e, acts[step*n*wA:(step+1)*n*wA])
		for i := range n {
			flag, invalid := flags[step*n+i], s.Invalid != nil && s.Invalid[i]
			must.Not(t, s.Rewards[i] != rewards[step*n+i] || s.Terminated[i] != (flag == 1 || flag == 3) ||
				s.Truncated[i] != (flag >= 2) || invalid != ended[i],
				"timestep %d, environment %d: reward %g, %t, %t, invalid %t; want %g and %g, %t", step, i, s.Rewards[i],
				s.Terminated[i], s.Truncated[i], invalid, rewards[step*n+i], flag, ended[i])
			if ended[i] = flag > 0; ended[i] {
				episodes++
				must.Same(t, s.FinalObservations[i*w:(i+1)*w], observations[((step+1)*n+i)*w:((step+1)*n+i+1)*w],
					"timestep %d, environment %d: last observation", step, i)
			}
		}
	}
	must.Not(t, episodes != n*(steps/1001) || len(s.Episodes) != 0, "%d episodes", episodes)
	must.Same(t, envtest.Reset(t, e, seed).Observations, observations[:n*w], "the same seed again")
}

// mjlab shows last observations, because the bridge resets; with its own reset they are unknown.
func TestSimulatorsMJLab(t *testing.T) {
	python := peers.Simulators(t, "mjlab", "gymnasium")
	const n = 8
	var first []float32
	for _, mode := range []Autoreset{"", SameStep} {
		o := Options{Python: python, Simulator: MJLab, ID: "Mjlab-Cartpole-Balance", NumEnvs: n, Autoreset: mode,
			Seed: 5, Kwargs: map[string]any{"episode_length_s": 0.5, "device": "cpu"}}
		e := open(t, o)
		must.Not(t, e.set.Observation.Width() != 5 || e.set.State.Width() != 5 || e.set.Action.Width() != 1,
			"spaces %v", e.set)
		must.Do(t, envs.Check(e, 40, 5))
		s := envtest.Reset(t, e, 9)
		if first == nil {
			first = slices.Clone(s.Observations)
		} else if !slices.Equal(first, s.Observations) {
			t.Error("the same seed gave other first observations")
		}
		episodes, before := 0, slices.Clone(s.Observations)
		for range 60 {
			s = envtest.Step(t, e, slices.Repeat([]float32{0.3}, n))
			for _, episode := range s.Episodes {
				episodes++
				must.Not(t, s.FinalUnknown != nil != (mode == SameStep) || episode.Length > 11 || episode.Return <= 0,
					"episode %+v, last observations unknown %v", episode, s.FinalUnknown)
				if mode == "" { // one step on from the observation before, and not the next episode's first
					from, to := 5*episode.Env, 5*episode.Env+5
					final := s.FinalObservations[from:to]
					must.Near(t, float64(final[0]), float64(before[from]), 0.5, "the last place")
					must.Near(t, float64(final[1]), float64(before[from+1]), 0.5, "the last angle")
					must.Is(t, slices.Equal(final, s.Observations[from:to]), false, "last and first are equal")
				}
			}
			must.Is(t, len(s.Metrics) > 0, len(s.Episodes) > 0,
				"metrics %v with %d episodes", s.Metrics, len(s.Episodes))
			before = slices.Clone(s.Observations)
		}
		must.Not(t, episodes < n, "%d episodes", episodes)
	}
	o := Options{Python: python, Simulator: MJLab, ID: "Mjlab-Cartpole-Balance", NumEnvs: n,
		Kwargs: map[string]any{"scene.colour": 3}}
	must.Refused(New(o))(t, "kwargs: the configuration has no scene.colour")
	o.ID = "Mjlab-Cart"
	must.Refused(New(o))(t, "mjlab has no task 'Mjlab-Cart'; it has 'Mjlab-Cartpole-Balance'")
}

// The stand-in for Isaac Lab: the app prints thousands of lines and ends the process itself.
func TestSimulatorsIsaacLab(t *testing.T) {
	python := peers.Simulators(t, "torch", "gymnasium")
	standin := must.Get(filepath.Abs("testdata/isaaclab"))(t)
	const n = 16
	for _, c := range []struct {
		id                  string
		states, amp, length int
	}{{"Standin-Fish-Direct-v0", 5, 0, 59}, {"Standin-Fish-v0", 5, 0, 60}, {"Standin-Fish-AMP-Direct-v0", 0, 4, 59}} {
		t.Run(c.id, func(t *testing.T) {
			o := Options{Python: python, Path: []string{standin}, Simulator: IsaacLab, ID: c.id, NumEnvs: n, Seed: 3,
				Kwargs: map[string]any{"device": "cpu"}}
			if c.amp > 0 {
				o.AMPObservations = "amp_obs"
			}
			e := open(t, o)
			must.Not(t, e.set.Observation.Width() != 4 || e.set.State.Width() != c.states ||
				e.set.AMPObservation.Width() != c.amp, "spaces %v", e.set)
			must.Do(t, envs.Check(e, 130, 5))
			envtest.Reset(t, e, 9)
			episodes, before := 0, make([]float32, n*c.amp)
			for range 150 {
				s := envtest.Step(t, e, slices.Repeat([]float32{0.3, 0.1}, n))
				for _, episode := range s.Episodes {
					episodes++
					i := episode.Env
					must.Is(t, s.FinalUnknown[i], true, "the end of %+v is unknown", episode)
					must.Is(t, s.Truncated[i], episode.Length == c.length, "%+v is truncated", episode)
					must.Same(t, s.AMPObservations[i*c.amp:(i+1)*c.amp], before[i*c.amp:(i+1)*c.amp], "AMP observation")
				}
				_, logged := s.Metrics["Episode_Reward/speed"]
				must.Not(t, c.amp == 0 && logged != (len(s.Episodes) > 0), "metrics %v with %d episodes", s.Metrics,
					len(s.Episodes))
				before = slices.Clone(s.AMPObservations)
			}
			must.Not(t, episodes < 2*n, "%d episodes", episodes)
			if c.amp > 0 {
				rows := must.Get(e.CollectReferenceMotions(50, rand.New(rand.NewPCG(1, 2))))(t)
				must.Is(t, len(rows), 50*c.amp, "values of reference motion")
			}
		})
	}
}
