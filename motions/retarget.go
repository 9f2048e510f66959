package motions

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// RetargetConfig says how a clip is carried over to another skeleton.
type RetargetConfig struct {
	// Bodies names, for bodies of the target, the body of the source that they follow. Bodies that are not named keep
	// the target's zero pose against their parents. Nil: [BodyNames], which knows the names of many humanoids.
	Bodies map[string]string
	// Rest is a row of the source in which it stands straight, looking forward, in a pose that the target's limbs can
	// be turned to: a T-pose, or with arms down. Nil: its zero pose. Files whose zero pose is neither (LAFAN1's) need
	// it.
	Rest []float64
}

// Retarget carries a clip with a skeleton over to another. Every named body of the target turns as its body of the
// source turns, from the rest pose on, in which limbs that point elsewhere than the target's (arms in a T-pose) are
// turned to fit. The root's way is scaled by the legs' lengths. Hinges take what of the rotation they can reach, and
// joints stay within their limits; [Clip.Repairs] says how many had to be held there. The result stands on the floor.
//
// It fails for clips without a skeleton, for names that are not there, and for target joints that are not balls or
// hinges at right angles.
func (c *Clip) Retarget(target *Skeleton, cfg RetargetConfig) (*Clip, error) {
	out, err := c.retarget(target, cfg)
	if err != nil {
		return nil, fmt.Errorf("motions: %s: %w", nameOr(c.name), err)
	}
	return out, nil
}

func (c *Clip) retarget(target *Skeleton, cfg RetargetConfig) (*Clip, error) {
	source := c.skeleton
	if source == nil {
		return nil, errNoSkeleton
	}
	if err := target.check(); err != nil {
		return nil, err
	}
	names := cfg.Bodies
	if names == nil {
		var err error
		if names, err = BodyNames(source, target); err != nil {
			return nil, err
		}
	}
	r := retargeting{source: source, target: target, follows: make([]int, len(target.Bodies))}
	for i := range r.follows {
		r.follows[i] = -1
	}
	for to, from := range names {
		i, j := target.Body(to), source.Body(from)
		if i < 0 || j < 0 {
			return nil, fmt.Errorf("RetargetConfig.Bodies: %s follows %s, but %s has no such body", to, from,
				map[bool]string{true: "the target " + target.Name, false: "the source " + source.Name}[i < 0])
		}
		r.follows[i] = j
	}
	if r.follows[0] < 0 {
		return nil, fmt.Errorf("RetargetConfig.Bodies: the target's root %s follows no body", target.Bodies[0].Name)
	}
	for i := range target.Bodies {
		if !target.Bodies[i].orthogonal() {
			return nil, fmt.Errorf("the joints of %s are neither a ball joint nor hinges at right angles", target.Bodies[i].Name)
		}
	}
	rest := cfg.Rest
	if rest == nil {
		rest = source.zero()
	}
	if len(rest) != source.Width() {
		return nil, fmt.Errorf("RetargetConfig.Rest has %d values; a row of the source has %d", len(rest), source.Width())
	}
	r.prepare(rest)
	if err := r.stands(); err != nil && cfg.Rest == nil {
		return nil, err
	}
	rows := make([][]float64, c.n)
	for k := range rows {
		var near []float64
		if k > 0 {
			near = rows[k-1]
		}
		rows[k] = r.row(c.Frame(k), near)
	}
	held := r.hold(rows)
	out, err := c.with(target, rows)
	if err != nil {
		return nil, err
	}
	if held > 0 {
		out.repairs = append(out.repairs, fmt.Sprintf("%d joints were held at their limits", held))
	}
	return out.settled()
}

// zero is a row of the zero pose, upright at the origin.
func (s *Skeleton) zero() []float64 {
	row := make([]float64, s.Width())
	for at, col := range s.description().all {
		if col.Kind == Rotation {
			row[at] = 1
		}
	}
	return row
}

// retargeting carries rows over.
type retargeting struct {
	source, target *Skeleton
	follows        []int  // for each body of the target, that of the source, or −1
	turned         []quat // what the source's rotation is turned by to be the target's
	scale          float64
	positions      []float64 // scratch, of the source
	rotations      []float64
}

