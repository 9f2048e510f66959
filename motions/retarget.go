package motions

import (
	"fmt"
	"math"
)

// RetargetConfig says how a clip is carried over to another skeleton.
type RetargetConfig struct {
	// Bodies maps bodies of the target to the bodies of the source that they follow. Bodies without an entry keep the
	// target's zero pose against their parents. Nil: bodies are paired by the names that SMPL, CMU, LAFAN1, Mixamo,
	// 100STYLE and others use.
	Bodies map[string]string
	// Rest is a row of the source in which the character stands straight and looks forward, in a T-pose or with arms
	// down. Nil: the zero pose. Files whose zero pose is another (LAFAN1's) need it.
	Rest []float64
}

// Retarget carries a clip with a skeleton over to another skeleton. Every paired body of the target turns as its body
// of the source turns, from the rest pose on. Limbs that point elsewhere than the target's (arms in a T-pose) are
// aligned first. The root's way is scaled by the lengths of the legs. Hinges take the part of the rotation that they
// can reach, and joints stay within their limits; [Clip.Repairs] says how many joints were held there. The result
// stands on the floor.
//
// Retarget fails for clips without a skeleton, for names that do not exist, and for target joints that are neither
// balls nor hinges at right angles.
func (c *Clip) Retarget(target *Skeleton, cfg RetargetConfig) (*Clip, error) {
	out, err := retarget(c, target, cfg)
	return out, named(c.name, err)
}

func retarget(c *Clip, target *Skeleton, cfg RetargetConfig) (*Clip, error) {
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
		if names, err = pairBodies(source, target); err != nil {
			return nil, err
		}
	}
	r := retargeting{source: source, target: target, follows: make([]int, len(target.Bodies))}
	for i := range target.Bodies {
		r.follows[i] = -1
		if !target.Bodies[i].orthogonal() {
			return nil, fmt.Errorf("the joints of %s are neither a ball joint nor hinges at right angles",
				target.Bodies[i].Name)
		}
	}
	for to, from := range names {
		i, j := target.Body(to), source.Body(from)
		if i < 0 || j < 0 {
			lacks := "the target " + target.Name
			if i >= 0 {
				lacks = "the source " + source.Name
			}
			return nil, fmt.Errorf("RetargetConfig.Bodies: %s follows %s, but %s has no such body", to, from, lacks)
		}
		r.follows[i] = j
	}
	if r.follows[0] < 0 {
		return nil, fmt.Errorf("RetargetConfig.Bodies: the target's root %s follows no body", target.Bodies[0].Name)
	}
	rest := cfg.Rest
	if rest == nil {
		rest = source.zero()
	}
	if len(rest) != source.Width() {
		return nil, fmt.Errorf("RetargetConfig.Rest has %d values; a row of the source has %d", len(rest),
			source.Width())
	}
	r.align(rest)
	if err := r.checkStanding(); err != nil && cfg.Rest == nil {
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
	held := holdLimits(target, rows)
	out, err := c.derive(ClipConfig{Skeleton: target, Frames: rows})
	if err != nil {
		return nil, err
	}
	if held > 0 {
		out.repairs = append(out.repairs, fmt.Sprintf("%d joints were held at their limits", held))
	}
	return settle(out)
}

// retargeting carries rows over.
type retargeting struct {
	source, target *Skeleton
	follows        []int  // for each body of the target, the body of the source, or −1
	offsets        []quat // for each body of the target, its rotation in the frame of the source's body
	scale          float64
	from           *pose // of the source
}

// align computes offsets and scale from the rest pose of the source and the zero pose of the target.
func (r *retargeting) align(rest []float64) {
	r.from = newPose(r.source, rest)
	to := newPose(r.target, r.target.zero())
	facing := turnAbout([3]float64{0, 0, 1}, r.heading(quatOf(rest[3:])))
	r.offsets = make([]quat, len(r.target.Bodies))
	aligned := make([]quat, len(r.target.Bodies))
	for i, from := range r.follows {
		aligned[i] = facing
		if p := r.target.Bodies[i].Parent; i > 0 && r.child(i) < 0 && r.child(p) == i {
			aligned[i] = aligned[p] // a hand continues its arm
		}
		if from < 0 {
			continue
		}
		if child := r.child(i); child >= 0 {
			// Spines and legs are built a little differently; only limbs that point elsewhere are turned.
			between := shortest(facing.rotate(to.direction(i, child)), r.from.direction(from, r.follows[child]))
			if between.angleTo(quat{1, 0, 0, 0}) > 0.4 && i > 0 {
				aligned[i] = between.mul(facing)
			}
		}
		r.offsets[i] = r.from.rotation(from).conj().mul(aligned[i])
	}
	r.scale = to.rootHeight() / max(1e-6, r.from.rootHeight())
}

