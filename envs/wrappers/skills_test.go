package wrappers_test

import (
	"errors"
	"maps"
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
	must.Same(t, env.Spaces().Observation.Low, []float32{-inf, -inf, -inf, -1, -1, -1}, "limits")
	latents := func(rows []float32, width int) (out [][]float32) {
		for i := range 5 {
			row := rows[i*(width+3):][:width+3]
			out = append(out, slices.Clone(row[width:]))
		}
		return out
	}
	var held [5]int
	var times []int
	var last [][]float32
	for k := range 400 {
		var s, in *envs.Step
		if k == 0 {
			s, in = must.Get(env.Reset(7))(t), must.Get(plain.Reset(7))(t)
		} else {
			s, in = must.Get(env.Step(make([]float32, 10)))(t), must.Get(plain.Step(make([]float32, 10)))(t)
		}
		now := latents(s.Observations, 3)
		for i, z := range now {
			must.Same(t, s.Observations[i*6:][:3], in.Observations[i*3:][:3], "step %d: environment %d shows", k, i)
			if states := latents(s.States, 1); !slices.Equal(states[i], z) || s.States[i*4] != in.States[i] {
				t.Fatalf("step %d: the state of environment %d is %v", k, i, s.States[i*4:][:4])
			}
			sum := 0.0
			for _, x := range z {
				sum += float64(x) * float64(x)
			}
			must.Near(t, sum, 1, 1e-5, "the latent %v has length %g", z, math.Sqrt(sum))
			if k == 0 {
				continue
			}
			held[i]++
			changed := !slices.Equal(z, last[i])
			if s.Ended(i) {
				if final := latents(s.FinalObservations, 3); !changed || !slices.Equal(final[i], last[i]) {
					t.Fatalf("step %d: an episode that had %v ended with %v, the next begins with %v", k, last[i],
						final[i], z)
				}
				must.Same(t, s.FinalObservations[i*6:][:3], in.FinalObservations[i*3:][:3],
					"step %d: another final observation", k)
				held[i] = 0
			} else if changed {
				times = append(times, held[i])
				held[i] = 0
			}
		}
		last = now
	}
	if slices.Min(times) != 2 || slices.Max(times) != 4 {
		t.Errorf("latents were held for %d to %d steps, want 2 to 4", slices.Min(times), slices.Max(times))
	}
}

// Latents are uniform on the sphere: their mean is 0, and that of the square of each coordinate 1/3.
func TestSkillsAreUniform(t *testing.T) {
	env := skills(t, 3)
	must.Get(env.Reset(3))(t)
	var mean, square [3]float64
	const steps = 4000
	for range steps {
		must.Get(env.Step(make([]float32, 10)))(t)
		for i, z := range env.Latents() {
			mean[i%3] += float64(z) / (5 * steps)
			square[i%3] += float64(z) * float64(z) / (5 * steps)
		}
	}
	for j := range 3 {
		if math.Abs(mean[j]) > 0.03 || math.Abs(square[j]-1.0/3) > 0.03 {
			t.Errorf("coordinate %d has mean %.3f and mean square %.3f, want 0 and 0.333", j, mean[j], square[j])
		}
	}
}

// With a source latents are its points, each of them at some time, also where the points change; states are saved and
// restored with them. A source that gives anything else is an error, and without one they are anywhere again.
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
	state := must.Get(env.MarshalState())(t)
	want := count()
	must.Do(t, env.RestoreState(state))
	if got := count(); !maps.Equal(got, want) {
		t.Errorf("behind a restored state latents were %v, want %v", got, want)
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
	if seen := count(); len(seen) < 20 {
		t.Errorf("without a source latents were %v", seen)
	}
}
