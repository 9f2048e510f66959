package gymnasium

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/spaces"
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
	folder := must.Get(filepath.Abs("testdata"))(t)
	for _, c := range []struct {
		task, model string
		bodies      []string
		clip        func(t *testing.T, model string) *motions.Clip
	}{
		{"Mjlab-Velocity-Flat-Unitree-Go1", "unitree_go1/xmls/go1.xml", []string{".*_calf"}, trot},
		{"Mjlab-Velocity-Flat-Unitree-G1", "unitree_g1/xmls/g1.xml", []string{".*_ankle_roll_link",
			"left_wrist_yaw_link"}, walk},
	} {
		t.Run(c.task, func(t *testing.T) {
			clip := c.clip(t, filepath.Join(robots, c.model))
			path := filepath.Join(t.TempDir(), "frames.json")
			writeFrames(t, path, clip, 2)
			e := open(t, Options{Python: python, Path: []string{folder}, Environ: []string{"GORL_TEST_FRAMES=" + path},
				Simulator: MJLab, ID: "mjlab_frames:" + c.task, NumEnvs: dogs, Seed: 5,
				Kwargs: map[string]any{"device": "cpu"}, AMPGroup: AMPGroup{Terms: everyTerm, Bodies: c.bodies}})
			envtest.Reset(t, e, 9)
			acts := make([]float32, dogs*e.Spaces().Action.Width())
			envtest.Step(t, e, acts)
			sameRows(t, envtest.Step(t, e, acts).AMPObservations, motionRows(t, e, clip, 0))
		})
	}
}

// The stand-in for Isaac Lab has another order of joints, and base_lin_vel is that of the centre of mass. Its step
// resets: the row of the step before stands for the end of an episode.
func TestSimulatorsMotionSourceEqualsIsaacLab(t *testing.T) {
	clip := must.Get(motions.Trot(0.8))(t)
	o := isaacDogs(t, clip, "Standin-Dog-v0")
	o.AMPGroup = AMPGroup{Terms: everyTerm, Bodies: []string{"FL_hip", "RR_.*"}}
	e := open(t, o)
	acts := make([]float32, dogs*12)
	envtest.Reset(t, e, 1)
	for range 2 { // episodes
		sameRows(t, envtest.Step(t, e, acts).AMPObservations, motionRows(t, e, clip, 0))
		sameRows(t, envtest.Step(t, e, acts).AMPObservations, motionRows(t, e, clip, 1))
		s := envtest.Step(t, e, acts)
		sameRows(t, s.AMPObservations, motionRows(t, e, clip, 1))
		must.Is(t, len(s.Episodes), dogs, "episodes")
	}
	source := must.Get(NewMotionSource(e, clip))(t)
	rows := must.Get(source.CollectReferenceMotions(64, rand.New(rand.NewPCG(1, 2))))(t)
	must.Not(t, e.Spaces().AMPObservation.Check(rows, 64) != nil, "%d values of reference motion", len(rows))
}

// A task may have the group by itself.
func TestSimulatorsAMPGroupOfTask(t *testing.T) {
	clip := must.Get(motions.Trot(0.8))(t)
	o := isaacDogs(t, clip, "Standin-Dog-Own-v0")
	maps.Copy(o.Kwargs, map[string]any{"observations.amp.joints.noise": 0.1,
		"observations.amp.joints.history_length": 3, "term": "last_action"})
	e := open(t, o)
	var joints []string
	for _, part := range []string{"_hip", "_calf"} { // the order of the simulator
		for _, leg := range []string{"FR", "FL", "RR", "RL"} {
			joints = append(joints, leg+part)
		}
	}
	want := &ampGroupJSON{Step: 0.02, Terms: []ampTermJSON{
		{Name: "joints", Function: "joint_pos", Width: 24, History: 3, Flat: true, Changes: []string{"noise"},
			Asset: "robot", Joints: joints},
		{Name: "height", Function: "last_action", Width: 12, Changes: []string{}, Asset: "robot"}}}
	must.Match(t, want, e.about.AMPGroup, "the group")
	must.Is(t, e.Spaces().AMPObservation.Width(), 36, "AMP observations")
	o.AMPGroup.Terms = []string{"joint_pos"}
	must.Refused(New(o))(t, "has a group 'amp' of observations already")
}

