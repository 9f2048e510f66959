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

// The skeleton of a model has its bodies where the model has them, for any pose. Those of package motions, which the
// built-in clips move, are the models': the same joints with the same limits in the same order, and the same bodies.
func TestSkeletonsAreTheModels(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	human, dog := must.Open(ParseModel(humanoidXML))(t), must.Open(ParseModel(quadrupedXML))(t)
	skeletons := map[*motions.Skeleton]*Model{motions.HumanoidSkeleton(): human, motions.QuadrupedSkeleton(): dog}
	models := []*Model{human, dog}
	for _, name := range []string{"unitree_g1/xmls/g1.xml", "unitree_go1/xmls/go1.xml"} {
		if dir := os.Getenv("GORL_ROBOTS"); dir != "" {
			models = append(models, must.Open(LoadModel(filepath.Join(dir, name)))(t))
		}
	}
	for _, m := range models {
		s := must.Get(m.Skeleton())(t)
		skeletons[s] = m
	}
	for s, m := range skeletons {
		b := must.Open(NewBatch(m, 1, 1))(t)
		must.Not(t, s.Width() != m.NQ() || len(s.Bodies) != m.NumBodies()-1,
			"%s: %d positions and %d bodies, the model has %d and %d", s.Name, s.Width(), len(s.Bodies), m.NQ(),
			m.NumBodies()-1)
		for i, j := range s.Joints() {
			at, _, err := m.JointAddress(j.Name)
			low, high, limited, rangeErr := m.JointRange(j.Name)
			must.Not(t, err != nil || rangeErr != nil || at != 7+i || limited == (j.Lower == j.Upper) || limited &&
				(math.Abs(low-j.Lower) > 1e-6 || math.Abs(high-j.Upper) > 1e-6),
				"%s: %s at %d from %g to %g, the model's at %d from %g to %g: %v, %v", s.Name, j.Name, 7+i, j.Lower,
				j.Upper, at, low, high, err, rangeErr)
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
			must.Do(t, b.forward(0, 0, 1))
			s.Forward(q, positions, nil)
			xpos := floats(b.data[0].xpos, 3*m.NumBodies())
			for i, body := range s.Bodies {
				id := must.Get(m.ID(Body, body.Name))(t)
				for k := range 3 {
					must.Near(t, positions[3*i+k], xpos[3*id+k], 1e-6, "%s: %s", s.Name, body.Name)
				}
			}
		}
	}
	const child = `<body name="a"><freejoint/><geom size="1"/><body name="b">`
	for want, xml := range map[string]string{
		"is a slide":         child + `<joint name="j" type="slide"/><geom size="1"/></body></body>`,
		"at the body's orig": child + `<joint name="j" pos="0 0 1"/><geom size="1"/></body></body>`,
		"has ref":            child + `<joint name="j" ref="1"/><geom size="1"/></body></body>`,
		"root has one free":  `<body name="a"><joint name="j"/><geom size="1"/></body>`,
	} {
		_, err := must.Open(ParseModel("<mujoco><worldbody>" + xml + "</worldbody></mujoco>"))(t).Skeleton()
		must.Refuse(t, err, want)
	}
}
