package mujoco

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"
)

// leafFaces is the number of triangles at or below which a box of a [meshTree] is not divided further.
const leafFaces = 4

// meshTree finds the triangles of a mesh that a ray can meet. It is a tree of boxes, each with half of the triangles of
// the box above (a bounding volume hierarchy).
type meshTree struct {
	faces []triangle
	nodes []meshNode
}

// triangle is a corner, the two sides from there, and the normal, of any length, in the geom's frame.
type triangle struct{ a, u, v, n r3.Vec }

// meshNode is a box. A leaf holds count triangles from first on. Otherwise count is 0, and the boxes below are the next
// node and the node first.
type meshNode struct {
	low, high    [3]float64
	first, count int
}

// newMeshTree makes the tree of a mesh of vertices (V, 3) and faces (F, 3).
func newMeshTree(vertices []float32, faces []int32) *meshTree {
	t := &meshTree{}
	for f := faces; len(f) >= 3; f = f[3:] {
		a := vertex(vertices, f[0])
		u, v := r3.Sub(vertex(vertices, f[1]), a), r3.Sub(vertex(vertices, f[2]), a)
		t.faces = append(t.faces, triangle{a, u, v, r3.Cross(u, v)})
	}
	t.divide(0, len(t.faces))
	return t
}

// divide appends the node of the triangles from first to last-1, and what is below it.
func (t *meshTree) divide(first, last int) {
	n := meshNode{first: first, count: last - first}
	for k := range n.low {
		n.low[k], n.high[k] = math.Inf(1), math.Inf(-1)
	}
	faces := t.faces[first:last]
	for i := range faces {
		f := &faces[i]
		for _, p := range [3]r3.Vec{f.a, r3.Add(f.a, f.u), r3.Add(f.a, f.v)} {
			for k, x := range [3]float64{p.X, p.Y, p.Z} {
				n.low[k], n.high[k] = min(n.low[k], x), max(n.high[k], x)
			}
		}
	}
	at := len(t.nodes)
	t.nodes = append(t.nodes, n)
	if n.count <= leafFaces {
		return
	}
	axis := 0
	for k := range n.low {
		if n.high[k]-n.low[k] > n.high[axis]-n.low[axis] {
			axis = k
		}
	}
	middle := func(f *triangle) float64 {
		p := r3.Add(f.a, r3.Scale(1.0/3, r3.Add(f.u, f.v)))
		return [3]float64{p.X, p.Y, p.Z}[axis]
	}
	slices.SortFunc(faces, func(a, b triangle) int { return cmp.Compare(middle(&a), middle(&b)) })
	t.divide(first, first+n.count/2)
	t.nodes[at].first, t.nodes[at].count = len(t.nodes), 0
	t.divide(first+n.count/2, last)
}

// hit intersects the ray from o along d with the mesh and returns the nearest point, as [solid.hit] does.
func (t *meshTree) hit(o, d r3.Vec) (at float64, normal r3.Vec, ok bool) {
	if len(t.faces) == 0 {
		return 0, normal, false
	}
	at = math.Inf(1)
	origin, inverse := [3]float64{o.X, o.Y, o.Z}, [3]float64{1 / d.X, 1 / d.Y, 1 / d.Z}
	var stack [64]int // deeper than a tree of 2³¹ triangles
	for size := 1; size > 0; {
		size--
		i := stack[size]
		n := &t.nodes[i]
		if !n.meets(&origin, &inverse, at) {
			continue
		}
		if n.count == 0 {
			stack[size], stack[size+1] = i+1, n.first
			size += 2
			continue
		}
		for k := range t.faces[n.first : n.first+n.count] {
			f := &t.faces[n.first+k]
			if x, meets := f.hit(o, d); meets && x < at {
				at, normal, ok = x, f.n, true
			}
		}
	}
	return at, normal, ok
}

// meets reports whether the ray meets the box before it has gone limit. inverse is 1/d; a component of d may be 0.
func (n *meshNode) meets(o, inverse *[3]float64, limit float64) bool {
	near, far := 0.0, limit
	for k := range o {
		t0, t1 := (n.low[k]-o[k])*inverse[k], (n.high[k]-o[k])*inverse[k]
		if t0 > t1 {
			t0, t1 = t1, t0
		}
		// A NaN, from 0 · ∞ in the plane of a face, fails both comparisons and changes nothing.
		if t0 > near {
			near = t0
		}
		if t1 < far {
			far = t1
		}
	}
	return near <= far
}

// hit intersects the ray with the front of the triangle, after Möller and Trumbore.
func (f *triangle) hit(o, d r3.Vec) (at float64, ok bool) {
	steep := r3.Dot(d, f.n)
	if steep >= 0 {
		return 0, false // the ray meets the back of the triangle, or is parallel to it
	}
	from := r3.Sub(f.a, o)
	at = r3.Dot(from, f.n) / steep
	cross := r3.Cross(from, d)
	y, z := r3.Dot(f.v, cross)/steep, -r3.Dot(f.u, cross)/steep
	return at, at > 0 && y >= 0 && z >= 0 && y+z <= 1
}
