package motions

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// stroll is a made-up humanoid motion on the floor at 30 frames a second: each joint swings at its own phase.
func stroll(t *testing.T, frames int) *Clip {
	t.Helper()
	s := HumanoidSkeleton()
	cfg := ClipConfig{Name: "stroll", Skeleton: s}
	for k := range frames {
		at := float64(k) / 30
		root := rotation.About([3]float64{0, 0, 1}, 0.2*math.Sin(2*at)).Mul(rotation.About([3]float64{0, 1, 0},
			0.1*math.Sin(5*at)))
		row := []float64{1.2 * at, 0.05 * math.Sin(3*at), 0.87 + 0.01*math.Sin(7*at), root[0], root[1], root[2],
			root[3]}
		for i, j := range s.Joints() {
			middle, half := (j.Lower+j.Upper)/2, (j.Upper-j.Lower)/2
			middle = max(-0.3, min(0.3, middle))
			row = append(row, middle+min(0.25*half, middle-j.Lower, j.Upper-middle)*math.Sin(6*at+float64(i)))
		}
		cfg.Frames, cfg.Durations = append(cfg.Frames, row), append(cfg.Durations, 1./30)
	}
	return must.Get(must.Get(NewClip(cfg))(t).OnFloor())(t)
}

func sameMotion(t *testing.T, got, want *Clip, tolerance float64) {
	t.Helper()
	must.Not(t, got.NumFrames() != want.NumFrames() || got.Width() != want.Width() ||
		math.Abs(got.Duration()-want.Duration()) > 1e-6, "%d frames of %d, %g s; want %d of %d, %g s", got.NumFrames(),
		got.Width(), got.Duration(), want.NumFrames(), want.Width(), want.Duration())
	for k := range got.NumFrames() {
		for i, x := range got.Frame(k) {
			must.Near(t, x, want.Frame(k)[i], tolerance, "frame %d, %s", k, got.description.nameValue(i))
		}
		for i, x := range got.frameVelocity(k) {
			must.Near(t, x, want.frameVelocity(k)[i], 60*tolerance, "frame %d, velocity %d", k, i)
		}
	}
}

// DeepMimic's humanoid stands where its own kinematics, y up, say: every joint's place, turned into z up.
func TestHumanoidOfDeepMimic(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	small := func() []float64 {
		q := rotation.Exp([]float64{0.6 * rng.NormFloat64(), 0.6 * rng.NormFloat64(), 0.6 * rng.NormFloat64()})
		return q[:]
	}
	var frames [][]float64
	for range 5 {
		f := append([]float64{rng.Float64(), 2 + rng.Float64(), rng.Float64()}, small()...) // high above the floor
		f = append(append(f, small()...), small()...)                                       // chest, neck
		for range 2 {
			f = append(f, small()...)        // hip
			f = append(f, -2*rng.Float64())  // knee
			f = append(f, small()...)        // ankle
			f = append(f, small()...)        // shoulder
			f = append(f, 2.5*rng.Float64()) // elbow
		}
		frames = append(frames, f)
	}
	c := must.Get(NewClip(ClipConfig{Name: "deep", Frames: frames, Durations: evenly(5, .1),
		Description: deepMimicHumanoid()}))(t)
	h := must.Get(Humanoid(c))(t)
	s := h.Skeleton()
	tree := []struct {
		body   string
		parent int
		offset [3]float64 // x forward, y up, z to the right
		at     int        // column of the frame; negative for a hinge about z
	}{
		{"pelvis", -1, [3]float64{}, 3}, {"torso", 0, [3]float64{0, .236151, 0}, 7},
		{"head", 1, [3]float64{0, .223894, 0}, 11},
		{"right_thigh", 0, [3]float64{0, 0, .084887}, 15}, {"right_shin", 3, [3]float64{0, -.421546, 0}, -19},
		{"right_foot", 4, [3]float64{0, -.40987, 0}, 20},
		{"right_upper_arm", 1, [3]float64{-.02405, .2435, .18311}, 24},
		{"right_lower_arm", 6, [3]float64{0, -.274788, 0}, -28},
		{"left_thigh", 0, [3]float64{0, 0, -.084887}, 29}, {"left_shin", 8, [3]float64{0, -.421546, 0}, -33},
		{"left_foot", 9, [3]float64{0, -.40987, 0}, 34}, {"left_upper_arm", 1, [3]float64{-.02405, .2435, -.18311}, 38},
		{"left_lower_arm", 11, [3]float64{0, -.274788, 0}, -42},
	}
	positions := make([]float64, 45)
	for k := range c.NumFrames() {
		f := c.Frame(k)
		s.Forward(h.Frame(k), positions, nil)
		lowered := f[1] - h.Frame(k)[2] // it was high above the floor
		var place [13][3]float64
		var turned [13]rotation.Quat
		for i, j := range tree {
			q := rotation.About([3]float64{0, 0, 1}, f[max(0, -j.at)])
			if j.at > 0 {
				q = rotation.Of(f[j.at:])
			}
			place[i], turned[i] = [3]float64(f[:3]), q
			if j.parent >= 0 {
				o := turned[j.parent].Rotate(j.offset)
				for d := range 3 {
					place[i][d] = place[j.parent][d] + o[d]
				}
				turned[i] = turned[j.parent].Mul(q)
			}
			b := s.Body(j.body)
			near(t, j.body, positions[3*b:3*b+3], place[i][0], -place[i][2], place[i][1]-lowered)
		}
	}
	must.Is(t, len(h.Repairs()), 1, "repairs %q", h.Repairs())
	must.Is(t, must.Get(Humanoid(h))(t), h, "a humanoid's clip is its own")
	must.Refused(Humanoid(spin(t, LoopNone)))(t, "motions: spin: ", "neither DeepMimic's humanoid")
}
