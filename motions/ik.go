package motions

import (
	"math"

	"github.com/gorl-dev/gorl/internal/rotation"

	"gonum.org/v1/gonum/mat"
)

// solver changes a skeleton's row to minimise weighted squares of residuals, within the joints' limits: inverse
// kinematics by the method of Levenberg and Marquardt.
type solver struct {
	*pose
	row []float64
	// dofs are the root's three translations and three rotations about the world's axes, then the joints' rotations.
	// moves has, for each body, the indices of the degrees of freedom that move it.
	dofs  []dof
	moves [][]int
	pairs [][2]part
	// h, g and cost are the sums of JᵀJ, Jᵀr and r² over the residuals r with Jacobian J.
	h       *mat.SymDense
	g       []float64
	cost    float64
	derives bool // h and g are computed too, not only cost
	column  []float64
	trial   []float64
}

// dof is one degree of freedom: a translation along an axis or a rotation about it.
type dof struct {
	body, at     int // at is the first index of its joint in a row
	kind         Kind
	component    int        // of a rotation or of the root's position
	local        [3]float64 // a hinge's axis in its body's frame
	axis         [3]float64 // in the world
	lower, upper float64
}

// part is a capsule and its body.
type part struct {
	body int
	Capsule
}

// clearance is the distance in metres that capsules keep from each other.
const clearance = 0.01

func newSolver(s *Skeleton) *solver {
	v := &solver{pose: newPose(s, s.zero()), row: s.zero(), trial: make([]float64, s.Width())}
	at := 7
	for i := range s.Bodies {
		b := &s.Bodies[i]
		if i == 0 {
			for k := range 6 {
				d := dof{kind: Travel, component: k % 3, lower: math.Inf(-1), upper: math.Inf(1)}
				if d.axis[k%3] = 1; k >= 3 {
					d.at, d.kind = 3, Rotation
				}
				v.dofs = append(v.dofs, d)
			}
			v.moves = append(v.moves, []int{0, 1, 2, 3, 4, 5})
			continue
		}
		moves := append([]int(nil), v.moves[b.Parent]...)
		for _, j := range b.Joints {
			n, lower, upper := j.Kind.VelocityWidth(), math.Inf(-1), math.Inf(1)
			if j.limited() {
				lower, upper = j.Lower, j.Upper
			}
			for k := range n {
				moves = append(moves, len(v.dofs))
				v.dofs = append(v.dofs, dof{body: i, at: at, kind: j.Kind, component: k, local: j.Axis,
					lower: lower, upper: upper})
			}
			at += j.Kind.Width()
		}
		v.moves = append(v.moves, moves)
	}
	for _, d := range v.dofs {
		if d.kind == Hinge {
			v.row[d.at] = max(d.lower, min(d.upper, 0))
		}
	}
	v.findPairs()
	n := len(v.dofs)
	v.h, v.g, v.column = mat.NewSymDense(n, nil), make([]float64, n), make([]float64, n)
	return v
}

// findPairs lists the pairs of capsules that must not touch: not of neighbours, and apart in the zero pose.
func (v *solver) findPairs() {
	var all []part
	for i, b := range v.skeleton.Bodies {
		for _, c := range b.Capsules {
			all = append(all, part{i, c})
		}
	}
	bodies := v.skeleton.Bodies
	near := func(a, b int) bool { // b after a
		p := bodies[b].Parent
		return a == b || p == a || p >= 0 && bodies[p].Parent == a || p == bodies[a].Parent
	}
	for i, b := range all {
		for _, a := range all[:i] {
			if near(min(a.body, b.body), max(a.body, b.body)) {
				continue
			}
			if gap, _, _, _ := v.gap(a, b); gap > 0 {
				v.pairs = append(v.pairs, [2]part{a, b})
			}
		}
	}
}

