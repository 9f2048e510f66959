package mujoco

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
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
				id := must.Get(m.ID(Body, body.Name))(t)
				for k := range 3 {
					if d := positions[3*i+k] - xpos[3*id+k]; math.Abs(d) > 1e-6 {
						t.Fatalf("%s: %s is %g m away from the model's", s.Name, body.Name, d)
					}
				}
			}
		}
	}
}

// The skeleton of a model has its bodies where the model has them, for any pose; the built-in models' skeletons are
// those of package motions.
func TestModelSkeleton(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	models := []*Model{modelOf(t, humanoidXML), modelOf(t, quadrupedXML)}
	for _, name := range []string{"unitree_g1/xmls/g1.xml", "unitree_go1/xmls/go1.xml"} {
		if dir := os.Getenv("GORL_ROBOTS"); dir != "" {
			m := must.Get(LoadModel(filepath.Join(dir, name)))(t)
			t.Cleanup(func() { _ = m.Close() })
			models = append(models, m)
		}
	}
	for _, m := range models {
		s := must.Get(m.Skeleton())(t)
		b := batchOf(t, m, 1, 1)
		if s.Width() != m.NQ() || len(s.Bodies) != m.NumBodies()-1 {
			t.Fatalf("%d positions and %d bodies, the model has %d and %d", s.Width(), len(s.Bodies), m.NQ(),
				m.NumBodies()-1)
		}
		feet := 0
		for _, body := range s.Bodies {
			feet += min(1, len(body.Contacts))
		}
		if feet != 2 && feet != 4 {
			t.Errorf("%d feet", feet)
		}
		positions := make([]float64, 3*len(s.Bodies))
		for range 20 {
			q := b.QPos(0)
			for i := range q {
				q[i] = rng.NormFloat64()
			}
			n := math.Sqrt(q[3]*q[3] + q[4]*q[4] + q[5]*q[5] + q[6]*q[6])
			for i := range 4 {
				q[3+i] /= n
			}
			must.Do(t, b.forward(0, 1))
			s.Forward(q, positions, nil)
			for i, p := range floats(b.data[0].xpos, 3*m.NumBodies())[3:] {
				if math.Abs(p-positions[i]) > 1e-6 {
					t.Fatalf("%s is %g m away from the model's", s.Bodies[i/3].Name, p-positions[i])
				}
			}
		}
	}
	const child = `<body name="a"><freejoint/><geom size="1"/><body name="b">`
	for want, xml := range map[string]string{
		"is a slide":          child + `<joint name="j" type="slide"/><geom size="1"/></body></body>`,
		"at the body's orig":  child + `<joint name="j" pos="0 0 1"/><geom size="1"/></body></body>`,
		"has ref":             child + `<joint name="j" ref="1"/><geom size="1"/></body></body>`,
		"root has one free":   `<body name="a"><joint name="j"/><geom size="1"/></body>`,
		"no body has a free ": `<body name="a"><geom size="1"/></body>`,
	} {
		_, err := modelOf(t, "<mujoco><worldbody>"+xml+"</worldbody></mujoco>").Skeleton()
		must.Fail(t, err, want)
	}
}
