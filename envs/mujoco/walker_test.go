package mujoco

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestWalkerHidesVelocities drives two walkers side by side: hidden velocities are in states, and change nothing else.
func TestWalkerHidesVelocities(t *testing.T) {
	cfg := WalkerConfig{NumEnvs: 4, Seed: 1, EpisodeLength: 25}
	open := must.Open(NewWalker(cfg))(t)
	cfg.HideVelocities = true
	hidden := must.Open(NewWalker(cfg))(t)
	s := hidden.Spaces()
	must.Not(t, s.Observation.Width() != 8 || s.State.Width() != 17 || s.AMPObservation.Width() != 34, "spaces %v", s)
	// same compares the rows of environment i in what is observed of both.
	same := func(i int, whole, states, observations []float32) {
		t.Helper()
		must.Same(t, states[17*i:17*i+17], whole[17*i:17*i+17], "the state of environment %d", i)
		must.Same(t, observations[8*i:8*i+8], whole[17*i:17*i+8], "the observation of environment %d", i)
	}
	a, b := envtest.Reset(t, open, 7), envtest.Reset(t, hidden, 7)
	rng, ends, actions := rand.New(rand.NewPCG(1, 1)), 0, make([]float32, 4*6)
	for k := range 60 {
		for i := range 4 {
			same(i, a.Observations, b.States, b.Observations)
			if k > 0 && a.Ended(i) {
				ends++
				same(i, a.FinalObservations, b.FinalStates, b.FinalObservations)
			}
		}
		must.Same(t, a.AMPObservations, b.AMPObservations, "step %d: AMP observations", k)
		must.Same(t, a.Rewards, b.Rewards, "step %d: rewards", k)
		noise(actions, 0.6, rng)
		a, b = envtest.Step(t, open, actions), envtest.Step(t, hidden, actions)
		if k%20 == 0 {
			must.Get(hidden.Render(0))(t) // looking changes nothing
		}
	}
	must.Not(t, ends == 0, "no episode ended")
}

func TestWalkerReset(t *testing.T) {
	w := must.Open(NewWalker(WalkerConfig{NumEnvs: 200, Seed: 1}))(t)
	step := envtest.Reset(t, w, 5)
	seen := map[int]bool{}
	first := slices.Clone(step.Observations)
	for i := range 200 {
		o := first[17*i : 17*i+17]
		k := slices.IndexFunc(w.task.pairs, func(p [34]float32) bool {
			return slices.Equal(p[1:17], o[1:]) && math.Abs(float64(o[0]-p[0])-walkerLift) < 1e-6
		})
		must.Not(t, k < 0, "environment %d does not begin in a frame of the clip: %v", i, o)
		seen[k] = true
	}
	must.Not(t, len(seen) < 40, "200 walkers began in %d of %d frames", len(seen), len(w.task.pos))
	step = envtest.Step(t, w, make([]float32, 200*6))
	for i := range 200 {
		amp := step.AMPObservations[34*i : 34*i+34]
		must.Same(t, amp[:17], first[17*i:17*i+17], "environment %d: the AMP history is not the clip's frame", i)
		must.Not(t, !step.Terminated[i] && !slices.Equal(amp[17:], step.Observations[17*i:17*i+17]),
			"environment %d: the AMP observation does not end in the observation", i)
	}
}

func TestWalkerEpisodes(t *testing.T) {
	const n = 8
	w := must.Open(NewWalker(WalkerConfig{NumEnvs: n, Seed: 1, EpisodeLength: 30}))(t)
	envtest.Reset(t, w, 1)
	rng := rand.New(rand.NewPCG(1, 1))
	actions := make([]float32, 6*n)
	returns := make([]float64, n)
	fell, cut := 0, 0
	for range 150 {
		noise(actions, 3, rng)
		s := envtest.Step(t, w, actions)
		for i := range n {
			returns[i] += float64(s.Rewards[i])
		}
		for _, e := range s.Episodes {
			f := s.FinalObservations[17*e.Env : 17*e.Env+17]
			low := f[0] < -0.25 || math.Abs(float64(f[1])) > 1
			must.Not(t, s.Terminated[e.Env] != low || low == s.Truncated[e.Env], "terminated %t, height %g, pitch %g",
				s.Terminated[e.Env], f[0], f[1])
			must.Same(t, f, s.AMPObservations[34*e.Env+17:34*e.Env+34], "the end of the last AMP observation")
			if s.Truncated[e.Env] {
				cut++
				must.Is(t, e.Length, 30, "truncated after")
			} else {
				fell++
			}
			must.Not(t, math.Abs(e.Return-returns[e.Env]) > 1e-4 || e.Metrics["length"] != float64(e.Length) ||
				e.Metrics["joint_error"] <= 0 || e.Metrics["speed"] == 0, "episode %+v, return %g", e, returns[e.Env])
			returns[e.Env] = 0
		}
	}
	must.Not(t, fell == 0 || cut == 0, "%d falls and %d time limits", fell, cut)
}