// move computes the places of bodies and axes for the row.
func (v *solver) move() {
	v.set(v.row)
	q, last := rotation.Quat{}, 0
	for i := 6; i < len(v.dofs); i++ {
		d := &v.dofs[i]
		b := &v.skeleton.Bodies[d.body]
		if d.body != last {
			q, last = v.rotation(b.Parent), d.body
			if b.Orientation != [4]float64{} {
				q = q.Mul(b.Orientation)
			}
		}
		if d.kind == Rotation {
			if d.component == 0 {
				q = q.Mul(rotation.Of(v.row[d.at:]))
			}
			d.axis = [3]float64{}
			d.axis[d.component] = 1
			d.axis = q.Rotate(d.axis)
			continue
		}
		d.axis = q.Rotate(d.local)
		q = q.Mul(rotation.About(d.local, v.row[d.at]))
	}
}

// velocity returns the derivative of a point of the world by a degree of freedom.
func (v *solver) velocity(d *dof, p [3]float64) [3]float64 {
	if d.kind == Travel {
		return d.axis
	}
	return rotation.Cross(d.axis, sub(p, v.position(d.body)))
}

// addResidual adds a residual. Its derivatives are in column, which is then cleared.
func (v *solver) addResidual(residual, weight float64) {
	w := weight * weight
	v.cost += w * residual * residual
	if !v.derives {
		return
	}
	n := len(v.column)
	for i, a := range v.column {
		if a == 0 {
			continue
		}
		v.g[i] += w * a * residual
		for k := i; k < n; k++ {
			if b := v.column[k]; b != 0 {
				v.h.SetSym(i, k, v.h.At(i, k)+w*a*b)
			}
		}
	}
	clear(v.column)
}

// along adds the derivatives of a body's point, in the world, along a direction to the column.
func (v *solver) along(body int, p, direction [3]float64) {
	if !v.derives {
		return
	}
	for _, m := range v.moves[body] {
		v.column[m] += dot(direction, v.velocity(&v.dofs[m], p))
	}
}

// addPlace pulls a point, in a body's frame, to a place in the world. Weights are for x, y and z.
func (v *solver) addPlace(body int, at, place, weights [3]float64) {
	p := v.point(body, at)
	for k, w := range weights {
		if w > 0 {
			direction := [3]float64{}
			direction[k] = 1
			v.along(body, p, direction)
			v.addResidual(place[k]-p[k], w)
		}
	}
}

// addTurn adds residuals that pull a body to a rotation.
func (v *solver) addTurn(body int, want rotation.Quat, weight float64) {
	for k, r := range rotation.Vector(v.rotation(body), want) {
		for _, m := range v.moves[body] {
			if d := &v.dofs[m]; v.derives && d.kind != Travel {
				v.column[m] = d.axis[k]
			}
		}
		v.addResidual(r, weight)
	}
}

// addRow adds residuals that pull the row to another one, with a weight for the root and one for the joints.
func (v *solver) addRow(row []float64, root, joints float64) {
	for i := range v.dofs {
		d, residual, weight := &v.dofs[i], 0.0, joints
		if i < 6 {
			weight = root
		}
		switch {
		case d.kind == Travel:
			residual = row[d.component] - v.row[d.component]
		case d.kind == Hinge:
			residual = row[d.at] - v.row[d.at]
		case i < 6:
			residual = rotation.Vector(rotation.Of(v.row[3:]), rotation.Of(row[3:]))[d.component]
		default: // about the body's own axes
			q := rotation.Of(v.row[d.at:]).Conj().Mul(rotation.Of(row[d.at:]))
			residual = q.Log()[d.component]
		}
		if v.derives {
			v.column[i] = 1
		}
		v.addResidual(residual, weight)
	}
}

// addApart adds residuals that push capsules apart that are nearer than clearance.
func (v *solver) addApart(weight float64) {
	for _, pair := range v.pairs {
		gap, a, b, away := v.gap(pair[0], pair[1])
		if gap >= clearance {
			continue
		}
		v.along(pair[0].body, a, away)
		v.along(pair[1].body, b, [3]float64{-away[0], -away[1], -away[2]})
		v.addResidual(clearance-gap, weight)
	}
}