// What clips do not give is named, and bad settings are refused before Python starts.
func TestMotionSourceRefuses(t *testing.T) {
	dog := must.Get(motions.Trot(0.8))(t)
	human := must.Get(motions.Builtin("humanoid_walk"))(t)
	for _, c := range []struct {
		clip   *motions.Clip
		words  string
		change func(x []ampTermJSON, space *spaces.Space)
	}{
		{dog, "", func([]ampTermJSON, *spaces.Space) {}},
		{human, `the term "knees": the clip has no hinge "FR_calf"`, func([]ampTermJSON, *spaces.Space) {}},
		{dog, `"height": clips do not give me.up`, func(x []ampTermJSON, _ *spaces.Space) { x[1].Function = "me.up" }},
		{dog, `"height" has noise`, func(x []ampTermJSON, _ *spaces.Space) { x[1].Changes = []string{"noise"} }},
		{dog, `"height" has all moments`, func(x []ampTermJSON, _ *spaces.Space) { x[1].Flat = true }},
		{dog, "have histories of 2 and 0", func(x []ampTermJSON, _ *spaces.Space) { x[1].History = 0 }},
		{dog, "set concatenate_dim to -1", func(_ []ampTermJSON, s *spaces.Space) { *s = spaces.NewBox(-1, 1, 3, 2) }},
	} {
		g := &ampGroupJSON{Step: 0.02, Terms: []ampTermJSON{
			{Name: "knees", Function: "joint_pos_rel", Width: 2, History: 2, Asset: "robot",
				Joints: []string{"FR_calf", "RL_calf"}, Subtracted: []float64{-1.5, -1}},
			{Name: "height", Function: "base_height", Width: 1, History: 2, Asset: "robot"}}}
		e := &Env{about: description{AMPGroup: g}}
		e.set.AMPObservation = spaces.NewBox(-1, 1, 2, 3)
		c.change(g.Terms, &e.set.AMPObservation)
		if _, err := NewMotionSource(e, c.clip); c.words != "" {
			must.Refuse(t, err, c.words)
		} else {
			must.Do(t, err)
		}
	}
	must.Refused(NewMotionSource(&Env{}, dog))(t, "add the group by AMPGroup")
	terms := []string{"joint_pos"}
	for words, o := range map[string]Options{
		"no Terms":                        {AMPGroup: AMPGroup{History: 3}},
		"both set":                        {AMPGroup: AMPGroup{Terms: terms}, AMPObservations: "amp_obs"},
		"set both key_pos and its Bodies": {AMPGroup: AMPGroup{Terms: terms, Bodies: terms}},
	} {
		o.NumEnvs, o.Simulator, o.ID = 1, MJLab, "Mjlab-Cartpole-Balance"
		must.Refused(New(o))(t, words)
	}
}

// dogs is the number of environments, each in a state of its own.
const dogs = 16

// isaacDogs are options of a task of the stand-in for Isaac Lab, whose dogs are put into three states of the clip.
func isaacDogs(t *testing.T, clip *motions.Clip, id string) Options {
	t.Helper()
	python := peers.Simulators(t, "torch", "gymnasium")
	standin := must.Get(filepath.Abs("testdata/isaaclab"))(t)
	path := filepath.Join(t.TempDir(), "frames.json")
	writeFrames(t, path, clip, 3)
	return Options{Python: python, Path: []string{standin}, Environ: []string{"GORL_TEST_FRAMES=" + path},
		Simulator: IsaacLab, ID: id, NumEnvs: dogs, Kwargs: map[string]any{"device": "cpu"}}
}

// frameTime is the time in seconds of the state of an environment after some steps, over three loops of the clip.
func frameTime(clip *motions.Clip, env, step int) float64 {
	return 3*clip.Duration()*float64(env)/dogs + 0.02*float64(step)
}

// motionRows are the rows of reference motion of all environments whose first moment is after so many steps.
func motionRows(t *testing.T, e *Env, clip *motions.Clip, step int) []float32 {
	t.Helper()
	source := must.Get(NewMotionSource(e, clip))(t)
	features := must.Get(e.about.AMPGroup.features(clip.Skeleton()))(t)
	w := features.Width
	must.Not(t, source.Width() != 2*w || e.Spaces().AMPObservation.Width() != 2*w, "rows of %d and %d values, want %d",
		source.Width(), e.Spaces().AMPObservation.Width(), 2*w)
	rows := make([]float32, 2*w*dogs)
	pos, vel := make([]float64, clip.Width()), make([]float64, clip.VelocityWidth())
	for i := range 2 * dogs {
		clip.At(frameTime(clip, i/2, step+i%2), pos, vel)
		features.Write(pos, vel, rows[i*w:(i+1)*w])
	}
	return rows
}

// sameRows compares what a simulator shows of all environments with reference motion.
func sameRows(t *testing.T, got, want []float32) {
	t.Helper()
	must.Is(t, len(got), len(want), "values")
	for i, x := range want {
		must.Near(t, float64(got[i]), float64(x), 1e-4, "environment %d, value %d", i*dogs/len(want), i)
	}
}

// writeFrames writes the clip's states at so many steps for testdata/mjlab_frames.py and the stand-in for Isaac Lab.
func writeFrames(t *testing.T, path string, clip *motions.Clip, steps int) {
	t.Helper()
	var joints []string
	for _, j := range clip.Skeleton().Joints() {
		joints = append(joints, j.Name)
	}
	states := make([][][]float64, steps)
	for h := range states {
		for i := range dogs {
			pos, vel := make([]float64, clip.Width()), make([]float64, clip.VelocityWidth())
			clip.At(frameTime(clip, i, h), pos, vel)
			states[h] = append(states[h], slices.Concat(pos[:7], vel[:6], pos[7:], vel[6:]))
		}
	}
	data := must.Get(json.Marshal(map[string]any{"joints": joints, "steps": states}))(t)
	must.Do(t, os.WriteFile(path, data, 0o600))
}

// trot is a Go1 that trots in a curve.
func trot(t *testing.T, model string) *motions.Clip {
	t.Helper()
	body := must.Get(mujoco.LoadBody(model, mujoco.BodyConfig{ControlFrequency: 50, Keys: []string{".*_foot_collision"},
		Actuators:   []mujoco.ActuatorConfig{{Joints: ".*", Stiffness: 20}},
		DefaultPose: map[string]float64{".*_thigh_joint": 0.9, ".*_calf_joint": -1.8}}))(t)
	return must.Get(body.Trot(0.5, 0.2, 0.6))(t)
}

// walk is a G1 that walks as a human did.
func walk(t *testing.T, model string) *motions.Clip {
	t.Helper()
	skeleton := must.Get(mujoco.LoadSkeleton(model))(t)
	return must.Get(must.Get(motions.Builtin("humanoid_walk"))(t).Retarget(skeleton, motions.RetargetConfig{}))(t)
}
