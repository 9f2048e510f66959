package mujoco

// #include "engine.h"
import "C"

import (
	"image/color"
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// solid is a geom in a picture.
type solid struct {
	shape *shape
	// pos is the geom's centre in the world, in metres.
	pos r3.Vec
	// mat is the rotation from the geom's frame into the world.
	mat   *r3.Mat
	color color.RGBA
	// radius is that of a ball around pos that contains the geom, in metres.
	radius float64
}

// reach returns the radius of a ball around the geom's centre that contains the geom. It is 0 for planes and height
// fields, which are not drawn as solids.
func (s *shape) reach() float64 {
	a, b, c := s.Size[0], s.Size[1], s.Size[2]
	switch s.kind {
	case C.mjGEOM_SPHERE:
		return a
	case C.mjGEOM_CAPSULE:
		return a + b
	case C.mjGEOM_CYLINDER:
		return math.Hypot(a, b)
	case C.mjGEOM_ELLIPSOID:
		return max(a, b, c)
	case C.mjGEOM_BOX:
		return math.Sqrt(a*a + b*b + c*c)
	case C.mjGEOM_MESH:
		r := 0.0
		for v := s.Vertices; len(v) >= 3; v = v[3:] {
			r = max(r, r3.Norm(vertex(v, 0)))
		}
		return r
	}
	return 0
}

// vertex returns point i of v (V, 3).
func vertex(v []float32, i int32) r3.Vec {
	return r3.Vec{X: float64(v[3*i]), Y: float64(v[3*i+1]), Z: float64(v[3*i+2])}
}

// hit returns the first point at which the ray from o along d meets the geom. t is the distance in units of d's length,
// normal the outward unit normal at the point. The functions below do the same in the geom's frame. Their normals have
// any length.
func (s *solid) hit(o, d r3.Vec) (t float64, normal r3.Vec, ok bool) {
	o, d = s.mat.MulVecTrans(r3.Sub(o, s.pos)), s.mat.MulVecTrans(d)
	a, b := s.shape.Size[0], s.shape.Size[1]
	switch s.shape.kind {
	case C.mjGEOM_SPHERE:
		t, ok = hitBall(o, d, a)
		normal = r3.Add(o, r3.Scale(t, d))
	case C.mjGEOM_ELLIPSOID:
		c := s.shape.Size[2]
		// Scaling the axes makes the ellipsoid a unit ball. The normal is the gradient, which is scaled twice.
		inverse := func(v r3.Vec) r3.Vec { return r3.Vec{X: v.X / a, Y: v.Y / b, Z: v.Z / c} }
		t, ok = hitBall(inverse(o), inverse(d), 1)
		normal = inverse(inverse(r3.Add(o, r3.Scale(t, d))))
	case C.mjGEOM_CAPSULE:
		t, normal, ok = hitTube(o, d, a, b)
		for _, z := range [2]float64{-b, b} {
			end := r3.Vec{X: o.X, Y: o.Y, Z: o.Z - z}
			if u, yes := hitBall(end, d, a); yes && (!ok || u < t) {
				t, normal, ok = u, r3.Add(end, r3.Scale(u, d)), true
			}
		}
	case C.mjGEOM_CYLINDER:
		t, normal, ok = hitTube(o, d, a, b)
		for _, z := range [2]float64{-b, b} {
			u := (z - o.Z) / d.Z
			if p := r3.Add(o, r3.Scale(u, d)); u > 0 && p.X*p.X+p.Y*p.Y <= a*a && (!ok || u < t) {
				t, normal, ok = u, r3.Vec{Z: z}, true
			}
		}
	case C.mjGEOM_BOX:
		t, normal, ok = hitBox(o, d, s.shape.Size)
	case C.mjGEOM_MESH:
		t, normal, ok = s.shape.mesh.hit(o, d)
	}
	if !ok {
		return 0, normal, false
	}
	return t, r3.Unit(s.mat.MulVec(normal)), true
}

// hitBall intersects the ray with the ball around the origin.
func hitBall(o, d r3.Vec, radius float64) (float64, bool) {
	a, b, c := r3.Dot(d, d), r3.Dot(o, d), r3.Dot(o, o)-radius*radius
	root := b*b - a*c
	if root < 0 {
		return 0, false
	}
	t := (-b - math.Sqrt(root)) / a
	return t, t > 0
}

// hitTube intersects the ray with the side of the cylinder about z from −half to half, without its ends.
func hitTube(o, d r3.Vec, radius, half float64) (t float64, normal r3.Vec, ok bool) {
	a, b, c := d.X*d.X+d.Y*d.Y, o.X*d.X+o.Y*d.Y, o.X*o.X+o.Y*o.Y-radius*radius
	root := b*b - a*c
	if root < 0 || a == 0 {
		return 0, normal, false
	}
	t = (-b - math.Sqrt(root)) / a
	p := r3.Add(o, r3.Scale(t, d))
	return t, r3.Vec{X: p.X, Y: p.Y}, t > 0 && math.Abs(p.Z) <= half
}

// hitBox intersects the ray with the box of half sides size, as the intersection of three slabs. The face is the one
// that is entered last.
func hitBox(o, d r3.Vec, size [3]float64) (t float64, normal r3.Vec, ok bool) {
	near, far, axis, side := math.Inf(-1), math.Inf(1), 0, 0.0
	for i, p := range [3][2]float64{{o.X, d.X}, {o.Y, d.Y}, {o.Z, d.Z}} {
		t0, t1 := (-size[i]-p[0])/p[1], (size[i]-p[0])/p[1]
		s := -1.0
		if t0 > t1 {
			t0, t1, s = t1, t0, 1
		}
		if t0 > near {
			near, axis, side = t0, i, s
		}
		far = min(far, t1)
	}
	var n [3]float64
	n[axis] = side
	return near, r3.Vec{X: n[0], Y: n[1], Z: n[2]}, near < far && near > 0
}
