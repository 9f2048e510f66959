package motions

import (
	"fmt"
	"math"
	"strings"
	"testing"
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

// A clip is carried over to a skeleton with arms in a T-pose and ball joints, and back.
func TestRetargetAndBack(t *testing.T) {
	c := stroll(t, 30)
	over, err := c.Retarget(mimicKitHumanoid(), RetargetConfig{})
	must(t, err)
	for k := range c.NumFrames() {
		want := bodiesOf(c, c.Frame(k))
		for name, p := range bodiesOf(over, over.Frame(k)) {
			w := want[name]
			near(t, fmt.Sprintf("%s of frame %d", name, k), p[:], w[:]...)
		}
	}
	back, err := over.Retarget(HumanoidSkeleton(), RetargetConfig{})
	must(t, err)
	sameMotion(t, back, c, 1e-6)
}

// A BVH file of another size, in other units and with arms out, by names that the package knows.
func TestRetargetBVH(t *testing.T) {
	person := `HIERARCHY
ROOT Hips { OFFSET 0 0 0 CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
JOINT Spine { OFFSET 0 10 0 CHANNELS 3 Zrotation Xrotation Yrotation
JOINT Head { OFFSET 0 60 0 CHANNELS 3 Zrotation Xrotation Yrotation End Site { OFFSET 0 20 0 } }
JOINT LeftArm { OFFSET 20 50 0 CHANNELS 3 Zrotation Xrotation Yrotation JOINT LeftForeArm { OFFSET 30 0 0 CHANNELS 3 Zrotation Xrotation Yrotation JOINT LeftHand { OFFSET 25 0 0 } } }
JOINT RightArm { OFFSET -20 50 0 CHANNELS 3 Zrotation Xrotation Yrotation JOINT RightForeArm { OFFSET -30 0 0 CHANNELS 3 Zrotation Xrotation Yrotation JOINT RightHand { OFFSET -25 0 0 } } } }
JOINT LeftUpLeg { OFFSET 10 0 0 CHANNELS 3 Zrotation Xrotation Yrotation JOINT LeftLeg { OFFSET 0 -50 0 CHANNELS 3 Zrotation Xrotation Yrotation JOINT LeftFoot { OFFSET 0 -50 0 CHANNELS 3 Zrotation Xrotation Yrotation End Site { OFFSET 0 -8 15 } } } }
JOINT RightUpLeg { OFFSET -10 0 0 CHANNELS 3 Zrotation Xrotation Yrotation JOINT RightLeg { OFFSET 0 -50 0 CHANNELS 3 Zrotation Xrotation Yrotation JOINT RightFoot { OFFSET 0 -50 0 CHANNELS 3 Zrotation Xrotation Yrotation End Site { OFFSET 0 -8 15 } } } } }
MOTION
Frames: 2
Frame Time: 0.05
`
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
	bvh, err := parseBVH([]byte(person+frame(0, 70)+frame(10, 70)), "person", BVHConfig{Scale: 0.01})
	must(t, err)
	c, err := bvh.Retarget(HumanoidSkeleton(), RetargetConfig{})
	must(t, err)
	at := func(name string) float64 {
		i, _, ok := c.description.Find(name)
		if !ok {
			t.Fatal(name)
		}
		return c.Frame(0)[i] * 180 / math.Pi
	}
	for name, want := range map[string]float64{"left_knee": 70, "right_knee": 0, "left_shoulder_x": 0,
		"left_elbow": -40, "right_elbow": 0, "right_shoulder_x": -90, "abdomen_y": 0} {
		if math.Abs(at(name)-want) > 1e-6 {
			t.Errorf("%s is %.3f°, want %g", name, at(name), want)
		}
	}
	scale := (.421546 + .40987 + .05) / 1.08
	if d := c.Frame(1)[0] - c.Frame(0)[0]; math.Abs(d-0.1*scale) > 1e-9 {
		t.Errorf("travels %g m, want %g", d, 0.1*scale)
	}
	if h, _ := bodyHeights(c); math.Abs(h[0]) > 1e-6 {
		t.Errorf("feet at %v", h)
	}
	// A knee that bends forwards is held straight, and the report says so.
	bvh, err = parseBVH([]byte(person+frame(0, -30)+frame(10, -30)), "person", BVHConfig{Scale: 0.01})
	must(t, err)
	c, err = bvh.Retarget(HumanoidSkeleton(), RetargetConfig{})
	must(t, err)
	if at("left_knee") != 0 || !strings.Contains(fmt.Sprint(c.Repairs()), "1 joints were held") {
		t.Errorf("%g°, %q", at("left_knee"), c.Repairs())
	}
	for want, cfg := range map[string]RetargetConfig{
		"head follows Nose, but the source person has no such body": {Bodies: map[string]string{"pelvis": "Hips",
			"head": "Nose"}},
		"tail follows Head, but the target humanoid": {Bodies: map[string]string{"pelvis": "Hips",
			"tail": "Head"}},
		"the target's root pelvis follows no body": {Bodies: map[string]string{"head": "Head"}},
		"Rest has 3 values":                        {Rest: []float64{1, 2, 3}},
	} {
		_, err := bvh.Retarget(HumanoidSkeleton(), cfg)
		refuses(t, err, "motions: person: ", want)
	}
	if _, err := bvh.Retarget(QuadrupedSkeleton(), RetargetConfig{}); err != nil {
		t.Errorf("a quadruped needs no names of a humanoid: %v", err)
	}
	dog, err := Trot(0)
	must(t, err)
	_, err = dog.Retarget(HumanoidSkeleton(), RetargetConfig{})
	refuses(t, err, "motions: trot: ", "right_upper_arm")
}

// A skeleton whose zero pose lies flat, as LAFAN1's do, needs a rest pose, and with one is carried over as any other.
func TestRetargetNeedsARestPose(t *testing.T) {
	human := stroll(t, 20)
	flat := human.Skeleton()
	flat.Name = "flat"
	by := turnAbout([3]float64{0, 1, 0}, math.Pi/2) // the zero pose of the root lies on its face
	for i := range flat.Bodies {
		flat.Bodies[i].Offset = by.rotate(flat.Bodies[i].Offset)
		if n := len(flat.Bodies[i].Joints); n > 0 {
			flat.Bodies[i].Joints = []Joint{{Name: flat.Bodies[i].Name, Kind: Rotation}}
		}
	}
	rest := flat.zero()
	up := by.conj()
	standing := turnAbout([3]float64{0, 0, 1}, 0.7).mul(up) // it may look anywhere
	copy(rest[3:], standing[:])
	var rows [][]float64
	for k := range human.NumFrames() {
		f := human.Frame(k)
		root := quatOf(f[3:]).mul(up)
		row := append(append([]float64{}, f[:3]...), root[:]...)
		at := 7
		for _, b := range human.Skeleton().Bodies {
			if n := len(b.Joints); n > 0 {
				q := by.mul(b.rotation(f[at:])).mul(up)
				row = append(row, q[:]...)
				at += n
			}
		}
		rows = append(rows, row)
	}
	c, err := NewClip(ClipConfig{Name: "flat", Skeleton: flat, Frames: rows, Durations: durationsOf(human)})
	must(t, err)
	_, err = c.Retarget(HumanoidSkeleton(), RetargetConfig{})
	refuses(t, err, "motions: flat: ", "head")
	back, err := c.Retarget(HumanoidSkeleton(), RetargetConfig{Rest: rest})
	must(t, err)
	for k := range back.NumFrames() { // the clip may be put on the floor anew
		for i, x := range back.Frame(k)[7:] {
			if math.Abs(x-human.Frame(k)[7+i]) > 1e-6 {
				t.Fatalf("frame %d, joint %d is %g, want %g", k, i, x, human.Frame(k)[7+i])
			}
		}
	}
}

// SMPL's names and T-pose are known.
func TestRetargetSMPL(t *testing.T) {
	s := smplSkeleton()
	row := s.zero()
	row[2] = 1
	c, err := NewClip(ClipConfig{Name: "T", Skeleton: s, Frames: [][]float64{row}, Durations: []float64{1}})
	must(t, err)
	h, err := c.Retarget(HumanoidSkeleton(), RetargetConfig{})
	must(t, err)
	if again, err := Humanoid(c); err != nil || fmt.Sprint(framesOf(again)) != fmt.Sprint(framesOf(h)) {
		t.Errorf("Humanoid retargets: %v", err)
	}
	for i, j := range h.Skeleton().Joints() {
		want := map[string]float64{"right_shoulder_x": -math.Pi / 2, "left_shoulder_x": math.Pi / 2}[j.Name]
		if got := h.Frame(0)[7+i]; math.Abs(got-want) > 1e-6 {
			t.Errorf("%s is %g, want %g", j.Name, got, want)
		}
	}
	for name, want := range map[string]string{"mixamorig:LeftUpLeg": "leftupleg", "UpperLeg_L": "leftupperleg",
		"L_Hip": "lefthip", "right_hip": "righthip", "Spine.1": "spine1"} {
		if got := plainName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// The names of several archives' skeletons are known.
func TestPairBodies(t *testing.T) {
	parts := []string{"pelvis", "torso", "head", "right_upper_arm", "right_lower_arm", "right_hand", "right_thigh",
		"right_shin", "right_foot"}
	for _, names := range []string{
		"Hips Spine2 Head RightArm RightForeArm RightHand RightUpLeg RightLeg RightFoot",             // LAFAN1
		"Hips Chest4 Head RightShoulder RightElbow RightWrist RightHip RightKnee RightAnkle",         // 100STYLE
		"pelvis spine3 head right_shoulder right_elbow right_wrist right_hip right_knee right_ankle", // SMPL
		"Hips Chest Head UpperArm_R LowerArm_R Hand_R UpperLeg_R LowerLeg_R Foot_R",                  // Bandai Namco
	} {
		source := &Skeleton{Name: "source"}
		for i, right := range strings.Fields(names) {
			source.Bodies = append(source.Bodies, Body{Name: right, Parent: -1})
			left := strings.NewReplacer("Right", "Left", "right", "left", "_R", "_L").Replace(right)
			if i > 2 {
				source.Bodies = append(source.Bodies, Body{Name: left})
			}
		}
		got, err := ProposeBodies(source, HumanoidSkeleton())
		if err != nil || len(got) != 15 {
			t.Errorf("%s: %v, %v", names, got, err)
		}
		for i, part := range parts {
			if want := strings.Fields(names)[i]; got[part] != want {
				t.Errorf("%s is %s, want %s", part, got[part], want)
			}
		}
	}
}
