package motions

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// bodiesOf returns where the bodies of a clip are in a row, by name.
func bodiesOf(c *Clip, row []float64) map[string][3]float64 {
	out := map[string][3]float64{}
	p := newPose(c.skeleton, row)
	for i, b := range c.skeleton.Bodies {
		out[b.Name] = p.position(i)
	}
	return out
}

// barefoot returns a skeleton without contacts, on which clips are not changed for standing feet.
func barefoot(s *Skeleton) *Skeleton {
	for i := range s.Bodies {
		s.Bodies[i].Contacts = nil
	}
	return s
}

// A clip is carried over to a skeleton with arms in a T-pose and ball joints, and back.
func TestRetargetAndBack(t *testing.T) {
	shod := stroll(t, 30)
	c := must.Get(shod.derive(ClipConfig{Skeleton: barefoot(HumanoidSkeleton()), Frames: framesOf(shod)}))(t)
	over := must.Get(c.Retarget(barefoot(mimicKitHumanoid()), RetargetConfig{}))(t)
	back := must.Get(over.Retarget(barefoot(HumanoidSkeleton()), RetargetConfig{}))(t)
	for k := range c.NumFrames() {
		want := bodiesOf(c, c.Frame(k))
		for _, got := range []*Clip{over, back} {
			for name, p := range bodiesOf(got, got.Frame(k)) {
				must.Near(t, norm(sub(p, want[name])), 0, 1e-3, "m that %s of frame %d is away", name, k)
			}
		}
	}
}

// robot returns a skeleton with a robot's names, short legs, a link for each hinge, elbows that are bent in the zero
// pose, links that are turned against their parents, and capsules of the shins.
func robot() *Skeleton {
	s := &Skeleton{Name: "robot"}
	add := func(name, parent string, offset [3]float64, axis int, low, high float64) *Body {
		b := Body{Name: name, Parent: s.Body(parent), Offset: offset}
		if axis >= 0 {
			j := Joint{Name: strings.Replace(name, "_link", "_joint", 1), Kind: Hinge, Lower: low, Upper: high}
			j.Axis[axis] = 1
			b.Joints = []Joint{j}
		}
		s.Bodies = append(s.Bodies, b)
		return &s.Bodies[len(s.Bodies)-1]
	}
	leg := func(side string, y float64) {
		add(side+"hip_pitch_link", "pelvis", [3]float64{0, 0.06 * y, -0.1}, 1, -2.5, 2.8)
		roll := add(side+"hip_roll_link", side+"hip_pitch_link", [3]float64{0, 0.05 * y, 0}, 0, -0.5, 0.5)
		roll.Orientation = rotation.About([3]float64{0, 1, 0}, -0.2)
		add(side+"hip_yaw_link", side+"hip_roll_link", [3]float64{0, 0, -0.1}, 2, -2.7, 2.7)
		knee := add(side+"knee_link", side+"hip_yaw_link", [3]float64{0, 0, -0.2}, 1, -0.1, 2.8)
		knee.Orientation = rotation.About([3]float64{0, 1, 0}, 0.2)
		knee.Capsules = []Capsule{{To: [3]float64{0, 0, -0.25}, Radius: 0.05}}
		add(side+"ankle_pitch_link", side+"knee_link", [3]float64{0, 0, -0.3}, 1, -0.9, 0.5)
		foot := add(side+"ankle_roll_link", side+"ankle_pitch_link", [3]float64{0, 0, -0.02}, 0, -0.3, 0.3)
		for _, at := range [][3]float64{{-0.05, 0.03, -0.03}, {-0.05, -0.03, -0.03}, {0.12, 0.03, -0.03},
			{0.12, -0.03, -0.03}} {
			foot.Contacts = append(foot.Contacts, Contact{At: at, Radius: 0.005})
		}
	}
	arm := func(side string, y float64) {
		add(side+"shoulder_pitch_link", "torso_link", [3]float64{0, 0.1 * y, 0.25}, 1, -3, 2.6)
		add(side+"shoulder_roll_link", side+"shoulder_pitch_link", [3]float64{0, 0.04 * y, 0}, 0, -2.2, 2.2)
		add(side+"shoulder_yaw_link", side+"shoulder_roll_link", [3]float64{0, 0, -0.1}, 2, -2.6, 2.6)
		add(side+"elbow_link", side+"shoulder_yaw_link", [3]float64{0.01, 0, -0.08}, 1, -1, 2.1)
		add(side+"wrist_roll_link", side+"elbow_link", [3]float64{0.2, 0, 0}, 0, -2, 2)
	}
	add("pelvis", "", [3]float64{}, -1, 0, 0)
	leg("left_", 1)
	leg("right_", -1)
	add("waist_yaw_link", "pelvis", [3]float64{}, 2, -2.6, 2.6)
	add("torso_link", "waist_yaw_link", [3]float64{0, 0, 0.05}, 1, -0.5, 0.5)
	arm("left_", 1)
	arm("right_", -1)
	return s
}