func TestCollectReferenceMotions(t *testing.T) {
	w := must.Open(NewWalker(WalkerConfig{}))(t)
	rows := must.Get(w.CollectReferenceMotions(500, rand.New(rand.NewPCG(1, 2))))(t)
	clip := w.Motion()
	pos, vel := make([]float64, 9), make([]float64, 9)
	near := func(got float32, want float64) bool { return math.Abs(float64(got)-want) < 1e-5 }
	for row := range slices.Chunk(rows, 34) {
		found := false
		for k := range clip.NumFrames() {
			clip.At(clip.FrameTime(k)+0.02, pos, vel)
			found = found || near(row[2], clip.Frame(k)[3]) && near(row[17], pos[1]) && near(row[17+11], 0.2*vel[3])
		}
		must.Not(t, !found || math.Abs(float64(row[8]-row[25])) > 0.2, "%v is no pair of consecutive frames", row)
	}
}

// The terms of the reward are those of each walker, and change nothing but the reward.
func TestWalkerShaping(t *testing.T) {
	const n = 4
	cfg := WalkerConfig{NumEnvs: n, EpisodeLength: 40, Workers: 2}
	plain, shaped := must.Open(NewWalker(cfg))(t), must.Open(NewWalker(cfg))(t)
	envtest.Reset(t, plain, 3)
	envtest.Reset(t, shaped, 3)
	tree := func(weight, sharpness, alive float64) map[string]any {
		return map[string]any{"speed": map[string]any{"weight": weight, "sharpness": sharpness}, "alive": alive}
	}
	must.Match(t, tree(1, 2, 0), shaped.RewardShaping(), "parameters")
	must.Do(t, errors.Join(shaped.SetRewardShaping(tree(3, 0.5, 0.1), []int{1, 2}),
		shaped.SetRewardShaping(map[string]any{"alive": 1.0}, []int{2})))
	terms := [n]walkerTerms{{1, 2, 0}, {3, 0.5, 0.1}, {3, 0.5, 1}, {1, 2, 0}}
	actions := make([]float32, n*6)
	for k := range 60 {
		for i := range actions {
			actions[i] = float32(math.Sin(float64(k*i) / 9))
		}
		a := envtest.Step(t, plain, actions)
		b := envtest.Step(t, shaped, actions)
		must.Same(t, a.Observations, b.Observations, "observations")
		for i, x := range terms {
			want := x.weight*math.Pow(float64(a.Rewards[i]), x.sharpness/2) + x.alive
			must.Near(t, want, float64(b.Rewards[i]), 1e-4, "step %d, environment %d: reward", k, i)
		}
	}
	must.Refuse(t, shaped.SetRewardShaping(map[string]any{"alive": 5.0}, []int{0, n}), "is not one of 4")
	must.Refuse(t, shaped.SetRewardShaping(tree(1, -1, 0), []int{}), "must not be negative")
	must.Do(t, shaped.SetRewardShaping(map[string]any{"alive": 0.25}, nil))
	must.Match(t, tree(1, 2, 0.25), shaped.RewardShaping(), "parameters")
	must.Is(t, shaped.task.terms[2], walkerTerms{3, 0.5, 0.25}, "terms of walker 2")
	must.Is(t, shaped.task.terms[0], walkerTerms{1, 2, 0.25}, "terms of walker 0")
}
