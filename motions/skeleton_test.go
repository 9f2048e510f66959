package motions

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// matrix is a rotation as a matrix, by the formula of textbooks.
func matrix(q rotation.Quat) [3][3]float64 {
	w, x, y, z := q[0], q[1], q[2], q[3]
	return [3][3]float64{{1 - 2*(y*y+z*z), 2 * (x*y - w*z), 2 * (x*z + w*y)},
		{2 * (x*y + w*z), 1 - 2*(x*x+z*z), 2 * (y*z - w*x)}, {2 * (x*z - w*y), 2 * (y*z + w*x), 1 - 2*(x*x+y*y)}}
}

// The angles of hinges give back the rotation, whatever the order and handedness of the axes, and follow the row before
// over full turns.
func TestHingeAngles(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	axes := [][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-1, 0, 0}, {0, -0.6, 0.8}, {0, 0.8, 0.6}}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {2, 0, 1}, {1, 0, 2}, {3, 1, 2}, {0, 4, 5}, {5, 4, 0}, {1}, {4},
		{0, 2}, {5, 0}} {
		b := Body{Name: "b"}
		for _, i := range order {
			b.Joints = append(b.Joints, Joint{Kind: Hinge, Axis: axes[i]})
		}
		for range 200 {
			q, want := rotation.Quat{1, 0, 0, 0}, make([]float64, len(order))
			for i := range want {
				want[i] = 12 * (rng.Float64() - 0.5)
				if len(order) < 3 && i == 1 {
					want[i] /= 5 // two hinges reach a part of the rotations, which one solution covers
				}
				q = q.Mul(b.Joints[i].rotation(want[i:]))
			}
			near := append([]float64(nil), want...)
			for i := range near {
				near[i] += 0.2 * (rng.Float64() - 0.5)
			}
			got := make([]float64, len(order))
			b.angles(q, got, near)
			back := rotation.Quat{1, 0, 0, 0}
			for i := range got {
				back = back.Mul(b.Joints[i].rotation(got[i:]))
			}
			must.Near(t, back.AngleTo(q), 0, 1e-6, "axes %v, angles %v: got %v", order, want, got)
			if math.Abs(math.Cos(want[min(1, len(want)-1)])) < 0.1 {
				continue // near gimbal lock other angles are as good
			}
			for i := range got {
				must.Near(t, got[i], want[i], 1e-6, "axes %v: %v, want %v", order, got, want)
			}
		}
	}
}

// In gimbal lock the first hinge keeps its angle, and the rotation is right.
func TestGimbalLock(t *testing.T) {
	for _, x := range []struct{ handed, middle, first float64 }{{1, math.Pi / 2, 0.3}, {1, -math.Pi / 2, -1.2},
		{-1, math.Pi / 2, -1.2}, {-1, -math.Pi / 2, 0.3}} {
		b := Body{Joints: triple("j", [6]float64{})}
		b.Joints[2].Axis[2] = x.handed
		q, out := b.rotation([]float64{0.9, x.middle, -0.4}), make([]float64, 3)
		b.angles(q, out, []float64{x.first, x.middle, 0})
		must.Near(t, b.rotation(out).AngleTo(q), 0, 1e-6, "%+v: rad off", x)
		must.Near(t, out[0], x.first, 1e-9, "first hinge")
	}
}

// chain is a root with a ball joint, two hinges on top of it, and a foot.
func chain() *Skeleton {
	return &Skeleton{Name: "chain", Bodies: []Body{
		{Name: "root", Parent: -1},
		{Name: "a", Parent: 0, Offset: [3]float64{0.1, 0.2, 0.3}, Joints: []Joint{{Name: "ball", Kind: Rotation}}},
		{Name: "b", Parent: 1, Offset: [3]float64{0, 0, -0.5}, Joints: []Joint{
			{Name: "x", Kind: Hinge, Axis: [3]float64{1, 0, 0}}, {Name: "y", Kind: Hinge, Axis: [3]float64{0, 1, 0}}}},
		{Name: "foot", Parent: 2, Offset: [3]float64{0.2, 0, -0.4},
			Contacts: []Contact{{At: [3]float64{0, 0, -0.1}, Radius: 0.02}}},
	}}
}

func TestSkeletonRejects(t *testing.T) {
	for want, change := range map[string]func(*Skeleton){
		`the name "a" is empty or there`:   func(s *Skeleton) { s.Bodies[2].Name = "a" },
		"body a: Parent must be":           func(s *Skeleton) { s.Bodies[1].Parent = 1 },
		"joint x: Axis must have length 1": func(s *Skeleton) { s.Bodies[2].Joints[0].Axis[0] = 2 },
	} {
		s := chain()
		change(s)
		_, err := NewClip(ClipConfig{Frames: [][]float64{make([]float64, 13)}, Durations: []float64{1}, Skeleton: s})
		must.Refuse(t, err, want)
	}
}

// MuJoCo integrates an angular velocity in the body's own frame: q(t + h) = q(t) · exp(w h).
func TestStateIsMuJoCos(t *testing.T) {
	root, ball := rotation.Exp([]float64{0.4, -1.9, 0.8}), rotation.Exp([]float64{-1.2, 0.5, 2.1})
	w := []float64{0.3, -1.1, 0.7} // of the root in its own frame; of the ball 2w
	cfg := ClipConfig{Name: "turning", Skeleton: chain()}
	const h = 0.01
	for k := range 20 {
		by := float64(k) * h
		q := root.Mul(rotation.Exp([]float64{w[0] * by, w[1] * by, w[2] * by}))
		b := ball.Mul(rotation.Exp([]float64{2 * w[0] * by, 2 * w[1] * by, 2 * w[2] * by}))
		cfg.Frames = append(cfg.Frames, slices.Concat([]float64{2 * by, 0, 1}, q[:], b[:], []float64{3 * by, 0}))
		cfg.Durations = append(cfg.Durations, h)
	}
	c := must.Get(NewClip(cfg))(t)
	qpos, qvel := make([]float64, 13), make([]float64, 11)
	c.State(0.084, qpos, qvel)
	near(t, "qvel", qvel, 2, 0, 0, w[0], w[1], w[2], 2*w[0], 2*w[1], 2*w[2], 3, 0)
	pos := make([]float64, 13)
	c.At(0.084, pos, nil)
	near(t, "qpos", qpos, pos...)
}
