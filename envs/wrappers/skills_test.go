package wrappers_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/must"
)

func skills(t testing.TB, seed int64) *wrappers.Skills {
	t.Helper()
	return must.Get(wrappers.NewSkills(probes(t, 5, wrappers.ParallelOptions{Seed: seed}, nil),
		wrappers.SkillsOptions{Size: 3, MinSteps: 2, MaxSteps: 4, Seed: seed}))(t)
}

// The latent stands behind observations and states, has length 1, is held for two to four steps, changes where an
// episode ends, and is that of the episode in final observations. All else is the environment's.
func TestSkills(t *testing.T) {
	env, plain := skills(t, 1), probes(t, 5, wrappers.ParallelOptions{Seed: 1}, nil)
	must.Do(t, envs.Check(skills(t, 1), 60, 2))
	var held [5]int
	var times []int
	var last []float32
	for k := range 400 {
		var s, in *envs.Step
		if k == 0 {
			s, in = must.Get(env.Reset(7))(t), must.Get(plain.Reset(7))(t)
		} else {
			s, in = must.Get(env.Step(make([]float32, 10)))(t), must.Get(plain.Step(make([]float32, 10)))(t)
		}
		now := env.Latents()
		for i := range 5 {
			z := now[3*i : 3*i+3]
			must.Same(t, s.Observations[6*i:6*i+6], slices.Concat(in.Observations[3*i:3*i+3], z), "step %d: shown", k)
			must.Same(t, s.States[4*i:4*i+4], append([]float32{in.States[i]}, z...), "step %d: state", k)
			must.Near(t, math.Hypot(math.Hypot(float64(z[0]), float64(z[1])), float64(z[2])), 1, 1e-5, "length")
			if k == 0 {
				continue
			}
			held[i]++
			before := last[3*i : 3*i+3]
			changed := !slices.Equal(z, before)
			if s.Ended(i) {
				must.Same(t, s.FinalObservations[6*i:6*i+6], slices.Concat(in.FinalObservations[3*i:3*i+3], before),
					"step %d: the final observation", k)
				must.Is(t, changed, true, "step %d: the latent changes", k)
			} else if changed {
				times = append(times, held[i])
			}
			if changed {
				held[i] = 0
			}
		}
		last = slices.Clone(now)
	}
	must.Is(t, slices.Min(times), 2, "the fewest steps of a latent")
	must.Is(t, slices.Max(times), 4, "the most steps of a latent")
}

// Latents are uniform on the sphere: their mean is 0, and that of the square of each coordinate 1/3.
func TestSkillsAreUniform(t *testing.T) {
	env := skills(t, 3)
	must.Get(env.Reset(3))(t)
	const steps = 4000
	var mean, square [3]float64
	for range steps {
		must.Get(env.Step(make([]float32, 10)))(t)
		for i, z := range env.Latents() {
			mean[i%3] += float64(z) / (5 * steps)
			square[i%3] += float64(z) * float64(z) / (5 * steps)
		}
	}
	for j := range 3 {
		must.Near(t, mean[j], 0, 0.03, "mean of coordinate %d", j)
		must.Near(t, square[j], 1.0/3, 0.03, "mean square of coordinate %d", j)
	}
}

// With a source latents are its points, each of them at some time, also where the points change. A source that gives
// anything else is an error, and without one they are anywhere again.
func TestSkillsSource(t *testing.T) {
	env := skills(t, 1)
	points := []float32{1, 0, 0, 0, 0.6, 0.8}
	env.SetSource(func() ([]float32, error) { return points, nil })
	must.Get(env.Reset(5))(t)
	count := func() map[[3]float32]int {
		seen := map[[3]float32]int{}
		for range 50 {
			must.Get(env.Step(make([]float32, 10)))(t)
			for i := range 5 {
				seen[[3]float32(env.Latents()[3*i:])]++
			}
		}
		return seen
	}
	if seen := count(); len(seen) != 2 || seen[[3]float32{1, 0, 0}] < 50 || seen[[3]float32{0, 0.6, 0.8}] < 50 {
		t.Errorf("latents were %v", seen)
	}
	points = []float32{0, 1, 0}
	count() // holds what was drawn before for a while
	if seen := count(); len(seen) != 1 || seen[[3]float32{0, 1, 0}] == 0 {
		t.Errorf("after a change latents were %v", seen)
	}
	for want, bad := range map[string][]float32{"gave 0 values": nil, "gave 4 values": make([]float32, 4),
		"point of length": {1, 1, 0}} {
		env.SetSource(func() ([]float32, error) { return bad, nil })
		must.Refused(env.Reset(1))(t, want)
	}
	env.SetSource(func() ([]float32, error) { return nil, errors.New("no encoder") })
	must.Refused(env.Reset(1))(t, "no encoder")
	env.SetSource(nil)
	must.Get(env.Reset(5))(t)
	must.Not(t, len(count()) < 20, "without a source latents are points")
}
