//go:build cgo

package robot

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/infer/onnx"
	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
)

// trot returns the quadruped of the trained policy, and the policy with its robot.
func trot(t testing.TB) (*mujoco.Character, *infer.Policy) {
	t.Helper()
	env := must.Get(mujoco.NewQuadruped(mujoco.CharacterConfig{Task: mujoco.Command, Residual: true, HideRoot: true,
		Command: mujoco.CommandConfig{MinSpeed: 0.3, MaxSpeed: 1, Turn: 0.3, Seconds: 4}}))(t)
	t.Cleanup(func() { must.Do(t, env.Close()) })
	p := must.Get(infer.Load("../../cli/policies/quadruped.safetensors"))(t)
	return env, must.Get(p.WithRobot(must.Get(env.Robot())(t)))(t)
}

// measure returns what a robot in the state of an environment measures, and what a perfect estimator says.
func measure(env *mujoco.Character, sequence uint32) *Sensors {
	s := env.State(0)
	m := &Sensors{Sequence: sequence, Position: s.QPos[7:], Velocity: s.QVel[6:], Quaternion: [4]float64(s.QPos[3:7]),
		AngularVelocity: [3]float64(s.QVel[3:6])}
	to, _ := env.Commanded(0)
	q := rotation.Quat(m.Quaternion)
	sin, cos := math.Sincos(to.Direction - q.Heading())
	m.Command = []float64{cos, sin, to.Speed}
	m.Estimates = []float64{s.QPos[2]}
	// The body's frame is the world turned by the conjugate.
	m.Estimates = append(m.Estimates, turned(q.Conj(), [3]float64(s.QVel[:3]))...)
	level := rotation.About([3]float64{0, 0, 1}, -q.Heading())
	r, _ := env.Robot()
	for _, key := range r.Keys {
		id, _ := env.Model().ID(mujoco.Body, key)
		x := s.XPos[3*id:]
		m.Estimates = append(m.Estimates, turned(level, [3]float64{x[0] - s.QPos[0], x[1] - s.QPos[1],
			x[2] - s.QPos[2]})...)
	}
	return m
}

func turned(q rotation.Quat, v [3]float64) []float64 {
	world := q.Rotate(v)
	return world[:]
}

// The controller sees and does, from sensors, what the policy sees and does in training's environment: by all features,
// and by what a robot measures under commands that change.
func TestLikeTheEnvironment(t *testing.T) {
	env, p := trot(t)
	same(t, env, p, 5, "height", "base_lin_vel", "key_positions")
	env = must.Get(mujoco.NewQuadruped(mujoco.CharacterConfig{Task: mujoco.Velocity, Residual: true, Lead: 0.05,
		Observations: []string{"base_ang_vel", "projected_gravity", "joint_pos", "joint_vel", "actions", "phase",
			"command"},
		Velocity: mujoco.VelocityConfig{LinearX: [2]float64{-0.5, 1}, LinearY: [2]float64{-0.4, 0.4},
			AngularZ: [2]float64{-0.8, 0.8}, Seconds: 0.5}}))(t)
	defer env.Close()
	r := must.Get(env.Robot())(t)
	weights, rng := make([]float32, len(r.Joints)*r.Width()), rand.New(rand.NewPCG(3, 4))
	for i := range weights {
		weights[i] = 0.02 * float32(rng.NormFloat64())
	}
	same(t, env, linear(t, r, weights), 5)
}

// same compares a controller with an environment for 300 steps. The clip's phase is that many values from the end of an
// observation.
func same(t *testing.T, env *mujoco.Character, p *infer.Policy, phase int, estimates ...string) {
	t.Helper()
	c := must.Get(New(p, Config{Estimates: estimates, Limits: Limits{Tilt: 3, Jump: 5, Margin: 1}}))(t)
	step := must.Get(env.Reset(3))(t)
	now, action := time.Unix(0, 0), make([]float32, len(c.robot.Joints))
	begin := func() {
		must.Do(t, c.Reset())
		clock := step.Observations[len(step.Observations)-phase:]
		c.view.time = math.Atan2(float64(clock[0]), float64(clock[1])) / (2 * math.Pi) * c.robot.Reference.Duration
	}
	begin()
	for k := range 300 {
		s := measure(env, uint32(k))
		if s.Estimates = s.Estimates[:len(c.sensors.Estimates)]; len(estimates) == 0 {
			s.Command = s.Command[:0]
			for _, v := range step.Observations[len(step.Observations)-3:] {
				s.Command = append(s.Command, float64(v))
			}
		}
		c.Sense(now, s)
		targets := c.Step(now)
		if c.Fault() != nil {
			t.Fatalf("step %d: %v", k, c.Fault())
		}
		for i, x := range step.Observations {
			if d := math.Abs(float64(c.observation[i] - x)); d > 1e-6 {
				t.Fatalf("step %d, value %d: %g, the environment's is %g", k, i, c.observation[i], x)
			}
		}
		must.Do(t, p.Act(step.Observations, action))
		step = must.Get(env.Step(action))(t)
		now = now.Add(c.Period())
		if step.Terminated[0] || step.Truncated[0] {
			begin()
			continue
		}
		for i, x := range env.State(0).Ctrl {
			if d := math.Abs(targets.Position[i] - x); !(d < 1e-6) {
				t.Fatalf("step %d, joint %d: target %g, the environment's is %g", k, i, targets.Position[i], x)
			}
		}
	}
}