// A walk on a robot: standing feet stand, none is under the floor, joints keep their limits, shins keep apart, arms
// hang as the human's do, and the loop closes.
func TestRetargetRobot(t *testing.T) {
	walk := must.Get(Builtin("humanoid_walk"))(t)
	c := must.Get(walk.Retarget(robot(), RetargetConfig{}))(t)
	before, after := Check(walk), Check(c)
	must.Not(t, len(after.Faults) > 0 || after.Sliding > 0.6*before.Sliding || after.FeetLowest < -0.005 ||
		after.FeetHighest > 0.03, "feet slide at %.3f m/s (%.3f before), from %.4f to %.4f m, %v", after.Sliding,
		before.Sliding, after.FeetLowest, after.FeetHighest, after.Faults)
	v := newSolver(robot())
	must.Is(t, len(v.pairs), 1, "pairs of capsules")
	worst := 0.0 // of the forearms' angle to the human's
	for k := range c.NumFrames() {
		copy(v.row, c.Frame(k))
		v.move()
		gap, _, _, _ := v.gap(v.pairs[0][0], v.pairs[0][1])
		must.Not(t, gap < 0, "frame %d: shins overlap by %g m", k, -gap)
		human, machine := newPose(walk.skeleton, walk.Frame(k)), newPose(c.skeleton, c.Frame(k))
		for _, side := range []string{"left_", "right_"} {
			a := human.direction(walk.skeleton.Body(side+"lower_arm"), walk.skeleton.Body(side+"hand"))
			b := machine.direction(c.skeleton.Body(side+"elbow_link"), c.skeleton.Body(side+"wrist_roll_link"))
			worst = max(worst, math.Acos(min(1, dot(a, b))))
		}
	}
	must.Not(t, worst > 0.2, "a forearm is %g rad off", worst)
	near(t, "the loop's end", c.Frame(c.NumFrames() - 1)[2:], c.Frame(0)[2:]...)
	// A mapping of the user's counts.
	bodies := must.Get(ProposeBodies(walk.Skeleton(), robot()))(t)
	must.Not(t, len(bodies) != 14 || bodies["left_hip_yaw_link"] != "left_thigh" ||
		bodies["right_wrist_roll_link"] != "right_hand", "%v", bodies)
	delete(bodies, "left_elbow_link")
	delete(bodies, "left_wrist_roll_link")
	stiff := must.Get(walk.Retarget(robot(), RetargetConfig{Bodies: bodies}))(t)
	elbow, _, _ := stiff.description.Find("left_elbow_joint")
	for k := range stiff.NumFrames() {
		must.Near(t, stiff.Frame(k)[elbow], 0, 1e-6, "an elbow that follows nothing")
	}
}