// gap returns the distance between the surfaces of two capsules, the points of their lines that are nearest to each
// other, and the unit vector from the second to the first.
func (v *solver) gap(one, two part) (gap float64, a, b, away [3]float64) {
	p, q := v.point(one.body, one.From), v.point(two.body, two.From)
	u, w := sub(v.point(one.body, one.To), p), sub(v.point(two.body, two.To), q)
	r := sub(p, q)
	uu, ww, uw, ur, wr := dot(u, u), dot(w, w), dot(u, w), dot(u, r), dot(w, r)
	if reach := math.Sqrt(uu) + math.Sqrt(ww) + one.Radius + two.Radius + clearance; dot(r, r) > reach*reach {
		return math.Inf(1), a, b, away
	}
	s := 0.0 // s and t are the points' places on the lines, from 0 to 1
	if det := uu*ww - uw*uw; det > 1e-12 {
		s = unit((uw*wr - ww*ur) / det)
	}
	t := 0.0
	if ww > 0 {
		t = unit((uw*s + wr) / ww)
	}
	if uu > 0 {
		s = unit((uw*t - ur) / uu)
	}
	a, b = add(p, scale(s, u)), add(q, scale(t, w))
	away = sub(a, b)
	n := norm(away)
	if n < 1e-9 {
		return -one.Radius - two.Radius, a, b, [3]float64{0, 1, 0}
	}
	for k := range away {
		away[k] /= n
	}
	return n - one.Radius - two.Radius, a, b, away
}

// evaluate computes the cost and its derivatives. terms adds all residuals.
func (v *solver) evaluate(terms func()) {
	v.derives, v.cost = true, 0
	v.h.Zero()
	clear(v.g)
	terms()
	v.derives = false
}

// solve changes the row until no step reduces the cost. terms adds all residuals.
func (v *solver) solve(terms func(), steps int) {
	damping := 1e-6
	v.move()
	for range steps {
		v.evaluate(terms)
		before := v.cost
		moved := false
		for ; damping < 1e4; damping *= 10 {
			copy(v.trial, v.row)
			size := v.step(damping)
			v.cost = 0
			v.move()
			terms()
			if v.cost < before {
				moved = size > 1e-9 && before-v.cost > 1e-9*before
				break
			}
			copy(v.row, v.trial)
			if size < 1e-9 {
				break
			}
		}
		if !moved {
			break
		}
		damping = max(1e-9, damping/30)
	}
	v.move()
}

// step moves the row by a damped Newton step and returns the largest change. Joints at a limit stay there if the step
// would take them beyond.
func (v *solver) step(damping float64) float64 {
	n := len(v.dofs)
	a, delta := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	free := make([]bool, n)
	for i, d := range v.dofs {
		x := v.row[d.at]
		free[i] = !(d.kind == Hinge && (x <= d.lower && v.g[i] < 0 || x >= d.upper && v.g[i] > 0))
	}
	for i := range n {
		for k := i; k < n; k++ {
			if free[i] && free[k] {
				a.SetSym(i, k, v.h.At(i, k))
			}
		}
		a.SetSym(i, i, a.At(i, i)*(1+damping)+damping*1e-3+1e-12)
		if free[i] {
			delta.SetVec(i, v.g[i])
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(a) || chol.SolveVecTo(delta, delta) != nil {
		return 1 // more damping is needed
	}
	largest := 0.0
	for i, d := range v.dofs {
		x := delta.AtVec(i)
		largest = max(largest, math.Abs(x))
		switch {
		case d.kind == Travel:
			v.row[d.component] += x
		case d.kind == Hinge:
			v.row[d.at] = max(d.lower, min(d.upper, v.row[d.at]+x))
		case d.component == 0: // all three components of a rotation
			turn := rotation.Exp([]float64{x, delta.AtVec(i + 1), delta.AtVec(i + 2)})
			q := rotation.Of(v.row[d.at:])
			if i < 6 {
				q = turn.Mul(q)
			} else {
				q = q.Mul(turn)
			}
			copy(v.row[d.at:d.at+4], q[:])
		}
	}
	return largest
}

// pressed reports which hinges would go beyond their limit by more than limitTolerance.
func (v *solver) pressed(terms func()) []bool {
	v.evaluate(terms)
	out := make([]bool, len(v.dofs))
	for i, d := range v.dofs {
		if d.kind == Hinge && (v.row[d.at] <= d.lower || v.row[d.at] >= d.upper) {
			out[i] = math.Abs(v.g[i]) > limitTolerance*v.h.At(i, i)
		}
	}
	return out
}
