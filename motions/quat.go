package motions

import "math"

// quat is a unit quaternion w, x, y, z.
type quat [4]float64

func quatOf(v []float64) quat { return quat{v[0], v[1], v[2], v[3]} }

func (a quat) mul(b quat) quat {
	return quat{
		a[0]*b[0] - a[1]*b[1] - a[2]*b[2] - a[3]*b[3],
		a[0]*b[1] + a[1]*b[0] + a[2]*b[3] - a[3]*b[2],
		a[0]*b[2] - a[1]*b[3] + a[2]*b[0] + a[3]*b[1],
		a[0]*b[3] + a[1]*b[2] - a[2]*b[1] + a[3]*b[0],
	}
}

func (a quat) conj() quat { return quat{a[0], -a[1], -a[2], -a[3]} }

func (a quat) dot(b quat) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] + a[3]*b[3] }

// slerp interpolates from a to b along the shorter arc at constant angular speed.
func slerp(a, b quat, f float64) quat {
	d := a.dot(b)
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
	var q quat
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

// rotationVector returns axis times angle of the shorter rotation from a to b.
func rotationVector(a, b quat) [3]float64 {
	q := b.mul(a.conj())
	if q[0] < 0 {
		q = quat{-q[0], -q[1], -q[2], -q[3]}
	}
	s := math.Sqrt(q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
	if s < 1e-12 {
		return [3]float64{2 * q[1], 2 * q[2], 2 * q[3]}
	}
	k := 2 * math.Atan2(s, q[0]) / s
	return [3]float64{k * q[1], k * q[2], k * q[3]}
}

// turnAbout returns the rotation by an angle about a unit axis.
func turnAbout(axis [3]float64, angle float64) quat {
	s, c := math.Sincos(angle / 2)
	return quat{c, s * axis[0], s * axis[1], s * axis[2]}
}

// exponential returns the rotation about v by the length of v (the exponential map).
func exponential(v []float64) quat {
	angle := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
	if angle < 1e-12 {
		return quat{1, v[0] / 2, v[1] / 2, v[2] / 2}
	}
	return turnAbout([3]float64{v[0] / angle, v[1] / angle, v[2] / angle}, angle)
}

// rotate turns a vector.
func (a quat) rotate(v [3]float64) [3]float64 {
	w, x, y, z := a[0], a[1], a[2], a[3]
	tx, ty, tz := 2*(y*v[2]-z*v[1]), 2*(z*v[0]-x*v[2]), 2*(x*v[1]-y*v[0])
	return [3]float64{v[0] + w*tx + y*tz - z*ty, v[1] + w*ty + z*tx - x*tz, v[2] + w*tz + x*ty - y*tx}
}

// angleTo returns the angle of the rotation between a and b, in [0, π].
func (a quat) angleTo(b quat) float64 { return norm(rotationVector(a, b)) }

// heading returns the angle by which the rotation turns the x axis about z, seen from above.
func (a quat) heading() float64 {
	x := a.rotate([3]float64{1, 0, 0})
	return math.Atan2(x[1], x[0])
}

func norm(v [3]float64) float64 { return math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2]) }

func cross(a, b [3]float64) [3]float64 {
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func unit(x float64) float64 { return max(0, min(1, x)) }

func sub(a, b [3]float64) [3]float64 { return [3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