// A BVH file of another size, in other units and with arms out, by names that the package knows.
func TestRetargetBVH(t *testing.T) {
	person := strings.ReplaceAll(`HIERARCHY
ROOT Hips { OFFSET 0 0 0 CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
JOINT Spine { OFFSET 0 10 0 ZXY
JOINT Head { OFFSET 0 60 0 ZXY End Site { OFFSET 0 20 0 } }
JOINT LeftArm { OFFSET 20 50 0 ZXY JOINT LeftForeArm { OFFSET 30 0 0 ZXY JOINT LeftHand { OFFSET 25 0 0 } } }
JOINT RightArm { OFFSET -20 50 0 ZXY JOINT RightForeArm { OFFSET -30 0 0 ZXY JOINT RightHand { OFFSET -25 0 0 } } } }
JOINT LeftUpLeg { OFFSET 10 0 0 ZXY JOINT LeftLeg { OFFSET 0 -50 0 ZXY
  JOINT LeftFoot { OFFSET 0 -50 0 ZXY End Site { OFFSET 0 -8 15 } } } }
JOINT RightUpLeg { OFFSET -10 0 0 ZXY JOINT RightLeg { OFFSET 0 -50 0 ZXY
  JOINT RightFoot { OFFSET 0 -50 0 ZXY End Site { OFFSET 0 -8 15 } } } } }
MOTION
Frames: 2
Frame Time: 0.05
`, "ZXY", "CHANNELS 3 Zrotation Xrotation Yrotation")
	frame := func(z float64, knee float64) string {
		v := make([]float64, 42)
		// hips; then Spine 6, Head 9, LeftArm 12, LeftForeArm 15, RightArm 18, RightForeArm 21, LeftUpLeg 24, LeftLeg
		// 27
		v[1], v[2] = 108, z
		v[12] = -90   // left arm down
		v[15+2] = -40 // left forearm to the front, about y before the arm hung down
		v[28] = knee  // left knee, about x
		return strings.Trim(fmt.Sprint(v), "[]") + "\n"
	}
	read := func(knee float64) (bvh, c *Clip) {
		text := person + frame(0, knee) + frame(10, knee)
		bvh = must.Get(parseBVH([]byte(text), "person", BVHConfig{Scale: 0.01}))(t)
		return bvh, must.Get(bvh.Retarget(HumanoidSkeleton(), RetargetConfig{}))(t)
	}
	bvh, c := read(70)
	at := func(name string) float64 {
		i, _, _ := c.description.Find(name)
		return c.Frame(0)[i] * 180 / math.Pi
	}
	for name, want := range map[string]float64{"left_knee": 70, "right_knee": 0, "left_shoulder_x": 0,
		"left_elbow": -40, "right_elbow": 0, "right_shoulder_x": -90, "abdomen_y": 0} {
		must.Near(t, at(name), want, 0.1, "%s", name)
	}
	scale := (.421546 + .40987 + .05) / 1.08
	must.Near(t, c.Frame(1)[0]-c.Frame(0)[0], 0.1*scale, 1e-9, "travels")
	h, _ := bodyHeights(c)
	must.Near(t, h[0], 0, 1e-6, "height of the feet")
	// A knee that bends forwards is held straight, and the report says so.
	bvh, c = read(-30)
	must.Not(t, at("left_knee") != 0 || !strings.Contains(fmt.Sprint(c.Repairs()), "1 joints were held"), "%g°, %q",
		at("left_knee"), c.Repairs())
	for want, bodies := range map[string]map[string]string{
		"head follows Nose, but the source person has no such body": {"pelvis": "Hips", "head": "Nose"},
		"the target's root pelvis follows no body":                  {"head": "Head"},
	} {
		must.Refused(bvh.Retarget(HumanoidSkeleton(), RetargetConfig{Bodies: bodies}))(t, "motions: person: ", want)
	}
	dog := must.Get(Trot(0))(t)
	must.Refused(dog.Retarget(HumanoidSkeleton(), RetargetConfig{}))(t, "motions: trot: ", "right_upper_arm")
}

