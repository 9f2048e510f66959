package mujoco

import (
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

// inside reports whether a point in a geom's own frame lies in it.
func inside(s *shape, p r3.Vec) bool {
	a, b, c := s.size[0], s.size[1], s.size[2]
	switch s.reach() {
	case a: // a ball
		return r3.Norm(p) < a
	case a + b:
		return r3.Norm(r3.Vec{X: p.X, Y: p.Y, Z: p.Z - max(-b, min(b, p.Z))}) < a
	case math.Hypot(a, b):
		return math.Hypot(p.X, p.Y) < a && math.Abs(p.Z) < b
	case max(a, b, c):
		return r3.Norm(r3.Vec{X: p.X / a, Y: p.Y / b, Z: p.Z / c}) < 1
	case math.Sqrt(a*a + b*b + c*c):
		return math.Abs(p.X) < a && math.Abs(p.Y) < b && math.Abs(p.Z) < c
	}
	for f := s.faces; len(f) >= 3; f = f[3:] { // of a convex mesh
		v := vertex(s.vertices, f[0])
		n := r3.Cross(r3.Sub(vertex(s.vertices, f[1]), v), r3.Sub(vertex(s.vertices, f[2]), v))
		if r3.Dot(r3.Sub(p, v), n) > 0 {
			return false
		}
	}
	return true
}

// TestHits sends rays at a geom of each kind and walks along them in small steps: they must enter where hit says, and not
// at all where it says so.
func TestHits(t *testing.T) {
	e, err := New(Config{XML: shapesXML}, still{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	d, err := e.draw()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	random := func(scale float64) r3.Vec {
		return r3.Vec{X: scale * rng.NormFloat64(), Y: scale * rng.NormFloat64(), Z: scale * rng.NormFloat64()}
	}
	for g := range d.shapes {
		shape := &d.shapes[g]
		if shape.reach() == 0 {
			continue
		}
		hits := 0
		for range 400 {
			// A frame turned at random: the columns of mat are its axes.
			x := r3.Unit(random(1))
			y := r3.Unit(r3.Cross(x, random(1)))
			z := r3.Cross(x, y)
			s := solid{shape: shape, pos: random(1), mat: [9]float64{x.X, y.X, z.X, x.Y, y.Y, z.Y, x.Z, y.Z, z.Z}}
			from := r3.Add(s.pos, r3.Scale(3*shape.reach(), r3.Unit(random(1))))
			way := r3.Sub(r3.Add(s.pos, random(0.4*shape.reach())), from)
			at, normal, ok := s.hit(from, way)
			entered := math.Inf(1)
			const step = 0.002
			for k := 0.0; k < 2; k += step {
				if inside(shape, s.local(r3.Sub(r3.Add(from, r3.Scale(k, way)), s.pos))) {
					entered = k
					break
				}
			}
			if !ok {
				if !math.IsInf(entered, 1) {
					t.Fatalf("geom %d: a ray that enters at %g is said to miss", g, entered)
				}
				continue
			}
			hits++
			if entered < at-1e-9 || (entered > at+step+1e-9 && !math.IsInf(entered, 1)) {
				t.Fatalf("geom %d: a ray enters at %g, not at %g", g, entered, at)
			}
			if r3.Dot(normal, way) >= 0 || math.Abs(r3.Norm(normal)-1) > 1e-9 {
				t.Fatalf("geom %d: the normal %v does not point out", g, normal)
			}
			out := r3.Add(r3.Add(from, r3.Scale(at, way)), r3.Scale(1e-4*shape.reach(), normal))
			if inside(shape, s.local(r3.Sub(out, s.pos))) {
				t.Fatalf("geom %d: the normal leads inside", g)
			}
		}
		if hits < 100 {
			t.Errorf("geom %d: %d of 400 rays hit", g, hits)
		}
	}
}

// count is the number of pixels that are like the example, and where their middle is.
func count(img image.Image, like func(r, g, b int) bool) (n int, x, y float64) {
	p := img.(*image.RGBA)
	for py := range p.Rect.Dy() {
		for px := range p.Rect.Dx() {
			c := p.RGBAAt(px, py)
			if like(int(c.R), int(c.G), int(c.B)) {
				n, x, y = n+1, x+float64(px), y+float64(py)
			}
		}
	}
	return n, x / float64(n), y / float64(n)
}

// TestPerspective: a ball is as large as the camera's angle and distance say, its shadow lies away from the sun, and the
// camera follows it.
func TestPerspective(t *testing.T) {
	const ball = `<mujoco><worldbody><geom type="plane" size="9 9 1"/>
	  <body pos="0 0 1"><freejoint/><geom type="sphere" size=".25" rgba="1 0 0 1"/></body></worldbody></mujoco>`
	e, err := New(Config{XML: ball, Render: RenderConfig{Width: 300, Height: 200,
		Camera: &Camera{Azimuth: 90, Elevation: 20, Distance: 6, FieldOfView: 40}}}, still{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	picture := func(x, y float64) image.Image {
		img, err := e.RenderPose([]float64{x, y, 1, 1, 0, 0, 0})
		if err != nil {
			t.Fatal(err)
		}
		return img
	}
	img := picture(0, 0)
	n, x, y := count(img, func(r, g, b int) bool { return r > g+60 })
	// The camera looks at half the height of the ball's upper edge, 6 m away.
	focal := 100 / math.Tan(20*math.Pi/180)
	if want := math.Pi * (focal * 0.25 / 6) * (focal * 0.25 / 6); math.Abs(float64(n)-want) > 0.15*want {
		t.Errorf("the ball has %d pixels, not %.0f", n, want)
	}
	if math.Abs(x-149.5) > 1 || y > 99 {
		t.Errorf("the ball is at %.1f, %.1f", x, y)
	}
	// Seen along y, the sun is on the left and behind the camera: the shadow falls to the right, below the ball.
	dark, sx, sy := count(img, func(r, g, b int) bool { return r < 160 && r < g+20 })
	if dark < 50 || sx < x+10 || sy < y+20 {
		t.Errorf("a shadow of %d pixels at %.1f, %.1f", dark, sx, sy)
	}
	if !slices.Equal(picture(4, -6).(*image.RGBA).Pix, img.(*image.RGBA).Pix) {
		t.Error("two squares further the picture differs")
	}
	if slices.Equal(picture(0.5, 0).(*image.RGBA).Pix, img.(*image.RGBA).Pix) {
		t.Error("half a square further the picture is the same")
	}
}

// TestReferenceIsShown: with a clock there are two characters in the picture, and marks under the feet of those that
// stand on the ground.
func TestReferenceIsShown(t *testing.T) {
	seen := map[bool]image.Image{}
	for _, clock := range []bool{false, true} {
		e := characterOf(t, CharacterConfig{Body: QuadrupedBody(), Clock: clock})
		if _, err := e.Reset(3); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := e.Step(make([]float32, 12)); err != nil {
				t.Fatal(err)
			}
		}
		img, err := e.Render(0)
		if err != nil {
			t.Fatal(err)
		}
		seen[clock] = img
		if marks, _, _ := count(img, func(r, g, b int) bool { return r > 180 && g < 80 && b < 80 }); marks < 20 {
			t.Errorf("clock %t: %d pixels of marks", clock, marks)
		}
	}
	orange := func(r, g, b int) bool { return r > 150 && g < r-40 && b < g-20 }
	pale := func(r, g, b int) bool { return r > 120 && g > r-40 && g < r-12 && b < g && b > g-25 }
	for clock, img := range seen {
		o, ox, _ := count(img, orange)
		p, px, _ := count(img, pale)
		if o < 300 || clock != (p > 300) || clock && px < ox+50 {
			t.Errorf("clock %t: %d pixels of the character at %.0f, %d of the clip at %.0f", clock, o, ox, p, px)
		}
	}
}

func TestSaveStrip(t *testing.T) {
	var pictures []image.Image
	for i := range 23 {
		img := image.NewRGBA(image.Rect(0, 0, 10, 8))
		for k := range img.Pix {
			img.Pix[k] = uint8(10 * i)
		}
		pictures = append(pictures, img)
	}
	path := filepath.Join(t.TempDir(), "strip.png")
	if err := SaveStrip(path, pictures, 6, 4); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(reopen(t, path))
	if err != nil {
		t.Fatal(err)
	}
	if img.Bounds().Size() != image.Pt(4*14-4, 2*12-4) {
		t.Errorf("a strip of %v", img.Bounds())
	}
	for i, k := range []int{0, 4, 8, 13, 17, 22} {
		if r, _, _, _ := img.At(i%4*14+5, i/4*12+4).RGBA(); int(r>>8) != 10*k && k > 0 {
			t.Errorf("picture %d of the strip is not %d but %d", i, k, r>>8/10)
		}
	}
	other := append(slices.Clone(pictures[:1]), image.NewRGBA(image.Rect(0, 0, 9, 8)))
	for _, bad := range []error{SaveStrip(path, nil, 1, 1), SaveStrip(path, pictures, 0, 1), SaveStrip(path, other, 2, 1)} {
		if bad == nil {
			t.Error("a strip of nothing, or of pictures of several sizes")
		}
	}
}
