package mujoco

// #include "engine.h"
import "C"

import (
	"cmp"
	"math"
	"slices"
)

// point is a place in the plane of the picture in the side view, in metres.
type point struct{ x, z float64 }

const arc = 40 // points on a full circle

// circle yields sine and cosine of arc angles at equal distances on a full circle.
func circle(yield func(sin, cos float64) bool) {
	for i := range arc {
		if !yield(math.Sincos(2 * math.Pi * float64(i) / arc)) {
			return
		}
	}
}

// silhouette returns the outline of a geom seen along y, counter-clockwise. It is nil for planes and height fields. pos
// (3) is the geom's centre and mat (9, row-major) its orientation. The outline is the convex hull of the geom's points,
// also for a mesh that is not convex.
func (s *shape) silhouette(pos, mat []float64) []point {
	// at projects a point of the geom's frame into the picture.
	at := func(x, y, z float64) point {
		return point{pos[0] + mat[0]*x + mat[1]*y + mat[2]*z, pos[2] + mat[6]*x + mat[7]*y + mat[8]*z}
	}
	var pts []point
	disc := func(c point, r float64) {
		for sin, cos := range circle {
			pts = append(pts, point{c.x + r*cos, c.z + r*sin})
		}
	}
	a, b, c := s.size[0], s.size[1], s.size[2]
	switch s.kind {
	case C.mjGEOM_SPHERE:
		disc(at(0, 0, 0), a)
	case C.mjGEOM_CAPSULE:
		disc(at(0, 0, b), a)
		disc(at(0, 0, -b), a)
	case C.mjGEOM_CYLINDER:
		for sin, cos := range circle {
			pts = append(pts, at(a*cos, a*sin, b), at(a*cos, a*sin, -b))
		}
	case C.mjGEOM_ELLIPSOID:
		// The farthest point in direction n of the image of the unit ball under A is A A'n / |A'n|.
		for nz, nx := range circle {
			var v [3]float64
			for j, r := range s.size {
				v[j] = r * (mat[j]*nx + mat[6+j]*nz)
			}
			length := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
			if length > 0 {
				pts = append(pts, at(a*v[0]/length, b*v[1]/length, c*v[2]/length))
			}
		}
	case C.mjGEOM_BOX:
		for i := range 8 {
			sign := func(bit int) float64 { return float64(i>>bit&1)*2 - 1 }
			pts = append(pts, at(a*sign(0), b*sign(1), c*sign(2)))
		}
	case C.mjGEOM_MESH:
		for v := s.vertices; len(v) >= 3; v = v[3:] {
			pts = append(pts, at(float64(v[0]), float64(v[1]), float64(v[2])))
		}
	}
	return hull(pts)
}

// hull returns the convex hull, counter-clockwise (Andrew's monotone chain). It reorders pts.
func hull(pts []point) []point {
	if len(pts) < 3 {
		return nil
	}
	slices.SortFunc(pts, func(a, b point) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.z, b.z)) })
	var out []point
	// half appends one half of the hull. Its last point begins the other half and is left out.
	half := func(at func(int) point) {
		start := len(out)
		for i := range pts {
			p := at(i)
			for len(out) >= start+2 && turn(out[len(out)-2], out[len(out)-1], p) <= 0 {
				out = out[:len(out)-1]
			}
			out = append(out, p)
		}
		out = out[:len(out)-1]
	}
	half(func(i int) point { return pts[i] })
	half(func(i int) point { return pts[len(pts)-1-i] })
	if len(out) < 3 {
		return nil
	}
	return out
}

// turn is positive if the way from a over b to c turns left (counter-clockwise).
func turn(a, b, c point) float64 { return (b.x-a.x)*(c.z-a.z) - (b.z-a.z)*(c.x-a.x) }

// grown returns the convex outline with its edges moved outwards by d metres, or inwards if d is negative.
func grown(outline []point, d float64) []point {
	n := len(outline)
	out := make([]point, 0, n)
	for i, p := range outline {
		before, after := outline[(i+n-1)%n], outline[(i+1)%n]
		n1, n2 := normal(before, p), normal(p, after)
		sx, sz := n1.x+n2.x, n1.z+n2.z
		// Both edges move by d if the corner moves by d (n1+n2) / (1 + n1·n2). The bound of 0.5 keeps sharp corners
		// from moving far.
		k := d / max(0.5, 1+n1.x*n2.x+n1.z*n2.z)
		out = append(out, point{p.x + k*sx, p.z + k*sz})
	}
	return out
}

// normal returns the unit vector to the right of the way from a to b, which points outwards for a counter-clockwise
// outline. It is zero if a equals b.
func normal(a, b point) point {
	dx, dz := b.x-a.x, b.z-a.z
	l := math.Hypot(dx, dz)
	if l == 0 {
		return point{}
	}
	return point{dz / l, -dx / l}
}
