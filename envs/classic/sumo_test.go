package classic

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// Seats that exchange their actions exchange what they see and get, bit for bit: neither has an advantage.
func TestSumoIsFair(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	touched, ended := 0, 0
	for range 200 {
		a, here, there := &Sumo{}, rowOf(&Sumo{}), rowOf(&Sumo{})
		must.Do(t, a.Reset(rng, here))
		b := &Sumo{} // with the seats exchanged
		for k := range 2 {
			b.at[k] = [2]float64{-a.at[1-k][0], -a.at[1-k][1]}
		}
		b.show(there)
		for k := range sumoSteps {
			place := here.Observation[sumoObservation:] // of the second, which pushes to the middle
			action := []float32{float32(rng.NormFloat64()), float32(rng.NormFloat64()), -place[0], -place[1]}
			_, ends, _, err := a.Step(action, here)
			_, ends2, _, err2 := b.Step(slices.Concat(action[2:], action[:2]), there)
			must.Not(t, err != nil || err2 != nil || ends != ends2, "%v, %v, %v, %v", err, err2, ends, ends2)
			must.Not(t, !slices.Equal(here.Observation[:sumoObservation], there.Observation[sumoObservation:]) ||
				!slices.Equal(here.Observation[sumoObservation:], there.Observation[:sumoObservation]) ||
				here.Seats.Rewards[0] != there.Seats.Rewards[1] || here.Seats.Rewards[1] != there.Seats.Rewards[0],
				"after %d steps the seats see %v, and with exchanged actions %v", k, here.Observation,
				there.Observation)
			if between(a.at[0], a.at[1]) < 2*sumoDisc+1e-9 {
				touched++
			}
			if ends {
				ended++
				break
			}
		}
	}
	must.Not(t, touched < 20 || ended < 20, "discs touched in %d steps, only %d contests ended", touched, ended)
}

// Forces move discs as the formulas say; who stays alone in the ring wins.
func TestSumo(t *testing.T) {
	envtest.Conform(t, 300, func(seed int64, workers int) (envs.Env, error) {
		return NewSumo(Config{NumEnvs: 3, Seed: seed, Workers: workers, MaxEpisodeSteps: 60})
	})
	out := rowOf(&Sumo{})
	s := &Sumo{at: [2][2]float64{{0.5, 0}, {-0.5, 0}}}
	advance(t, s, out, 3, 4, 0.5, 0) // (1, 1) of these counts
	v := 2 / math.Sqrt2 * 0.05
	for i, want := range []float64{s.v[0][0] - v, s.v[0][1] - v, s.at[0][0] - 0.5 - v*0.05, s.v[1][0] + 0.05,
		s.at[1][0] + 0.5 + 0.0025} {
		must.Not(t, math.Abs(want) > 1e-15, "number %d is off by %g", i, want)
	}
	for _, c := range []struct {
		at, v   [2][2]float64
		winner  float32
		ends    bool
		figures string
	}{
		{[2][2]float64{{0.99, 0}, {0, 0}}, [2][2]float64{{1, 0}}, -1, true, "won/player_1"},
		{[2][2]float64{{0, 0}, {0, -0.99}}, [2][2]float64{{}, {0, -1}}, 1, true, "won/player_0"},
		{[2][2]float64{{0, 0.99}, {0, -0.99}}, [2][2]float64{{0, 1}, {0, -1}}, 0, true, "draw"},
		{[2][2]float64{{0, 0.9}, {0, 0}}, [2][2]float64{}, 0, false, "draw"},
	} {
		s := &Sumo{at: c.at, v: c.v}
		_, ends, truncated, err := s.Step(make([]float32, 4), out)
		must.Not(t, err != nil || truncated || ends != c.ends || out.Seats.Rewards[0] != c.winner ||
			out.Seats.Rewards[1] != -c.winner || out.Seats.Terminated[1] != ends || s.EpisodeMetrics()[c.figures] != 1,
			"%+v: %t, %+v, %v, %v", c, ends, out.Seats, s.EpisodeMetrics(), err)
	}
	// A collision keeps the momentum, and takes half of the speed of approach.
	hit := &Sumo{at: [2][2]float64{{-0.2, 0}, {0.19, 0}}, v: [2][2]float64{{1, 0}, {0, 0}}}
	hit.collide()
	if p, apart := hit.v[0][0]+hit.v[1][0], hit.v[1][0]-hit.v[0][0]; math.Abs(p-1) > 1e-12 ||
		math.Abs(apart-0.5) > 1e-12 || math.Abs(between(hit.at[0], hit.at[1])-0.4) > 1e-12 {
		t.Errorf("after the collision: %+v", hit)
	}
}
