package mujoco

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/motions"
)

// The skeletons that clips are carried over to are those of the models: the same joints with the same limits in the
// same order, and bodies in the same places for any pose.
func TestSkeletonsAreTheModels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, x := range []struct {
		xml      string
		skeleton *motions.Skeleton
	}{{humanoidXML, motions.HumanoidSkeleton()}, {quadrupedXML, motions.QuadrupedSkeleton()}} {
		m := modelOf(t, x.xml)
		b := batchOf(t, m, 1, 1)
		s := x.skeleton
		if s.Width() != m.NQ() || len(s.Bodies) != m.NumBodies()-1 {
			t.Fatalf("%s: %d positions and %d bodies, the model has %d and %d", s.Name, s.Width(), len(s.Bodies),
				m.NQ(), m.NumBodies()-1)
		}
		for i, j := range s.Joints() {
			at, _, err := m.JointAddress(j.Name)
			low, high, limited, rangeErr := m.JointRange(j.Name)
			if err != nil || rangeErr != nil || at != 7+i || !limited || math.Abs(low-j.Lower) > 1e-6 ||
				math.Abs(high-j.Upper) > 1e-6 {
				t.Errorf("%s: %s at %d from %g to %g, the model's at %d from %g to %g: %v, %v", s.Name, j.Name, 7+i,
					j.Lower, j.Upper, at, low, high, err, rangeErr)
			}
		}
		positions := make([]float64, 3*len(s.Bodies))
		for range 20 {
			q, n := b.QPos(0), 0.0
			for i := range q {
				q[i] = rng.NormFloat64()
			}
			for _, v := range q[3:7] {
				n += v * v
			}
			for i := range 4 {
				q[3+i] /= math.Sqrt(n)
			}
			must.Do(t, b.forward(0, 1))
			s.Forward(q, positions, nil)
			xpos := floats(b.data[0].xpos, 3*m.NumBodies())
			for i, body := range s.Bodies {
				id, err := m.ID(Body, body.Name)
				must.Do(t, err)
				for k := range 3 {
					if d := positions[3*i+k] - xpos[3*id+k]; math.Abs(d) > 1e-6 {
						t.Fatalf("%s: %s is %g m away from the model's", s.Name, body.Name, d)
					}
				}
			}
		}
	}
}