// A step allocates nothing.
func TestStepAllocatesNothing(t *testing.T) {
	if info, ok := debug.ReadBuildInfo(); ok &&
		slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector makes the policy's pool of scratch memory drop some on purpose")
	}
	env, p := trot(t)
	c := must.Get(New(p, Config{Estimates: []string{"height", "base_lin_vel", "key_positions"}}))(t)
	must.Get(env.Reset(3))(t)
	now, sequence, s, packet := time.Unix(0, 0), uint32(0), measure(env, 0), []byte(nil)
	if n := testing.AllocsPerRun(100, func() {
		sequence++
		s.Sequence, now = sequence, now.Add(c.Period())
		packet = AppendState(packet[:0], s)
		c.Receive(now, packet)
		packet = c.Step(now).Append(packet[:0])
	}); n > 0 || c.Fault() != nil {
		t.Errorf("%g allocations, %v", n, c.Fault())
	}
}

// MuJoCo's own Python plays an exported policy as gorl does: nobody falls, and the joints are as near to the clip.
func TestPeersSecondSimulator(t *testing.T) {
	python := peers.Python(t, "mujoco", "onnxruntime")
	env, p := trot(t)
	dir := t.TempDir()
	model, policy := filepath.Join(dir, "model.xml"), filepath.Join(dir, "policy.onnx")
	text, _ := env.MJCF()
	must.Do(t, os.WriteFile(model, []byte(text), 0o600))
	must.Do(t, onnx.WriteFile(policy, p, onnx.Options{}))
	out := peers.Run(t, python, "../../clients/python/gorl_mujoco.py", model, policy, "--episodes", "4")
	for name, limit := range map[string][2]float64{"success": {1, 1}, "joint_error": {0.02, 0.05},
		"velocity_error": {0, 0.12}} {
		_, rest, _ := strings.Cut(out, name)
		var v float64
		if _, err := fmt.Sscan(rest, &v); err != nil || v < limit[0] || v > limit[1] {
			t.Errorf("%s is %g, want %v: %v\n%s", name, v, limit, err, out)
		}
	}
}

// The Python program observes what the environment does in the same states, of a clip that travels, over several
// repetitions, and measures the same pose error.
func TestPeersTracking(t *testing.T) {
	python := peers.Python(t, "mujoco")
	env := must.Open(mujoco.NewQuadruped(mujoco.CharacterConfig{Task: mujoco.Track, Residual: true, Measure: true,
		Deviation: 100, EpisodeLength: 120}))(t)
	type row struct {
		QPos, QVel []float64
		Observed   []float32
	}
	var dump struct {
		Robot envs.Robot
		Rows  []row
		Error float64
	}
	dump.Robot = must.Get(env.Robot())(t)
	step := must.Get(env.Reset(5))(t)
	action, rng := make([]float32, len(dump.Robot.Joints)), rand.New(rand.NewPCG(1, 2))
	for len(step.Episodes) == 0 {
		s := env.State(0)
		dump.Rows = append(dump.Rows, row{slices.Clone(s.QPos), slices.Clone(s.QVel), slices.Clone(step.Observations)})
		for i := range action {
			action[i] = 0.1 * float32(rng.NormFloat64())
		}
		step = must.Get(env.Step(action))(t)
	}
	dump.Error = step.Episodes[0].Metrics["pose_error"]
	dir := t.TempDir()
	model, file := filepath.Join(dir, "model.xml"), filepath.Join(dir, "dump.json")
	text, _ := env.MJCF()
	must.Do(t, os.WriteFile(model, []byte(text), 0o600))
	must.Do(t, os.WriteFile(file, must.Get(json.Marshal(dump))(t), 0o600))
	t.Log(peers.Run(t, python, "testdata/tracking.py", "../../clients/python", model, file))
}
