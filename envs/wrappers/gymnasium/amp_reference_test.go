package gymnasium

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/motions"
)

// everyTerm are all terms of an AMPGroup.
var everyTerm = []string{"joint_pos", "joint_vel", "base_height", "projected_gravity", "base_lin_vel", "base_ang_vel",
	"key_pos"}

// mjlab puts its robots into states of a clip. What its group of observations then shows is what reference motion has
// at that time, for every term and moment.
func TestSimulatorsMotionSourceEqualsMJLab(t *testing.T) {
	python := peers.Simulators(t, "mjlab", "gymnasium")
	robots := strings.TrimSpace(peers.Run(t, python, "-c", "import os.path, mjlab; print(os.path.join(os.path.dirname("+
		"mjlab.__file__), 'asset_zoo', 'robots'))"))
	folder, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		task, model string
		bodies      []string
		clip        func(t *testing.T, model string) (*motions.Clip, error)
	}{
		{"Mjlab-Velocity-Flat-Unitree-Go1", "unitree_go1/xmls/go1.xml", []string{".*_calf"}, trot},
		{"Mjlab-Velocity-Flat-Unitree-G1", "unitree_g1/xmls/g1.xml", []string{".*_ankle_roll_link",
			"left_wrist_yaw_link"}, walk},
	} {
		t.Run(c.task, func(t *testing.T) {
			clip, err := c.clip(t, filepath.Join(robots, c.model))
			if err != nil {
				t.Fatal(err)
			}
			const n, dt = 16, 0.02
			times := make([]float64, n)
			for i := range times {
				times[i] = 3 * clip.Duration() * float64(i) / n // over three loops of a clip that wraps
			}
			path := filepath.Join(t.TempDir(), "frames.json")
			writeFrames(t, path, clip, times, dt)
			e := open(t, Options{Python: python, Path: []string{folder}, Environ: []string{"GORL_TEST_FRAMES=" + path},
				Simulator: MJLab, ID: "mjlab_frames:" + c.task, NumEnvs: n, Seed: 5, Kwargs: map[string]any{"device": "cpu"},
				AMPGroup: AMPGroup{Terms: everyTerm, Bodies: c.bodies}})
			source, err := NewMotionSource(e, clip)
			if err != nil {
				t.Fatal(err)
			}
			features, err := e.about.AMPGroup.features(clip.Skeleton())
			if err != nil {
				t.Fatal(err)
			}
			width := features.Width
			if source.Width() != 2*width || e.Spaces().AMPObservation.Width() != 2*width {
				t.Fatalf("rows of %d and %d values, want %d", source.Width(), e.Spaces().AMPObservation.Width(), 2*width)
			}
			envtest.Reset(t, e, 9)
			acts := make([]float32, n*e.Spaces().Action.Width())
			envtest.Step(t, e, acts)
			got := envtest.Step(t, e, acts).AMPObservations
			pos, vel, want := make([]float64, clip.Width()), make([]float64, clip.VelocityWidth()), make([]float32, width)
			worst := 0.0
			for i, at := range times {
				for h := range 2 {
					clip.At(at+float64(h)*dt, pos, vel)
					features.Write(pos, vel, want)
					for j, x := range want {
						y := got[(2*i+h)*width+j]
						worst = max(worst, math.Abs(float64(x-y)))
						if !(math.Abs(float64(x-y)) < 1e-4) {
							t.Fatalf("time %g, moment %d, value %d of %d: mjlab has %g, reference motion %g", at, h, j, width,
								y, x)
						}
					}
				}
			}
			t.Logf("%d rows of %d values, greatest difference %.2g", n, 2*width, worst)
		})
	}
}

// writeFrames writes the clip's states at the times, and again a step later, for testdata/mjlab_frames.py.
func writeFrames(t *testing.T, path string, clip *motions.Clip, times []float64, dt float64) {
	t.Helper()
	var joints []string
	for _, j := range clip.Skeleton().Joints() {
		joints = append(joints, j.Name)
	}
	steps := make([][][]float64, 2)
	for h := range steps {
		for _, at := range times {
			pos, vel := make([]float64, clip.Width()), make([]float64, clip.VelocityWidth())
			clip.At(at+float64(h)*dt, pos, vel)
			steps[h] = append(steps[h], slices.Concat(pos[:7], vel[:6], pos[7:], vel[6:]))
		}
	}
	data, err := json.Marshal(map[string]any{"joints": joints, "steps": steps})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// trot is a Go1 that trots in a curve.
func trot(t *testing.T, model string) (*motions.Clip, error) {
	t.Helper()
	body, err := mujoco.LoadBody(model, mujoco.BodyConfig{ControlFrequency: 50, Keys: []string{".*_foot_collision"},
		Actuators:   []mujoco.ActuatorConfig{{Joints: ".*", Stiffness: 20}},
		DefaultPose: map[string]float64{".*_thigh_joint": 0.9, ".*_calf_joint": -1.8}})
	if err != nil {
		return nil, err
	}
	return body.Trot(0.5, 0.2, 0.6)
}

// walk is a G1 that walks as a human did.
func walk(t *testing.T, model string) (*motions.Clip, error) {
	t.Helper()
	skeleton, err := mujoco.LoadSkeleton(model)
	if err != nil {
		return nil, err
	}
	human, err := motions.Builtin("humanoid_walk")
	if err != nil {
		return nil, err
	}
	return human.Retarget(skeleton, motions.RetargetConfig{})
}
