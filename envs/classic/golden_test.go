package classic

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// golden is testdata/gymnasium.json: what Gymnasium did from given states with given actions.
type golden struct {
	Cases []struct {
		Environment string
		Start       []float64
		Steps       []struct {
			Action      float32
			State       []float64
			Observation []float64
			Reward      float64
			Terminated  bool
		}
	}
}

func TestGoldenGymnasium(t *testing.T) {
	var g golden
	must.Do(t, json.Unmarshal(must.Read(t, "testdata/gymnasium.json"), &g))
	seen := map[string]int{}
	for _, c := range g.Cases {
		var env envs.Single
		var state func() []float64
		tolerance := 1e-9
		s := c.Start
		switch c.Environment {
		case "CartPole-v1":
			e := &CartPole{s[0], s[1], s[2], s[3]}
			env, state = e, func() []float64 { return []float64{e.x, e.v, e.theta, e.omega} }
		case "Pendulum-v1":
			e := &Pendulum{s[0], s[1]}
			env, state = e, func() []float64 { return []float64{e.theta, e.omega} }
		case "Acrobot-v1":
			e := &Acrobot{acrobotState(s)}
			env, state = e, func() []float64 { return e.state[:] }
		case "MountainCarContinuous-v0":
			// Gymnasium keeps this one's state in float32.
			e := &MountainCar{x: s[0], v: s[1]}
			env, state, tolerance = e, func() []float64 { return []float64{e.x, e.v} }, 1e-5
		default:
			t.Fatalf("unknown environment %q", c.Environment)
		}
		out := envs.Row{Observation: make([]float32, env.Spaces().Observation.Width())}
		for i, want := range c.Steps {
			at := fmt.Sprintf("%s from %v, step %d", c.Environment, s, i)
			reward, terminated := advance(t, env, out, want.Action)
			for d, v := range state() {
				must.Near(t, v, want.State[d], tolerance, "%s: state %d", at, d)
			}
			for d, v := range out.Observation {
				must.Near(t, float64(v), want.Observation[d], 1e-6+tolerance, "%s: observation %d", at, d)
			}
			// Gymnasium computes with the action in float32.
			must.Near(t, reward, want.Reward, 1e-6*math.Max(1, math.Abs(want.Reward)), "%s: reward", at)
			must.Is(t, terminated, want.Terminated, "%s: terminated", at)
		}
		seen[c.Environment]++
	}
	must.Is(t, len(seen), 4, "environments with trajectories")
}
