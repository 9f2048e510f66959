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