func (r *retargeting) prepare(rest []float64) {
	n := len(r.source.Bodies)
	r.positions, r.rotations = make([]float64, 3*n), make([]float64, 4*n)
	r.source.Forward(rest, r.positions, r.rotations)
	positions := make([]float64, 3*len(r.target.Bodies))
	r.target.Forward(r.target.zero(), positions, nil)
	facing := turnAbout([3]float64{0, 0, 1}, r.heading(quatOf(rest[3:])))
	r.turned = make([]quat, len(r.target.Bodies))
	aligned := make([]quat, len(r.target.Bodies)) // hands go on as the arm does
	for i, from := range r.follows {
		aligned[i] = facing
		if p := r.target.Bodies[i].Parent; i > 0 && r.child(i) < 0 && r.child(p) == i {
			aligned[i] = aligned[p]
		}
		if from < 0 {
			continue
		}
		align := aligned[i]
		if child := r.child(i); child >= 0 {
			to, of := direction(positions, i, child), direction(r.positions, from, r.follows[child])
			// Spines and legs are built a little differently; only limbs that point elsewhere are turned.
			if between := shortest(facing.rotate(to), of); between.angleTo(quat{1, 0, 0, 0}) > 0.4 && i > 0 {
				align = between.mul(facing)
			}
		}
		aligned[i] = align
		r.turned[i] = quatOf(r.rotations[4*from:]).conj().mul(align)
	}
	r.scale = r.target.legs(r.target.zero()) / max(1e-6, r.source.legs(rest))
}

// heading is the angle about z of where the source looks in its rest pose: square to the line from its right hip to its
// left one; where these are not known, where the root's x axis points.
func (r *retargeting) heading(root quat) float64 {
	left, right := r.target.Body("left_thigh"), r.target.Body("right_thigh")
	if left < 0 || right < 0 || r.follows[left] < 0 || r.follows[right] < 0 {
		return root.heading()
	}
	across := direction(r.positions, r.follows[right], r.follows[left])
	if math.Hypot(across[0], across[1]) < 0.5 {
		return root.heading()
	}
	return math.Atan2(-across[0], across[1])
}

// stands reports whether the rest pose of the source, which [retargeting.prepare] has placed, is one: the head above the
// root and the feet below it.
func (r *retargeting) stands() error {
	for i, b := range r.target.Bodies {
		up := 0.0
		switch _, part := sideOf(b.Name); part {
		case "head":
			up = 1
		case "foot":
			up = -1
		}
		if from := r.follows[i]; up != 0 && from >= 0 && up*direction(r.positions, r.follows[0], from)[2] < 0.5 {
			return fmt.Errorf("in the zero pose of %s, %s is not where it is in a body that stands; give a row in which it stands as RetargetConfig.Rest",
				r.source.Name, r.source.Bodies[from].Name)
		}
	}
	return nil
}

// child is the one body below i that follows another, −1 where there is none or more than one.
func (r *retargeting) child(i int) int {
	found := -1
	for k, b := range r.target.Bodies {
		if b.Parent == i && (r.follows[k] >= 0) {
			if found >= 0 {
				return -1
			}
			found = k
		}
	}
	return found
}

// direction is the unit vector from body a to body b.
func direction(positions []float64, a, b int) [3]float64 {
	var d [3]float64
	for i := range d {
		d[i] = positions[3*b+i] - positions[3*a+i]
	}
	n := norm(d)
	if n < 1e-9 {
		return [3]float64{}
	}
	return [3]float64{d[0] / n, d[1] / n, d[2] / n}
}

// shortest is the least rotation that turns a to b, unit vectors.
func shortest(a, b [3]float64) quat {
	w, v := 1+dot(a, b), cross(a, b)
	if w < 1e-9 { // opposite, or one is zero
		return quat{1, 0, 0, 0}
	}
	n := math.Sqrt(w*w + dot(v, v))
	return quat{w / n, v[0] / n, v[1] / n, v[2] / n}
}

// legs is how high the root is above the lowest body or contact.
func (s *Skeleton) legs(row []float64) float64 {
	positions, rotations := make([]float64, 3*len(s.Bodies)), make([]float64, 4*len(s.Bodies))
	s.Forward(row, positions, rotations)
	low := positions[2]
	for i := range s.Bodies {
		p := positions[3*i : 3*i+3]
		low = min(low, p[2], s.Bodies[i].lowest(p, quatOf(rotations[4*i:])))
	}
	return positions[2] - low
}

// row carries one row over; near is the row before.
func (r *retargeting) row(from, near []float64) []float64 {
	r.source.Forward(from, r.positions, r.rotations)
	row := make([]float64, 0, r.target.Width())
	world := make([]quat, len(r.target.Bodies))
	for i := range r.target.Bodies {
		b := &r.target.Bodies[i]
		if i == 0 {
			p := r.positions[3*r.follows[0]:]
			world[0] = quatOf(r.rotations[4*r.follows[0]:]).mul(r.turned[0])
			row = append(row, r.scale*p[0], r.scale*p[1], r.scale*p[2], world[0][0], world[0][1], world[0][2], world[0][3])
			continue
		}
		width := b.width()
		local := quat{1, 0, 0, 0}
		if j := r.follows[i]; j >= 0 {
			local = world[b.Parent].conj().mul(quatOf(r.rotations[4*j:]).mul(r.turned[i]))
		}
		values := row[len(row) : len(row)+width]
		var last []float64
		if near != nil {
			last = near[len(row) : len(row)+width]
		}
		b.angles(local, values, last)
		row = row[:len(row)+width]
		world[i] = world[b.Parent].mul(b.rotation(values))
	}
	return row
}

