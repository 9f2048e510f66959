package motions

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// bodies returns where all bodies of a clip's frame are, by name.
func bodiesOf(c *Clip, row []float64) map[string][3]float64 {
	s := c.Skeleton()
	positions := make([]float64, 3*len(s.Bodies))
	s.Forward(row, positions, nil)
	out := map[string][3]float64{}
	for i, b := range s.Bodies {
		out[b.Name] = [3]float64(positions[3*i : 3*i+3])
	}
	return out
}

func TestMirror(t *testing.T) {
	trot, err := Trot(TrotConfig{Speed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Clip{stroll(t, 30), trot, readLegs(t, legs, BVHConfig{Scale: 0.01})} {
		m, err := c.Mirror()
		if c.Name() == "legs" { // one leg: the right is its own pair
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for k := range c.NumFrames() {
			was := bodiesOf(c, c.Frame(k))
			for name, p := range bodiesOf(m, m.Frame(k)) {
				w := was[otherSide(name)]
				near(t, c.Name()+" "+name, p[:], w[0], -w[1], w[2])
			}
		}
		back, err := m.Mirror()
		if err != nil {
			t.Fatal(err)
		}
		sameMotion(t, back, c, 1e-9)
		if m.Loop() != c.Loop() || math.Abs(m.Duration()-c.Duration()) > 1e-12 {
			t.Errorf("%v, %g s", m.Loop(), m.Duration())
		}
	}
	if _, err := spin(t, LoopNone).Mirror(); err == nil || !strings.Contains(err.Error(), "motions: spin: it has no skeleton") {
		t.Error(err)
	}
	for name, want := range map[string]string{"right_hand": "left_hand", "LeftArm": "RightArm", "FR_calf": "FL_calf", "RL_hip": "RR_hip", "L_knee": "R_knee", "head": "head"} {
		if got := otherSide(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestResample(t *testing.T) {
	for _, loop := range []Loop{LoopNone, LoopWrap} {
		c := spin(t, loop) // 1 s at uneven frames
		r, err := c.Resample(40)
		if err != nil {
			t.Fatal(err)
		}
		if r.NumFrames() != 41 || math.Abs(r.Duration()-1) > 1e-12 || r.Loop() != loop {
			t.Fatalf("%d frames, %g s", r.NumFrames(), r.Duration())
		}
		near(t, "travel", r.LoopTravel(), c.LoopTravel()...)
		for _, at := range []float64{0.1, 0.333, 0.9, 2.4} {
			a, va := sampleAt(c, at)
			b, vb := sampleAt(r, at)
			if math.Abs(a[0]-b[0]) > 1e-9 || math.Abs(a[5]-b[5]) > 1e-9 || quatOf(a[1:]).angleTo(quatOf(b[1:])) > 1e-6 {
				t.Errorf("at %g: %v, want %v", at, b, a)
			}
			if at < 0.9 {
				near(t, "velocity", vb, va...)
			}
		}
	}
	turning, err := LoadDeepMimic("testdata/turn_left.txt")
	if err != nil {
		t.Fatal(err)
	}
	r, err := turning.Resample(50)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := sampleAt(turning, 2.5)
	b, _ := sampleAt(r, 2.5)
	if math.Hypot(a[0]-b[0], a[1]-b[1]) > 1e-6 {
		t.Errorf("after two and a half turning loops at %v, want %v", b[:2], a[:2])
	}
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1), 1e9} {
		if _, err := turning.Resample(rate); err == nil || !strings.Contains(err.Error(), "the rate must be positive") {
			t.Errorf("%g: %v", rate, err)
		}
	}
}

func TestCut(t *testing.T) {
	c := stroll(t, 31) // 1 s
	cut, err := c.Cut(0.3, 0.7)
	if err != nil {
		t.Fatal(err)
	}
	if cut.NumFrames() != 13 || math.Abs(cut.Duration()-0.4) > 1e-9 || cut.Loop() != LoopNone {
		t.Errorf("%d frames, %g s", cut.NumFrames(), cut.Duration())
	}
	near(t, "first", cut.Frame(0), c.Frame(9)...)
	near(t, "last", cut.Frame(12), c.Frame(21)...)
	if _, err := c.Cut(0.31, 0.32); err == nil || !strings.Contains(err.Error(), "fewer than two of its frames") {
		t.Error(err)
	}
}

// A cycle that is cut out of many, and closed, is the cycle.
func TestBestLoop(t *testing.T) {
	trot, err := Trot(TrotConfig{Speed: 1}) // 0.4 s
	if err != nil {
		t.Fatal(err)
	}
	cfg := ClipConfig{Name: "long", Skeleton: trot.Skeleton()}
	for k := range 150 {
		row, _ := sampleAt(trot, float64(k)/60)
		row[0] += 5
		row[2] += 1e-4 * float64(k) // drifts up a little
		for i := 7; i < len(row); i++ {
			row[i] += 0.2 * math.Exp(-float64(k)/8) // comes to its pace only after a while
		}
		cfg.Frames, cfg.Durations = append(cfg.Frames, row), append(cfg.Durations, 1./60)
	}
	c, err := NewClip(cfg)
	if err != nil {
		t.Fatal(err)
	}
	loop, gap, err := c.BestLoop(0.3, 0.6)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(loop.Duration()-trot.Duration()) > 1e-9 || gap > 0.002 || loop.Loop() != LoopWrap {
		t.Errorf("%g s, gap %g; the trot has %g s", loop.Duration(), gap, trot.Duration())
	}
	first, last := loop.Frame(0), loop.Frame(loop.NumFrames()-1)
	near(t, "the last frame is the first", last[1:], first[1:]...)
	if d := loop.LoopTravel()[0]; math.Abs(d-0.4) > 1e-9 || len(faultsOf(Check(loop), "seam")) > 0 {
		t.Errorf("travels %g", d)
	}
	if _, _, err := c.BestLoop(5, 6); err == nil || !strings.Contains(err.Error(), "has no part between 5 and 6 s") {
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	c := spin(t, LoopNone) // turns by 1.5 rad about an oblique axis
	if _, err := c.Closed(); err == nil || !strings.Contains(err.Error(), "turned by 86°") {
		t.Error(err)
	}
	s := stroll(t, 31)
	closed, err := s.Closed()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "closed", closed.Frame(30)[2:], closed.Frame(0)[2:]...)
	for k := range 31 { // the middle stays, and nothing moves by more than half of the gap
		for i, x := range closed.Frame(k) {
			d, gap := math.Abs(x-s.Frame(k)[i]), math.Abs(s.Frame(30)[i]-s.Frame(0)[i])
			if i >= 7 && d > gap*math.Abs(float64(k)/30-0.5)+1e-9 {
				t.Fatalf("frame %d, value %d moved by %g of %g", k, i, d, gap)
			}
		}
	}
	stretch, err := NewClip(ClipConfig{Loop: LoopWrap, Frames: [][]float64{{1}, {2}}, Durations: []float64{1, 1}, Description: &Description{Columns: []Column{{"a", Hinge}}}})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := stretch.Closed(); err != nil || again != stretch {
		t.Errorf("closed already: %v", err)
	}
}

func TestForwards(t *testing.T) {
	c := stroll(t, 31)
	rows := c.rows()
	by := turnAbout([3]float64{0, 0, 1}, 2)
	for _, row := range rows {
		p := by.rotate([3]float64(row[:3]))
		q := by.mul(quatOf(row[3:]))
		copy(row, []float64{p[0] + 3, p[1] - 4, p[2], q[0], q[1], q[2], q[3]})
	}
	turned, err := c.remade(rows, c.durations(), LoopNone)
	if err != nil {
		t.Fatal(err)
	}
	want, err := c.Forwards()
	if err != nil {
		t.Fatal(err)
	}
	got, err := turned.Forwards()
	if err != nil {
		t.Fatal(err)
	}
	sameMotion(t, got, want, 1e-9)
	last := got.Frame(30)
	near(t, "along x", []float64{got.Frame(0)[0], got.Frame(0)[1], last[1]}, 0, 0, 0)
	if last[0] < 1 {
		t.Errorf("it goes %g m", last[0])
	}
	still, err := Trot(TrotConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if f, err := still.Forwards(); err != nil || math.Abs(quatOf(f.Frame(0)[3:]).heading()) > 1e-9 {
		t.Error(err)
	}
}

func TestBlend(t *testing.T) {
	slow, err := Trot(TrotConfig{Speed: 0.5, CycleTime: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	fast, err := Trot(TrotConfig{Speed: 1.5, CycleTime: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	half, err := Blend(slow, fast, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(half.Duration()-0.4) > 1e-9 || math.Abs(half.LoopTravel()[0]-0.35) > 1e-9 || len(faultsOf(Check(half), "seam")) > 0 {
		t.Errorf("%g s, %v", half.Duration(), half.LoopTravel())
	}
	a, _ := sampleAt(slow, 0.25*0.5)
	b, _ := sampleAt(fast, 0.25*0.3)
	m, _ := sampleAt(half, 0.25*0.4)
	for i := 7; i < len(m); i++ {
		if math.Abs(m[i]-(a[i]+b[i])/2) > 0.02 {
			t.Errorf("value %d is %g between %g and %g", i, m[i], a[i], b[i])
		}
	}
	for _, f := range []float64{0, 1} {
		same, err := Blend(slow, fast, f)
		if err != nil {
			t.Fatal(err)
		}
		want := []*Clip{slow, fast}[int(f)]
		p, _ := sampleAt(same, 0.1)
		q, _ := sampleAt(want, 0.1)
		for i := range p {
			if math.Abs(p[i]-q[i]) > 0.02 {
				t.Errorf("a share of %g: value %d is %g, want %g", f, i, p[i], q[i])
			}
		}
	}
	for _, x := range []struct {
		a, b *Clip
		f    float64
	}{{slow, fast, 2}, {slow, spin(t, LoopWrap), 0.5}, {spin(t, LoopNone), spin(t, LoopNone), 0.5}} {
		if _, err := Blend(x.a, x.b, x.f); err == nil || !strings.Contains(err.Error(), "cannot be blended") {
			t.Error(err)
		}
	}
}

// A clip goes over to a skeleton with arms in a T-pose and ball joints, and comes back as it was.
func TestRetargetAndBack(t *testing.T) {
	c := stroll(t, 30)
	over, err := c.Retarget(mimicKitHumanoid(), RetargetConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for k := range c.NumFrames() {
		want := bodiesOf(c, c.Frame(k))
		for name, p := range bodiesOf(over, over.Frame(k)) {
			w := want[name]
			near(t, fmt.Sprintf("%s of frame %d", name, k), p[:], w[:]...)
		}
	}
	back, err := over.Retarget(HumanoidSkeleton(), RetargetConfig{})
	if err != nil {
		t.Fatal(err)
	}
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
		v[1], v[2] = 108, z // hips; then Spine 6, Head 9, LeftArm 12, LeftForeArm 15, RightArm 18, RightForeArm 21, LeftUpLeg 24, LeftLeg 27
		v[12] = -90         // left arm down
		v[15+2] = -40       // left forearm to the front, about y before the arm hung down
		v[28] = knee        // left knee, about x
		return strings.Trim(fmt.Sprint(v), "[]") + "\n"
	}
	bvh, err := ReadBVH(strings.NewReader(person+frame(0, 70)+frame(10, 70)), "person", BVHConfig{Scale: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	c, err := bvh.Retarget(HumanoidSkeleton(), RetargetConfig{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) float64 {
		i, _, ok := c.description.Find(name)
		if !ok {
			t.Fatal(name)
		}
		return c.Frame(0)[i] * 180 / math.Pi
	}
	for name, want := range map[string]float64{"left_knee": 70, "right_knee": 0, "left_shoulder_x": 0, "left_elbow": -40, "right_elbow": 0, "right_shoulder_x": -90, "abdomen_y": 0} {
		if math.Abs(at(name)-want) > 1e-6 {
			t.Errorf("%s is %.3f°, want %g", name, at(name), want)
		}
	}
	scale := (.421546 + .40987 + .05) / 1.08
	if d := c.Frame(1)[0] - c.Frame(0)[0]; math.Abs(d-0.1*scale) > 1e-9 {
		t.Errorf("travels %g m, want %g", d, 0.1*scale)
	}
	if h := c.footHeights(); math.Abs(h[0]) > 1e-6 {
		t.Errorf("feet at %v", h)
	}
	// A knee that bends forwards is held straight, and the report says so.
	bvh, err = ReadBVH(strings.NewReader(person+frame(0, -30)+frame(10, -30)), "person", BVHConfig{Scale: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	if c, err = bvh.Retarget(HumanoidSkeleton(), RetargetConfig{}); err != nil {
		t.Fatal(err)
	}
	if at("left_knee") != 0 || !strings.Contains(fmt.Sprint(c.Repairs()), "1 joints were held at their limits") {
		t.Errorf("%g°, %q", at("left_knee"), c.Repairs())
	}
	for want, cfg := range map[string]RetargetConfig{
		"head follows Nose, but the source person has no such body": {Bodies: map[string]string{"pelvis": "Hips", "head": "Nose"}},
		"tail follows Head, but the target humanoid":                {Bodies: map[string]string{"pelvis": "Hips", "tail": "Head"}},
		"the target's root pelvis follows no body":                  {Bodies: map[string]string{"head": "Head"}},
		"Rest has 3 values": {Rest: []float64{1, 2, 3}},
	} {
		if _, err := bvh.Retarget(HumanoidSkeleton(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := bvh.Retarget(QuadrupedSkeleton(), RetargetConfig{}); err != nil {
		t.Errorf("names that are no humanoid's are not asked for: %v", err)
	}
	dog, err := Trot(TrotConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dog.Retarget(HumanoidSkeleton(), RetargetConfig{}); err == nil || !strings.Contains(err.Error(), "no body of quadruped is known to be right_upper_arm") {
		t.Error(err)
	}
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
	c, err := NewClip(ClipConfig{Name: "flat", Skeleton: flat, Frames: rows, Durations: human.durations()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Retarget(HumanoidSkeleton(), RetargetConfig{}); err == nil || !strings.Contains(err.Error(), "in the zero pose of flat, head is not where it is in a body that stands") {
		t.Error(err)
	}
	back, err := c.Retarget(HumanoidSkeleton(), RetargetConfig{Rest: rest})
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.Retarget(HumanoidSkeleton(), RetargetConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Humanoid(c); err != nil || fmt.Sprint(again.rows()) != fmt.Sprint(h.rows()) {
		t.Errorf("Humanoid retargets: %v", err)
	}
	for i, j := range h.Skeleton().Joints() {
		want := map[string]float64{"right_shoulder_x": -math.Pi / 2, "left_shoulder_x": math.Pi / 2}[j.Name]
		if got := h.Frame(0)[7+i]; math.Abs(got-want) > 1e-6 {
			t.Errorf("%s is %g, want %g", j.Name, got, want)
		}
	}
	for name, want := range map[string]string{"mixamorig:LeftUpLeg": "leftupleg", "UpperLeg_L": "leftupperleg", "L_Hip": "lefthip", "right_hip": "righthip", "Spine.1": "spine1"} {
		if got := plainName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// The names of several archives' skeletons are known.
func TestBodyNames(t *testing.T) {
	parts := []string{"pelvis", "torso", "head", "right_upper_arm", "right_lower_arm", "right_hand", "right_thigh", "right_shin", "right_foot"}
	for _, names := range []string{
		"Hips Spine2 Head RightArm RightForeArm RightHand RightUpLeg RightLeg RightFoot",             // LAFAN1
		"Hips Chest4 Head RightShoulder RightElbow RightWrist RightHip RightKnee RightAnkle",         // 100STYLE
		"pelvis spine3 head right_shoulder right_elbow right_wrist right_hip right_knee right_ankle", // SMPL
		"mixamorig:Hips mixamorig:Spine2 mixamorig:Head mixamorig:RightArm mixamorig:RightForeArm mixamorig:RightHand mixamorig:RightUpLeg mixamorig:RightLeg mixamorig:RightFoot",
		"Hips Chest Head RightUpArm RightLowArm RightHand RightUpLeg RightLowLeg RightFoot", // Biovision's example
		"Hips Chest Head UpperArm_R LowerArm_R Hand_R UpperLeg_R LowerLeg_R Foot_R",         // Bandai Namco
	} {
		source := &Skeleton{Name: "source"}
		for i, right := range strings.Fields(names) {
			source.Bodies = append(source.Bodies, Body{Name: right, Parent: -1})
			left := strings.NewReplacer("Right", "Left", "right", "left", "_R", "_L").Replace(right)
			if i > 2 {
				source.Bodies = append(source.Bodies, Body{Name: left})
			}
		}
		got, err := BodyNames(source, HumanoidSkeleton())
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

func ExampleClip_Retarget() {
	clip, err := ReadBVH(strings.NewReader(legs), "legs", BVHConfig{Scale: 0.01})
	if err != nil {
		fmt.Println(err)
		return
	}
	human, err := clip.Retarget(HumanoidSkeleton(), RetargetConfig{Bodies: map[string]string{
		"pelvis": "Hips", "right_thigh": "RightLeg", "right_shin": "RightFoot",
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(human.NumFrames(), human.Width())
	// Output: 3 35
}

func ExampleBlend() {
	slow, err := Trot(TrotConfig{Speed: 0.5})
	if err != nil {
		fmt.Println(err)
		return
	}
	fast, err := Trot(TrotConfig{Speed: 1.5})
	if err != nil {
		fmt.Println(err)
		return
	}
	half, err := Blend(slow, fast, 0.5)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f s, %.2f m/s\n", half.Duration(), half.LoopTravel()[0]/half.Duration())
	// Output: 0.40 s, 0.94 m/s
}
