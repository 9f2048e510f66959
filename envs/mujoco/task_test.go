package mujoco

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// balance keeps a pole upright: a task as a user would write it.
type balance struct{}

func (balance) Init(m *Model) (Spec, error) {
	if _, _, err := m.JointAddress("hinge"); err != nil {
		return Spec{}, err
	}
	return Spec{Name: "balance", Spaces: spaces.Set{Observation: spaces.Unbounded(4), State: spaces.Unbounded(3),
		Action: spaces.NewBox(-1, 1, 1)}}, nil
}

func (balance) Reset(s *State, rng *rand.Rand) { s.QPos[1] = 0.1 * (2*rng.Float64() - 1) }

func (balance) Act(s *State, action []float32) { s.Ctrl[0] = float64(action[0]) }

func (balance) Reward(s *State) (float64, bool) {
	return math.Cos(s.QPos[1]), math.Abs(s.QPos[1]) > 0.5
}

func (balance) Observe(s *State, out envs.Row) {
	for i := range 2 {
		out.Observation[i], out.Observation[2+i] = float32(s.QPos[i]), float32(s.QVel[i])
	}
	out.State[0], out.State[1], out.State[2] = float32(s.XPos[6]), float32(s.SensorData[0]), float32(s.SensorData[1])
}

func TestUsersTask(t *testing.T) {
	e := must.Open(New(Config{XML: cartPoleXML, NumEnvs: 6, Substeps: 2, Seed: 1, EpisodeLength: 100}, balance{}))(t)
	must.Do(t, envs.Check(e, 300, 1))
	_, source := envs.As[envs.MotionSource](e)
	must.Is(t, source, false, "a task without reference motion is a source of it")
	must.Is(t, e.State(0).TimeStep, 0.02, "a control step")
	s := envtest.Reset(t, e, 3)
	// A controller that pushes under the pole keeps it up; doing nothing lets it fall.
	actions, falls := make([]float32, 6), 0
	for range 99 {
		for i := range 6 {
			o := s.Observations[4*i : 4*i+4]
			must.Near(t, float64(o[0]-s.States[3*i]), 0, 1e-6, "the cart's body from its joint")
			must.Not(t, o[1] != s.States[3*i+1] || o[2] != s.States[3*i+2], "sensors lag behind the state")
			actions[i] = max(-1, min(1, 12*o[1]+2*o[3]+0.3*o[0]+0.5*o[2]))
		}
		s = envtest.Step(t, e, actions)
		falls += len(s.Episodes)
	}
	must.Is(t, falls, 0, "poles fell from the controller")
	must.Is(t, must.Get(e.Render(2))(t).Bounds().Dx(), 480, "width")
}