// hold moves hinges to the full turn nearest to their ranges, for the whole clip at once, and then keeps them within
// their limits; it returns how many joints needed that.
func (r *retargeting) hold(rows [][]float64) int {
	held, at := 0, 7
	for _, j := range r.target.Joints() {
		if j.limited() {
			mean := 0.0
			for _, row := range rows {
				mean += row[at] / float64(len(rows))
			}
			turns := 2 * math.Pi * math.Round((mean-(j.Lower+j.Upper)/2)/(2*math.Pi))
			beyond := false
			for _, row := range rows {
				x := row[at] - turns
				row[at] = max(j.Lower, min(j.Upper, x))
				beyond = beyond || math.Abs(row[at]-x) > limitJoint
			}
			if beyond {
				held++
			}
		}
		at += j.Kind.Width()
	}
	return held
}

// humanoidNames are names of the bodies of humanoids, without sides, capitals and signs, the best first: of SMPL, CMU,
// LAFAN1, Mixamo, 100STYLE and others.
var humanoidNames = map[string][]string{
	"pelvis":    {"pelvis", "hips", "hip", "root"},
	"torso":     {"torso", "spine3", "chest4", "chest3", "chest2", "upperchest", "spine2", "chest", "spine1", "spine"},
	"head":      {"head", "neck"},
	"upper_arm": {"upperarm", "arm", "uparm", "shoulder"},
	"lower_arm": {"lowerarm", "forearm", "lowarm", "loarm", "elbow"},
	"hand":      {"hand", "wrist"},
	"thigh":     {"thigh", "upleg", "upperleg", "hip"},
	"shin":      {"shin", "leg", "lowerleg", "lowleg", "loleg", "knee", "calf"},
	"foot":      {"ankle", "foot"},
}

// BodyNames returns, for the bodies of [HumanoidSkeleton] or another target with its names, the bodies of a source that
// are the same part of the body, by the names that SMPL, CMU, LAFAN1, Mixamo, 100STYLE and others use. Bodies of the
// same name go with each other whatever it is. It fails where a thigh, shin or upper arm of the target has no pair.
func BodyNames(source, target *Skeleton) (map[string]string, error) {
	known := map[string]string{} // plain name, with side, to the source's
	for _, b := range source.Bodies {
		if p := plainName(b.Name); known[p] == "" {
			known[p] = b.Name
		}
	}
	out := map[string]string{}
	for i, b := range target.Bodies {
		if source.Body(b.Name) >= 0 {
			out[b.Name] = b.Name
			continue
		}
		side, part := sideOf(b.Name)
		for _, name := range humanoidNames[part] {
			if from := known[strings.TrimSuffix(side, "_")+name]; from != "" {
				out[b.Name] = from
				break
			}
		}
		if i == 0 && out[b.Name] == "" {
			out[b.Name] = source.Bodies[0].Name
		}
	}
	for _, b := range target.Bodies {
		_, part := sideOf(b.Name)
		if out[b.Name] == "" && slices.Contains([]string{"thigh", "shin", "upper_arm"}, part) {
			return nil, errors.New("no body of " + source.Name + " is known to be " + b.Name + "; name the pairs in RetargetConfig.Bodies")
		}
	}
	return out, nil
}

// plainName is a name in small letters without signs or a rig's prefix, its side first: "mixamorig:LeftUpLeg" becomes
// "leftupleg", "UpperLeg_L" "leftupperleg".
func plainName(name string) string {
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		name = name[i+1:]
	}
	side := ""
	for _, end := range []struct{ suffix, side string }{{"_L", "left"}, {"_R", "right"}, {".L", "left"}, {".R", "right"}} {
		if rest, ok := strings.CutSuffix(name, end.suffix); ok {
			name, side = rest, end.side
		}
	}
	for _, begin := range []struct{ prefix, side string }{{"L_", "left"}, {"R_", "right"}} {
		if rest, ok := strings.CutPrefix(name, begin.prefix); ok {
			name, side = rest, begin.side
		}
	}
	plain := strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') {
			return r
		}
		return -1
	}, strings.ToLower(name))
	return side + plain
}
