package mujoco

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/motions"
)

// standing is a quadruped with a default pose, as a robot has one.
func standing() CharacterBody {
	b := QuadrupedBody()
	b.DefaultHeight = 0.3
	for range 4 {
		b.DefaultPose = append(b.DefaultPose, 0, 0.7, -1.4)
	}
	return b
}

var velocity = VelocityConfig{LinearX: [2]float64{-0.5, 1}, LinearY: [2]float64{-0.3, 0.3}, AngularZ: [2]float64{-1, 1},
	Standing: 0.2, Seconds: 0.2}

// Terms have the values of their definitions, and the state is what an environment without terms observes.
func TestObservationTerms(t *testing.T) {
	const n = 12 // hinges
	clip := marching(t, QuadrupedBody())
	of := func(terms []string) *Character {
		return characterOf(t, CharacterConfig{Body: standing(), Task: Velocity, Velocity: velocity, Clock: true,
			Motions: []*motions.Clip{clip}, Observations: terms})
	}
	terms := slices.DeleteFunc(slices.Clone(ObservationTerms), func(s string) bool { return s == "reference" })
	e, plain := of(terms), of(nil)
	step, want := envtest.Reset(t, e, 3), envtest.Reset(t, plain, 3)
	rng := rand.New(rand.NewPCG(1, 2))
	actions := make([]float32, n)
	for range 8 {
		must.Same(t, step.States, want.Observations, "the state is not the observation without terms")
		s, o := e.State(0), step.Observations
		mem, mat := e.task.memory(s), s.XMat[9:18] // the columns are the root's axes in the world
		var expected []float64
		inRoot := func(v []float64) {
			for k := range 3 {
				expected = append(expected, mat[k]*v[0]+mat[3+k]*v[1]+mat[6+k]*v[2])
			}
		}
		inRoot(s.QVel[:3])
		expected = append(expected, s.QVel[3:6]...)
		inRoot([]float64{0, 0, -1})
		for i, a := range s.QPos[7:] {
			expected = append(expected, a-e.task.cfg.Body.DefaultPose[i])
		}
		expected = append(expected, s.QVel[6:]...)
		for _, a := range actions {
			expected = append(expected, float64(a))
		}
		expected = append(expected, mem[memoryForward], mem[memoryLeftward], mem[memoryTurn])
		phase := 2 * math.Pi * mem[memoryTime] / clip.Duration()
		expected = append(expected, math.Sin(phase), math.Cos(phase), s.QPos[2])
		for i, v := range expected {
			must.Near(t, float64(o[i]), v, 2e-6*(1+math.Abs(v)), "value %d", i)
		}
		must.Same(t, o[len(expected):], step.States[:e.task.features()], "the features")
		noise(actions, 1, rng)
		step, want = envtest.Step(t, e, actions), envtest.Step(t, plain, actions)
		must.Is(t, step.Rewards[0], want.Rewards[0], "reward")
		if len(step.Episodes) > 0 {
			clear(actions) // a new episode has no last actions
		}
	}
}

// Commands are drawn from their bounds, and moving as commanded has the full reward.
func TestVelocity(t *testing.T) {
	const n = 400
	e := must.Open(NewCharacter(CharacterConfig{Body: standing(), Task: Velocity, Velocity: velocity, NumEnvs: n,
		Measure: true}))(t)
	must.Not(t, e.Spaces().AMPObservation.Width() != 0 || e.Supports(new(envs.MotionSource)), "AMP without clips")
	envtest.Reset(t, e, 1)
	still, high, low := 0, [3]float64{}, [3]float64{}
	for i := range n {
		command := e.task.memory(e.State(i))[memoryForward : memoryTurn+1]
		if command[0] == 0 && command[1] == 0 && command[2] == 0 {
			still++
		}
		for k, v := range command {
			low[k], high[k] = min(low[k], v), max(high[k], v)
		}
	}
	must.Near(t, float64(still), 0.2*n, 5*math.Sqrt(n*0.2*0.8), "of")
	for k, bound := range [][2]float64{velocity.LinearX, velocity.LinearY, velocity.AngularZ} {
		must.Not(t, low[k] < bound[0] || high[k] > bound[1] || high[k]-low[k] < 0.9*(bound[1]-bound[0]),
			"command %d is from %g to %g, want %g", k, low[k], high[k], bound)
	}
	s := e.State(0)
	mem, turn := e.task.memory(s), 0.8
	s.QPos[3], s.QPos[4], s.QPos[5], s.QPos[6] = math.Cos(turn/2), 0, 0, math.Sin(turn/2)
	sin, cos := math.Sincos(turn)
	f, l := mem[memoryForward], mem[memoryLeftward]
	copy(s.QVel, []float64{cos*f - sin*l, sin*f + cos*l, 0, 0, 0, mem[memoryTurn]})
	clear(s.ActuatorForce)
	r, _ := e.task.Reward(s)
	must.Near(t, r, 1.5, 1e-6, "as commanded the reward")
	c, _ := e.Commanded(0)
	must.Near(t, c.Speed, math.Hypot(f, l), 1e-9, "the command's speed")
	must.Near(t, math.Remainder(c.Direction-math.Atan2(s.QVel[1], s.QVel[0]), 2*math.Pi), 0, 1e-9, "its direction")
	s.QVel[2], mem[memoryChange] = 0.5, 4
	r, _ = e.task.Reward(s)
	must.Near(t, r, 1.5-0.25-0.04, 1e-6, "with penalties the reward")
	// A command from outside stays, and turns the character towards its direction.
	must.Do(t, e.SetCommand(0, turn+1, 0.6))
	for range 20 {
		envtest.Step(t, e, make([]float32, n*12))
		want := math.Remainder(turn+1-heading(s.QPos), 2*math.Pi)
		must.Not(t, s.Steps > 0 && (mem[memoryForward] != 0.6 || math.Abs(mem[memoryTurn]-max(-1, min(1,
			2*want))) > 1e-9), "step %d: the command is %g, %g", s.Steps, mem[memoryForward], mem[memoryTurn])
		if s.Steps == 0 {
			break
		}
	}
}
