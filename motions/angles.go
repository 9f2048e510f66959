package motions

import (
	"math"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// angles writes the values of a body's joints at which they turn the body by q against its parent: the quaternion of a
// ball joint, the angle of one hinge (the part of q about its axis), of two hinges (the part of q that they can reach),
// or of three hinges at right angles, which reach every rotation. near is the row before, or nil: hinges take the
// solution nearest to near, so that no angle jumps by a full turn from frame to frame.
//
// Three hinges at right angles have two solutions, (a, b, c) and (a + π, π − b, c + π). Near a quarter turn of the
// middle hinge (gimbal lock) the outer two cannot be told apart: there the first hinge keeps its angle of near.
func (b *Body) angles(q rotation.Quat, out, near []float64) {
	switch joints := b.Joints; {
	case len(joints) == 0:
	case joints[0].Kind == Rotation:
		if near != nil && q.Dot(rotation.Of(near)) < 0 {
			q = rotation.Quat{-q[0], -q[1], -q[2], -q[3]}
		}
		copy(out, q[:])
	case len(joints) == 1:
		axis := joints[0].Axis
		out[0] = math.Remainder(2*math.Atan2(q[1]*axis[0]+q[2]*axis[1]+q[3]*axis[2], q[0]), 2*math.Pi)
		unwrap(out, near)
	default:
		e1, e2 := joints[0].Axis, joints[1].Axis
		e3, sign := rotation.Cross(e1, e2), 1.0
		if len(joints) > 2 && dot(joints[2].Axis, e3) < 0 {
			sign = -1 // the third hinge turns about −e3
		}
		x, y, z := q.Rotate(e1), q.Rotate(e2), q.Rotate(e3)
		r02, r12, r22 := dot(e1, z), dot(e2, z), dot(e3, z)
		r00, r01 := dot(e1, x), dot(e1, y)
		solution := [3]float64{math.Atan2(-r12, r22), math.Asin(max(-1, min(1, r02))), sign * math.Atan2(-r01, r00)}
		if math.Hypot(r12, r22) < 1e-6 { // locked: the first hinge keeps its angle, the third does the rest
			solution[0] = 0
			if near != nil {
				solution[0] = near[0]
			}
			solution[2] = sign * (math.Atan2(dot(e2, x), dot(e2, y)) - math.Copysign(solution[0], r02*solution[0]))
		}
		copy(out, solution[:len(joints)])
		unwrap(out, near)
		if near == nil || len(joints) < 3 {
			return
		}
		other := []float64{solution[0] + math.Pi, math.Pi - solution[1], solution[2] + math.Pi}
		unwrap(other, near)
		if squaredDistance(other, near) < squaredDistance(out, near) {
			copy(out, other)
		}
	}
}

// unwrap moves angles by full turns to within half a turn of those in near.
func unwrap(angles, near []float64) {
	for i := range min(len(angles), len(near)) {
		angles[i] = near[i] + math.Remainder(angles[i]-near[i], 2*math.Pi)
	}
}

// squaredDistance returns the squared distance between two vectors.
func squaredDistance(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += (x - b[i]) * (x - b[i])
	}
	return sum
}