// heading returns the angle about z of the source's rest pose: square to the line from the right hip to the left hip,
// or, if the hips are not known, along the root's x axis.
func (r *retargeting) heading(root quat) float64 {
	left, right := r.target.Body("left_thigh"), r.target.Body("right_thigh")
	if left < 0 || right < 0 || r.follows[left] < 0 || r.follows[right] < 0 {
		return root.heading()
	}
	across := r.from.direction(r.follows[right], r.follows[left])
	if math.Hypot(across[0], across[1]) < 0.5 {
		return root.heading()
	}
	return math.Atan2(-across[0], across[1])
}

// checkStanding fails unless the head is above the root and the feet are below it in the rest pose.
func (r *retargeting) checkStanding() error {
	for i, b := range r.target.Bodies {
		up := 0.0
		switch _, part := cutSide(b.Name); part {
		case "head":
			up = 1
		case "foot":
			up = -1
		}
		if from := r.follows[i]; up != 0 && from >= 0 && up*r.from.direction(r.follows[0], from)[2] < 0.5 {
			return fmt.Errorf("in the zero pose of %s, %s is not where it is in a body that stands; "+
				"give a row in which it stands as RetargetConfig.Rest", r.source.Name, r.source.Bodies[from].Name)
		}
	}
	return nil
}

// child returns the one body below i that follows a body of the source, or −1 if there are none or several.
func (r *retargeting) child(i int) int {
	found := -1
	for k, b := range r.target.Bodies {
		if b.Parent == i && r.follows[k] >= 0 {
			if found >= 0 {
				return -1
			}
			found = k
		}
	}
	return found
}

// shortest returns the least rotation that turns a to b, unit vectors.
func shortest(a, b [3]float64) quat {
	w, v := 1+dot(a, b), cross(a, b)
	if w < 1e-9 { // opposite, or one is zero
		return quat{1, 0, 0, 0}
	}
	n := math.Sqrt(w*w + dot(v, v))
	return quat{w / n, v[0] / n, v[1] / n, v[2] / n}
}

// row carries one row over. near is the result for the row before, or nil.
func (r *retargeting) row(from, near []float64) []float64 {
	r.from.set(from)
	row := make([]float64, 0, r.target.Width())
	world := make([]quat, len(r.target.Bodies))
	for i := range r.target.Bodies {
		b, j := &r.target.Bodies[i], r.follows[i]
		turned := quat{}
		if j >= 0 {
			turned = r.from.rotation(j).mul(r.offsets[i])
		}
		if i == 0 {
			p := r.from.position(j)
			world[0] = turned
			row = append(row, r.scale*p[0], r.scale*p[1], r.scale*p[2], turned[0], turned[1], turned[2], turned[3])
			continue
		}
		local := quat{1, 0, 0, 0}
		if j >= 0 {
			local = world[b.Parent].conj().mul(turned)
		}
		begin, end := len(row), len(row)+b.width()
		var last []float64
		if near != nil {
			last = near[begin:end]
		}
		row = row[:end]
		b.angles(local, row[begin:end], last)
		world[i] = world[b.Parent].mul(b.rotation(row[begin:end]))
	}
	return row
}

// limitTolerance is the angle in radians up to which a joint beyond its limits counts as within.
const limitTolerance = 2 * math.Pi / 180

// holdLimits moves hinges by the full turns that bring the whole clip nearest to their ranges, and then keeps them
// within their limits. It returns the number of joints that needed to be kept.
func holdLimits(s *Skeleton, rows [][]float64) int {
	held, at := 0, 7
	for _, j := range s.Joints() {
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
				beyond = beyond || math.Abs(row[at]-x) > limitTolerance
			}
			if beyond {
				held++
			}
		}
		at += j.Kind.Width()
	}
	return held
}
