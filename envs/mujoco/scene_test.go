package mujoco

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// The tree finds the point that a search of all triangles finds, also for rays along an axis.
func TestMeshTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	point := func(spread float64) r3.Vec {
		return r3.Vec{X: spread * rng.NormFloat64(), Y: spread * rng.NormFloat64(), Z: spread * rng.NormFloat64()}
	}
	var vertices []float32
	var faces []int32
	for range 300 {
		a := point(1)
		for range 3 {
			p := r3.Add(a, point(0.2))
			faces = append(faces, int32(len(vertices)/3))
			vertices = append(vertices, float32(p.X), float32(p.Y), float32(p.Z))
		}
	}
	tree, hits := newMeshTree(vertices, faces), 0
	for k := range 2000 {
		o, d := point(2), point(1)
		if k%4 == 0 {
			d = r3.Vec{Z: -1}
		}
		want, found := math.Inf(1), false
		for i := range tree.faces {
			if at, ok := tree.faces[i].hit(o, d); ok && at < want {
				want, found = at, true
			}
		}
		got, _, ok := tree.hit(o, d)
		must.Not(t, ok != found || ok && got != want, "ray %d: %g, %t, want %g, %t", k, got, ok, want, found)
		if ok {
			hits++
		}
	}
	must.Not(t, hits < 100, "only %d rays hit", hits)
	_, _, ok := newMeshTree(nil, nil).hit(r3.Vec{}, r3.Vec{X: 1})
	must.Is(t, ok, false, "an empty mesh is hit")
}
