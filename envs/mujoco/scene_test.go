package mujoco

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// inside reports whether a point in a geom's own frame lies in it.
func inside(s *shape, p r3.Vec) bool {
	a, b, c := s.Size[0], s.Size[1], s.Size[2]
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
	for f := s.Faces; len(f) >= 3; f = f[3:] { // of a convex mesh
		v := vertex(s.Vertices, f[0])
		n := r3.Cross(r3.Sub(vertex(s.Vertices, f[1]), v), r3.Sub(vertex(s.Vertices, f[2]), v))
		if r3.Dot(r3.Sub(p, v), n) > 0 {
			return false
		}
	}
	return true
}

// TestHits sends rays at a geom of each kind and walks along them in small steps: they must enter where hit says, and
// not at all where it says so.
func TestHits(t *testing.T) {
	e := must.Open(New(Config{XML: shapesXML}, still{}))(t)
	d := must.Get(e.viewed(0))(t)
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
			s := solid{shape: shape, pos: random(1),
				mat: r3.NewMat([]float64{x.X, y.X, z.X, x.Y, y.Y, z.Y, x.Z, y.Z, z.Z})}
			from := r3.Add(s.pos, r3.Scale(3*shape.reach(), r3.Unit(random(1))))
			way := r3.Sub(r3.Add(s.pos, random(0.4*shape.reach())), from)
			at, normal, ok := s.hit(from, way)
			entered := math.Inf(1)
			const step = 0.002
			for k := 0.0; k < 2; k += step {
				if inside(shape, s.mat.MulVecTrans(r3.Sub(r3.Add(from, r3.Scale(k, way)), s.pos))) {
					entered = k
					break
				}
			}
			if !ok {
				must.Not(t, !math.IsInf(entered, 1), "geom %d: a ray that enters at %g is said to miss", g, entered)
				continue
			}
			hits++
			must.Not(t, entered < at-1e-9 || (entered > at+step+1e-9 && !math.IsInf(entered, 1)),
				"geom %d: a ray enters at %g, not at %g", g, entered, at)
			must.Not(t, r3.Dot(normal, way) >= 0 || math.Abs(r3.Norm(normal)-1) > 1e-9,
				"geom %d: the normal %v does not point out", g, normal)
			out := r3.Add(r3.Add(from, r3.Scale(at, way)), r3.Scale(1e-4*shape.reach(), normal))
			must.Not(t, inside(shape, s.mat.MulVecTrans(r3.Sub(out, s.pos))), "geom %d: the normal leads inside", g)
		}
		must.Not(t, hits < 100, "geom %d: %d of 400 rays hit", g, hits)
	}
}

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
	if _, _, ok := newMeshTree(nil, nil).hit(r3.Vec{}, r3.Vec{X: 1}); ok {
		t.Error("an empty mesh is hit")
	}
}
