package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/motions"
)

// robotXML is a robot of eight hinges with a robot's names.
var robotXML = `<mujoco model="robot"><compiler angle="radian"/><default><joint axis="0 1 0"/>
<geom type="capsule" size=".04"/></default><worldbody><body name="pelvis" pos="0 0 .7"><freejoint/>
<geom size=".08" type="sphere"/>` + robotLeg("left", .1) + robotLeg("right", -.1) + `
<body name="torso_link" pos="0 0 .1"><joint name="waist" axis="0 0 1"/><geom fromto="0 0 .05 0 0 .3"/>
<body name="left_shoulder_link" pos="0 .2 .3"><joint name="left_shoulder"/><geom fromto="0 0 -.05 0 0 -.3"/></body>
<body name="right_shoulder_link" pos="0 -.2 .3"><joint name="right_shoulder"/>
<geom fromto="0 0 -.05 0 0 -.3"/></body></body></body></worldbody></mujoco>`

func robotLeg(side string, y float64) string {
	return strings.NewReplacer("SIDE", side, "Y", fmt.Sprint(y)).Replace(`<body name="SIDE_hip_link" pos="0 Y 0">
<joint name="SIDE_hip" range="-2 2" limited="true"/><geom fromto="0 0 -.05 0 0 -.3"/>
<body name="SIDE_knee_link" pos="0 0 -.35"><joint name="SIDE_knee" range="0 2.5" limited="true"/>
<geom fromto="0 0 -.05 0 0 -.25"/><body name="SIDE_ankle_link" pos="0 0 -.3">
<joint name="SIDE_ankle" range="-1 1" limited="true"/><geom type="box" size=".1 .04 .02" pos=".04 0 -.03"/>
</body></body></body>`)
}

// gorl retarget proposes pairs, takes corrected ones, writes a picture and files that gorl reads, and the environment
// Character retargets likewise.
func TestRetarget(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "robot.xml", robotXML)
	proposed := says(t, "retarget", "humanoid_walk", "--model", "robot.xml", "--propose")
	has(t, proposed, "left_knee_link: left_shin\n", "pelvis: pelvis\n")
	write(t, "map.yaml", strings.Replace(proposed, "left_shoulder_link: left_upper_arm\n", "", 1))
	has(t, says(t, "retarget", "humanoid_walk", "-m", "robot.xml", "--mapping", "map.yaml", "-o", "walk.npz", "--image",
		"walk.png", "--credit", "CMU"), "robot: 10 bodies, 9 joints")
	walk := get(motions.Load("walk.npz"))(t)
	shoulder, _, ok := walk.Description().Find("left_shoulder")
	if s := walk.Skeleton(); s == nil || s.Name != "robot" || !ok || walk.Frame(5)[shoulder] != 0 {
		t.Errorf("the clip's skeleton is %v, the shoulder at %g", s, walk.Frame(5)[shoulder])
	}
	has(t, text("walk.png"), "PNG")
	for _, format := range []string{"mjlab", "isaaclab", "mimickit"} {
		says(t, "retarget", "walk.npz", "-m", "robot.xml", "-o", "theirs", "--format", format, "--seconds", "2")
		same(t, "frames of "+format, 101, get(motions.Load("theirs"))(t).NumFrames())
	}
	says(t, "retarget", "theirs", "-m", "robot.xml") // a clip of the robot without names
	refuses(t, commandline.WrongUse, [][2]string{{"retarget humanoid_walk", "--model is missing"}})
	refuses(t, commandline.Failed, [][2]string{{"retarget robot.xml -m robot.xml", "not a clip"}})
	write(t, "robot.yaml", string(get(example("humanoid"))(t)))
	use(t.Context(), "train", "-c", "robot.yaml", "--timesteps", "32", "-e", "Character", "--set",
		"environment.model=robot.xml", "--set", "environment.actuators=[{joints: '.*', stiffness: 50}]", "--set",
		"environment.motions=[humanoid_walk]", "--set", "environment.num_envs=4")
	globbed(t, "runs/humanoid/checkpoints/*.json", 0)
}
