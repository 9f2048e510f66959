package classic

import (
	"encoding/json"
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
			reward, terminated, truncated, err := env.Step([]float32{want.Action}, out)
			must.Do(t, err)
			for d, v := range state() {
				must.Near(t, v, want.State[d], tolerance, "%s from %v, step %d: state %d", c.Environment, s, i, d)
			}
			for d, v := range out.Observation {
				must.Near(t, float64(v), want.Observation[d], 1e-6+tolerance,
					"%s from %v, step %d: observation %d", c.Environment, s, i, d)
			}
			// Gymnasium computes with the action in float32.
			must.Near(t, reward, want.Reward, 1e-6*math.Max(1, math.Abs(want.Reward)),
				"%s from %v, step %d: reward", c.Environment, s, i)
			must.Not(t, terminated != want.Terminated || truncated,
				"%s from %v, step %d: terminated %t, truncated %t; want %t, false", c.Environment, s, i, terminated,
				truncated, want.Terminated)
		}
		seen[c.Environment]++
	}
	must.Is(t, len(seen), 4, "environments with trajectories")
}
