// Package rotation computes with rotations of space as unit quaternions in the order w, x, y, z, in which MuJoCo's rows
// and those of clips hold them. A row converts without copying its parts by name, unlike gonum's quat.Number. A vector
// is turned by 18 products, r3.Rotation needs 32.
package rotation

import "math"

// Quat is a unit quaternion w, x, y, z.
type Quat [4]float64

// Of returns the quaternion at the beginning of a row.
func Of(row []float64) Quat { return Quat(row[:4]) }

// Mul returns the rotation by b and then by a.
func (a Quat) Mul(b Quat) Quat {
	return Quat{
		a[0]*b[0] - a[1]*b[1] - a[2]*b[2] - a[3]*b[3],
		a[0]*b[1] + a[1]*b[0] + a[2]*b[3] - a[3]*b[2],
		a[0]*b[2] - a[1]*b[3] + a[2]*b[0] + a[3]*b[1],
		a[0]*b[3] + a[1]*b[2] - a[2]*b[1] + a[3]*b[0],
	}
}

// Conj returns the inverse rotation.
func (a Quat) Conj() Quat { return Quat{a[0], -a[1], -a[2], -a[3]} }

// Dot returns the scalar product, which is ±1 for equal rotations.
func (a Quat) Dot(b Quat) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] + a[3]*b[3] }

// Rotate turns a vector.
func (a Quat) Rotate(v [3]float64) [3]float64 {
	w, x, y, z := a[0], a[1], a[2], a[3]
	tx, ty, tz := 2*(y*v[2]-z*v[1]), 2*(z*v[0]-x*v[2]), 2*(x*v[1]-y*v[0])
	return [3]float64{v[0] + w*tx + y*tz - z*ty, v[1] + w*ty + z*tx - x*tz, v[2] + w*tz + x*ty - y*tx}
}

// AngleTo returns the angle in radians of the rotation between a and b, in [0, π].
func (a Quat) AngleTo(b Quat) float64 {
	v := Vector(a, b)
	return math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
}

// Heading returns the angle in radians by which the rotation turns the x axis about z, seen from above.
func (a Quat) Heading() float64 {
	return math.Atan2(2*(a[1]*a[2]+a[0]*a[3]), 1-2*(a[2]*a[2]+a[3]*a[3]))
}

// Slerp interpolates from a to b along the shorter arc at constant angular speed.
func Slerp(a, b Quat, f float64) Quat {
	d := a.Dot(b)
	sign := 1.0
	if d < 0 { // −b is the same rotation and nearer to a
		d, sign = -d, -1
	}
	ka, kb := 1-f, f
	if d < 1-1e-9 { // otherwise linear: the angle's sine vanishes
		angle := math.Acos(d)
		s := math.Sin(angle)
		ka, kb = math.Sin((1-f)*angle)/s, math.Sin(f*angle)/s
	}
	var q Quat
	n := 0.0
	for i := range q {
		q[i] = ka*a[i] + sign*kb*b[i]
		n += q[i] * q[i]
	}
	n = math.Sqrt(n)
	for i := range q {
		q[i] /= n
	}
	return q
}

// Log returns axis times angle in radians of the rotation, the shorter way. [Exp] is its inverse.
func (a Quat) Log() [3]float64 {
	if a[0] < 0 {
		a = Quat{-a[0], -a[1], -a[2], -a[3]}
	}
	s := math.Sqrt(a[1]*a[1] + a[2]*a[2] + a[3]*a[3])
	k := 2.0 // the limit for small angles
	if s >= 1e-12 {
		k = 2 * math.Atan2(s, a[0]) / s
	}
	return [3]float64{k * a[1], k * a[2], k * a[3]}
}

// Vector returns axis times angle, in the world, of the shorter rotation from a to b.
func Vector(a, b Quat) [3]float64 { return b.Mul(a.Conj()).Log() }

// About returns the rotation by an angle in radians about a unit axis.
func About(axis [3]float64, angle float64) Quat {
	s, c := math.Sincos(angle / 2)
	return Quat{c, s * axis[0], s * axis[1], s * axis[2]}
}

// Exp returns the rotation about v by the length of v (the exponential map).
func Exp(v []float64) Quat {
	angle := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
	if angle < 1e-12 {
		return Quat{1, v[0] / 2, v[1] / 2, v[2] / 2}
	}
	return About([3]float64{v[0] / angle, v[1] / angle, v[2] / angle}, angle)
}

// Cross returns the vector product, for instance of an angular velocity and an arm.
func Cross(a, b [3]float64) [3]float64 {
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// Frame is a heading frame, the world turned about the vertical by a heading, whose sine and cosine it holds.
type Frame struct{ sin, cos float64 }

// Facing returns the frame in which the x axis of a rotation points ahead.
func Facing(q Quat) Frame {
	sin, cos := math.Sincos(q.Heading())
	return Frame{sin, cos}
}

// Turn returns a vector of the world in the frame.
func (f Frame) Turn(v [3]float64) [3]float64 {
	return [3]float64{f.cos*v[0] + f.sin*v[1], f.cos*v[1] - f.sin*v[0], v[2]}
}
