package mujoco_test

import (
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/spaces"
)

// Sixty-four walkers, stepped on all cores.
func ExampleNewWalker() {
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 64, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.NumEnvs(), env.Spaces().Observation, env.Spaces().Action, env.Spaces().AMPObservation)
	// Output: 64 Box(17) Box(6) Box(34)
}

// swing is a task in a model of one's own: keep a pendulum moving.
type swing struct{}

func (swing) Init(m *mujoco.Model) (mujoco.Spec, error) {
	return mujoco.Spec{Name: "swing", Spaces: spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1,
		1)}}, nil
}

func (swing) Reset(s *mujoco.State, rng *rand.Rand) { s.QPos[0] = math.Pi * (2*rng.Float64() - 1) }

func (swing) Act(s *mujoco.State, action []float32) { s.Ctrl[0] = float64(action[0]) }

func (swing) Reward(s *mujoco.State) (float64, bool) { return math.Abs(s.QVel[0]), false }

func (swing) Observe(s *mujoco.State, out envs.Row) {
	sin, cos := math.Sincos(s.QPos[0])
	out.Observation[0], out.Observation[1], out.Observation[2] = float32(sin), float32(cos), float32(s.QVel[0])
}

// A model of one's own with a task written in Go.
func ExampleNew() {
	const pendulum = `<mujoco><worldbody><body pos="0 0 1">
	  <joint name="pivot" type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.5" size=".03"/>
	</body></worldbody><actuator><motor joint="pivot"/></actuator></mujoco>`
	env, err := mujoco.New(mujoco.Config{XML: pendulum, NumEnvs: 4, Substeps: 5, EpisodeLength: 100}, swing{})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	if _, err := env.Reset(1); err != nil {
		log.Fatal(err)
	}
	step, err := env.Step([]float32{1, 1, -1, -1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(step.Observations), step.Terminated)
	// Output: 12 [false false false false]
}

// A character of one's own: a model whose root is free, with a hinge and a position actuator for each joint.
func ExampleNewCharacter() {
	body := mujoco.QuadrupedBody()
	body.XML = strings.ReplaceAll(body.XML, `damping="2"`, `damping="3"`)
	clip, err := motions.Trot(0.5)
	if err != nil {
		log.Fatal(err)
	}
	env, err := mujoco.NewCharacter(mujoco.CharacterConfig{Body: body, Motions: []*motions.Clip{clip}})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.Model().NU(), "motors,", env.Model().NumBodies()-1, "bodies")
	// Output: 12 motors, 17 bodies
}

// temporary writes a file into the folder for temporary files and returns its path.
func temporary(name, text string) string {
	path := filepath.Join(os.TempDir(), fmt.Sprint(os.Getpid(), "-", name))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
	return path
}

// A character from an MJCF file: joints and feet are named by regular expressions, and actions are targets of position
// control.
func ExampleLoadBody() {
	robot := temporary("robot.xml", mujoco.QuadrupedBody().XML) // stands for a file of your own
	defer os.Remove(robot)
	body, err := mujoco.LoadBody(robot, mujoco.BodyConfig{
		Actuators:   []mujoco.ActuatorConfig{{Joints: ".*", Stiffness: 80, Damping: 2, EffortLimit: 40}},
		DefaultPose: map[string]float64{".*_thigh": 0.9, ".*_calf": -1.8},
		Feet:        []string{"[FR][LR]_foot"}, ControlFrequency: 30,
	})
	if err != nil {
		log.Fatal(err)
	}
	env, err := mujoco.NewCharacter(mujoco.CharacterConfig{Body: body, NumEnvs: 4, Task: mujoco.Velocity,
		Velocity: mujoco.VelocityConfig{LinearX: [2]float64{-0.5, 1}}})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.Model().NU(), "motors, feet", body.Feet)
	// Output: 12 motors, feet [FR_foot FL_foot RR_foot RL_foot]
}

// A clip of another body is carried over to the model of a file.
func ExampleLoadSkeleton() {
	robot := temporary("robot.xml", mujoco.HumanoidBody().XML) // stands for a file of your own
	defer os.Remove(robot)
	skeleton, err := mujoco.LoadSkeleton(robot)
	if err != nil {
		log.Fatal(err)
	}
	walk, err := motions.Builtin("humanoid_walk")
	if err != nil {
		log.Fatal(err)
	}
	human, err := motions.Humanoid(walk)
	if err != nil {
		log.Fatal(err)
	}
	clip, err := human.Retarget(skeleton, motions.RetargetConfig{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(clip.NumFrames(), "frames of", clip.Width(), "positions,", len(motions.Check(clip).Faults), "faults")
	// Output: 32 frames of 35 positions, 0 faults
}

// Humanoids that track a walk: small actions are added to its poses.
func ExampleNewHumanoid() {
	env, err := mujoco.NewHumanoid(mujoco.CharacterConfig{NumEnvs: 16, Seed: 1, Task: mujoco.Track, Residual: true})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.Spaces().Observation, env.Spaces().Action, env.Spaces().AMPObservation)
	// Output: Box(88) Box(28) Box(162)
}

// Quadrupeds are told every four seconds where to go and how fast.
func ExampleNewQuadruped() {
	env, err := mujoco.NewQuadruped(mujoco.CharacterConfig{NumEnvs: 16, Seed: 1, Task: mujoco.Command,
		Command: mujoco.CommandConfig{MinSpeed: 0.3, MaxSpeed: 1, Turn: 0.5, Seconds: 4}})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(len(env.Motions()), "clips, the first a", env.Motions()[0].Name())
	// Output: 3 clips, the first a trot
}
