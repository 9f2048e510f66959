package classic

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// Positions, rewards and states are those of mpe2's simple_spread_v3 (testdata/spread.py).
func TestSpreadGolden(t *testing.T) {
	type points = [spreadAgents][2]float64
	var golden struct {
		Episodes []struct {
			Agents, Landmarks points
			Steps             []struct {
				Actions []float32
				Rewards []float64
				Agents  points
				State   []float64
			}
		}
	}
	must.Do(t, json.Unmarshal(must.Read(t, "testdata/spread.json"), &golden))
	near := func(a, b, within float64) bool { return math.Abs(a-b) <= within }
	touched, states := 0, 0
	for e, episode := range golden.Episodes {
		s, out := &Spread{at: episode.Agents, landmarks: episode.Landmarks}, rowOf(&Spread{})
		for k, want := range episode.Steps {
			reward, terminated := advance(t, s, out, want.Actions...)
			must.Is(t, terminated, false, "terminated")
			sum := 0.0
			for i, at := range s.at {
				sum += want.Rewards[i]
				must.Not(t, !near(at[0], want.Agents[i][0], 1e-9) || !near(at[1], want.Agents[i][1], 1e-9) ||
					!near(float64(out.Seats.Rewards[i]), want.Rewards[i], 1e-6),
					"episode %d, step %d: agent %d is at %v with the reward %g; want %v and %g", e, k, i, at,
					out.Seats.Rewards[i], want.Agents[i], want.Rewards[i])
			}
			must.Not(t, !near(reward, sum, 1e-9), "episode %d, step %d: the reward is %g, want %g", e, k, reward, sum)
			if slices.Max(want.Rewards)-slices.Min(want.Rewards) > 0.1 {
				touched++
			}
			for i, x := range want.State {
				if states++; !near(float64(out.State[i]), x, 1e-5) || out.Observation[i] != out.State[i] {
					t.Fatalf("episode %d, step %d: state %d is %g, want %g", e, k, i, out.State[i], x)
				}
			}
		}
	}
	must.Not(t, touched < 2 || states < 3*54, "agents touched in %d steps, %d numbers were compared", touched, states)
}

// A batch keeps to the contract, ends after 25 steps, and counts covered landmarks.
func TestSpread(t *testing.T) {
	envtest.Conform(t, 80, func(seed int64, workers int) (envs.Env, error) {
		return NewSpread(Config{NumEnvs: 3, Seed: seed, Workers: workers})
	})
	env := must.Open(NewSpread(Config{}))(t)
	s := envtest.Reset(t, env, 1)
	for range 25 {
		s = envtest.Step(t, env, []float32{0, 0, 0})
	}
	must.Not(t, !s.Truncated[0] || slices.Contains(s.Seats.Truncated, false) || s.Episodes[0].Length != 25,
		"after 25 steps: %v, %v, %v", s.Truncated, s.Seats.Truncated, s.Episodes)
	// Two agents at one place have no direction to push each other in.
	at := [spreadAgents][2]float64{{0.5, 0.5}, {0.5, 0.5}, {-1, 0}}
	covered := &Spread{at: at, landmarks: [spreadAgents][2]float64{{0.55, 0.5}, {-1, 0.2}, {-1, 0.05}}}
	out := rowOf(covered)
	advance(t, covered, out, 0, 0, 0)
	must.Is(t, covered.at, at, "agents")
	must.Is(t, covered.EpisodeMetrics()["covered"], 2, "landmarks covered")
	must.Near(t, float64(out.Seats.Rewards[0]-out.Seats.Rewards[2]), -.5, 1e-6, "difference of rewards")
}