// A skeleton whose zero pose lies flat, as LAFAN1's do, needs a rest pose, and with one is carried over as any other.
func TestRetargetNeedsARestPose(t *testing.T) {
	shod := stroll(t, 20)
	human := must.Get(shod.derive(ClipConfig{Skeleton: barefoot(HumanoidSkeleton()), Frames: framesOf(shod)}))(t)
	flat := human.Skeleton()
	flat.Name = "flat"
	by := rotation.About([3]float64{0, 1, 0}, math.Pi/2) // the zero pose of the root lies on its face
	for i := range flat.Bodies {
		flat.Bodies[i].Offset = by.Rotate(flat.Bodies[i].Offset)
		if n := len(flat.Bodies[i].Joints); n > 0 {
			flat.Bodies[i].Joints = []Joint{{Name: flat.Bodies[i].Name, Kind: Rotation}}
		}
	}
	rest := flat.zero()
	up := by.Conj()
	standing := rotation.About([3]float64{0, 0, 1}, 0.7).Mul(up) // it may look anywhere
	copy(rest[3:], standing[:])
	var rows [][]float64
	for k := range human.NumFrames() {
		f := human.Frame(k)
		root := rotation.Of(f[3:]).Mul(up)
		row := append(append([]float64{}, f[:3]...), root[:]...)
		at := 7
		for _, b := range human.Skeleton().Bodies {
			if n := len(b.Joints); n > 0 {
				q := by.Mul(b.rotation(f[at:])).Mul(up)
				row = append(row, q[:]...)
				at += n
			}
		}
		rows = append(rows, row)
	}
	c := must.Get(NewClip(ClipConfig{Name: "flat", Skeleton: flat, Frames: rows, Durations: durationsOf(human)}))(t)
	must.Refused(c.Retarget(HumanoidSkeleton(), RetargetConfig{}))(t, "motions: flat: ", "head")
	back := must.Get(c.Retarget(barefoot(HumanoidSkeleton()), RetargetConfig{Rest: rest}))(t)
	for k := range back.NumFrames() { // the clip may be put on the floor anew
		for i, x := range back.Frame(k)[7:] {
			must.Near(t, x, human.Frame(k)[7+i], 5e-3, "frame %d, joint %d", k, i)
		}
	}
}

// The names of several archives' skeletons are known.
func TestPairBodies(t *testing.T) {
	must.Is(t, plainName("mixamorig:UpperLeg_L"), "leftupperleg", "plain name")
	parts := strings.Fields("pelvis torso head right_upper_arm right_lower_arm right_hand right_thigh right_shin " +
		"right_foot")
	mirror := strings.NewReplacer("Right", "Left", "right", "left", "_R", "_L")
	for _, names := range []string{
		"Hips Spine2 Head RightArm RightForeArm RightHand RightUpLeg RightLeg RightFoot",             // LAFAN1
		"Hips Chest4 Head RightShoulder RightElbow RightWrist RightHip RightKnee RightAnkle",         // 100STYLE
		"pelvis spine3 head right_shoulder right_elbow right_wrist right_hip right_knee right_ankle", // SMPL
		"Hips Chest Head UpperArm_R LowerArm_R Hand_R UpperLeg_R LowerLeg_R Foot_R",                  // Bandai Namco
	} {
		source, right := &Skeleton{Name: "source"}, strings.Fields(names)
		for _, name := range append(right, strings.Fields(mirror.Replace(strings.Join(right[3:], " ")))...) {
			source.Bodies = append(source.Bodies, Body{Name: name})
		}
		got := must.Get(ProposeBodies(source, HumanoidSkeleton()))(t)
		must.Is(t, len(got), 15, "%s: %v", names, got)
		for i, part := range parts {
			must.Is(t, got[part], right[i], "%s", part)
		}
	}
}
