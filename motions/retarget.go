package motions

import (
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// RetargetConfig says how [Clip.Retarget] maps a clip to another skeleton.
type RetargetConfig struct {
	// Bodies maps bodies of the target to the bodies of the source that they follow. Bodies without an entry keep the
	// target's zero pose relative to their parents. Nil: bodies are paired by the names that SMPL, CMU, LAFAN1, Mixamo,
	// 100STYLE and others use.
	Bodies map[string]string
	// Rest is a row of the source in which the character stands straight and looks forward, in a T-pose or with arms
	// down. Nil: the zero pose. Files with another zero pose, such as LAFAN1's, need it.
	Rest []float64
}

// Retarget maps a clip with a skeleton to another skeleton, for example a robot's, with other proportions and axes of
// joints. Every paired body of the target turns from the rest pose as its body of the source does. The target's own
// limbs then determine its place. Limbs that point in another direction than the target's (arms in a T-pose) are
// aligned first. The root's path and the places of feet near the floor are scaled by the ratio of the legs' lengths.
//
// Inverse kinematics computes the joint angles of each frame, within their limits. [Clip.Repairs] says how many joints
// reached a limit. Capsules of the target do not touch. The result stands on the floor, and standing feet do not slide.
//
// Retarget fails for clips without a skeleton and for names that do not exist.
func (c *Clip) Retarget(target *Skeleton, cfg RetargetConfig) (*Clip, error) {
	return c.explained(retarget(c, target, cfg))
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
		if names, err = ProposeBodies(source, target); err != nil {
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
	return r.clip(c)
}

// clip solves for all frames: first for the bodies, then, with the result on the floor, also for standing feet.
func (r *retargeting) clip(c *Clip) (*Clip, error) {
	wants := r.wants(c)
	v := newSolver(r.target)
	rows, held := make([][]float64, c.n), map[int]bool{}
	for k, want := range wants {
		if k == 0 {
			copy(v.row, want[0].place[:])
			copy(v.row[3:], want[0].turn[:])
		}
		near := slices.Clone(v.row)
		terms := func() {
			v.addPose(want, 0)
			v.addApart(apartWeight)
			if k > 0 {
				v.addRow(near, 0, nearWeight)
			}
		}
		v.solve(terms, 100)
		for i, pressed := range v.pressed(terms) {
			if pressed {
				held[i] = true
			}
		}
		rows[k] = slices.Clone(v.row)
	}
	out, err := c.derive(ClipConfig{Skeleton: r.target, Frames: rows})
	if err != nil {
		return nil, err
	}
	if n := len(held); n > 0 {
		out.repairs = append(out.repairs, fmt.Sprintf("%d joints were held at their limits", n))
	}
	on, err := settle(out)
	if err != nil {
		return nil, err
	}
	return stand(on, wants, func(k int) float64 { return on.Frame(k)[2] - rows[k][2] }, v)
}

// retargeting maps rows of the source to rows of the target.
type retargeting struct {
	source, target *Skeleton
	follows        []int // for each body of the target, the body of the source, or −1
	// offsets has, for each body of the target, the rotation of its zero pose in the frame of the source's body.
	offsets []rotation.Quat
	scale   float64
	from    *pose // of the source
	to      *pose // the target's zero pose
	// sides has, for each foot of the target, its distance from the scaled place of the source's foot: forwards, to the
	// left, and upwards.
	sides [][3]float64
}

// align computes offsets and scale from the rest pose of the source and the zero pose of the target.
func (r *retargeting) align(rest []float64) {
	r.from = newPose(r.source, rest)
	r.to = newPose(r.target, r.target.zero())
	to := r.to
	facing := rotation.About([3]float64{0, 0, 1}, r.heading(rotation.Of(rest[3:])))
	r.offsets = make([]rotation.Quat, len(r.target.Bodies))
	aligned := make([]rotation.Quat, len(r.target.Bodies))
	for i, from := range r.follows {
		aligned[i] = facing
		if p := r.over(i); i > 0 && r.child(i) < 0 && r.child(p) == i {
			aligned[i] = aligned[p] // the last body of a limb, such as a hand, is aligned with its parent
		}
		if from < 0 {
			continue
		}
		if child := r.child(i); child >= 0 {
			// Small differences are those of build; only limbs that point in another direction are aligned.
			between := shortest(facing.Rotate(to.direction(i, child)), r.from.direction(from, r.follows[child]))
			if norm(between.Log()) > 0.4 && i > 0 {
				aligned[i] = between.Mul(facing)
			}
		}
		r.offsets[i] = r.from.rotation(from).Conj().Mul(aligned[i])
	}
	r.scale = to.rootHeight() / max(1e-6, r.from.rootHeight())
	r.sides = make([][3]float64, len(r.target.Bodies))
	back, root := facing.Conj(), r.from.position(r.follows[0])
	for i, from := range r.follows {
		if from < 0 || len(r.target.Bodies[i].Contacts) == 0 {
			continue
		}
		there, here := back.Rotate(sub(r.from.position(from), root)), sub(to.position(i), to.position(0))
		r.sides[i] = sub(here, scale(r.scale, there))
	}
}

// heading returns the heading of the source's rest pose: perpendicular to the line between the hips or, if the hips are
// not known, along the root's x axis.
func (r *retargeting) heading(root rotation.Quat) float64 {
	parts := r.target.parts()
	left, hasLeft := parts["left_thigh"]
	right, hasRight := parts["right_thigh"]
	if !hasLeft || !hasRight || r.follows[left] < 0 || r.follows[right] < 0 {
		return root.Heading()
	}
	across := r.from.direction(r.follows[right], r.follows[left])
	if math.Hypot(across[0], across[1]) < 0.5 {
		return root.Heading()
	}
	return math.Atan2(-across[0], across[1])
}

// checkStanding fails unless the head is above the root and the feet are below it in the rest pose.
func (r *retargeting) checkStanding() error {
	parts := r.target.parts()
	for _, part := range []string{"head", "right_foot", "left_foot"} {
		i, ok := parts[part]
		if !ok {
			continue
		}
		up := -1.0
		if part == "head" {
			up = 1
		}
		if from := r.follows[i]; from >= 0 && up*r.from.direction(r.follows[0], from)[2] < 0.5 {
			return fmt.Errorf("in the zero pose of %s, %s is not where it is in a body that stands; "+
				"give a row in which it stands as RetargetConfig.Rest", r.source.Name, r.source.Bodies[from].Name)
		}
	}
	return nil
}

// over returns the nearest body above i that follows a body of the source.
func (r *retargeting) over(i int) int {
	for i = r.target.Bodies[i].Parent; i >= 0 && r.follows[i] < 0; {
		i = r.target.Bodies[i].Parent
	}
	return i
}

// child returns the only nearest body below i that follows a body of the source, or −1 if there are none or several.
func (r *retargeting) child(i int) int {
	found := -1
	for k := range r.target.Bodies {
		if r.follows[k] >= 0 && r.over(k) == i {
			if found >= 0 {
				return -1
			}
			found = k
		}
	}
	return found
}

// shortest returns the smallest rotation from the unit vector a to the unit vector b.
func shortest(a, b [3]float64) rotation.Quat {
	w, v := 1+dot(a, b), rotation.Cross(a, b)
	if w < 1e-9 { // opposite, or one is zero
		return rotation.Quat{1, 0, 0, 0}
	}
	n := math.Sqrt(w*w + dot(v, v))
	return rotation.Quat{w / n, v[0] / n, v[1] / n, v[2] / n}
}

// want is the goal of a body of the target.
type want struct {
	body  int // -1: it follows no body
	place [3]float64
	turn  rotation.Quat
	foot  bool
}

// wants returns, for each frame of a clip, the goals of the target's bodies.
func (r *retargeting) wants(c *Clip) [][]want {
	n := len(r.target.Bodies)
	least := slices.Repeat([]float64{math.Inf(1)}, n) // heights of the source's bodies over the clip
	for k := range c.n {
		r.from.set(c.Frame(k))
		for i, j := range r.follows {
			if j >= 0 {
				least[i] = min(least[i], r.from.position(j)[2])
			}
		}
	}
	all := make([][]want, c.n)
	turns := make([]rotation.Quat, n) // from the zero pose
	for k := range all {
		r.from.set(c.Frame(k))
		wants := make([]want, n)
		for i, j := range r.follows {
			if j < 0 {
				wants[i].body = -1
				continue
			}
			turns[i] = r.from.rotation(j).Mul(r.offsets[i])
			wants[i] = want{body: i, turn: turns[i].Mul(r.to.rotation(i)), foot: len(r.target.Bodies[i].Contacts) > 0}
			here := r.from.position(j)
			if i == 0 {
				wants[0].place = scale(r.scale, here)
				continue
			}
			over := r.over(i)
			pivot := r.to.position(i) // a limb of several bodies turns about the last one's parent
			if p := r.target.Bodies[i].Parent; p != over {
				pivot = r.to.position(p)
			}
			a := turns[over].Rotate(sub(pivot, r.to.position(over)))
			b := turns[i].Rotate(sub(r.to.position(i), pivot))
			p := &wants[i].place
			if *p = add(add(wants[over].place, a), b); wants[i].foot {
				side := rotation.About([3]float64{0, 0, 1}, turns[0].Heading()).Rotate(r.sides[i])
				low := 1 - unit((here[2]-least[i]-footLow)/(footHigh-footLow))
				low *= low * (3 - 2*low)
				for x := range p {
					p[x] += low * (r.scale*here[x] + side[x] - p[x])
				}
			}
		}
		all[k] = wants
	}
	return all
}

const (
	// A foot lower than footLow metres above its lowest place follows the scaled place of the source's foot. Above
	// footHigh it follows the target's limbs.
	footLow, footHigh = 0.05, 0.2
	// Weights of residuals, which are in rad for turns and in m for places.
	turnWeight, placeWeight, footWeight = 1.0, 2.0, 6.0
	apartWeight, nearWeight             = 30.0, 0.02
)

// addPose adds residuals that pull the bodies to their goals, lifted by a height.
func (v *solver) addPose(wants []want, lift float64) {
	for _, w := range wants {
		if w.body < 0 {
			continue
		}
		weight := placeWeight
		if w.foot {
			weight = footWeight
		}
		w.place[2] += lift
		v.addPlace(w.body, [3]float64{}, w.place, [3]float64{weight, weight, weight})
		v.addTurn(w.body, w.turn, turnWeight)
	}
}

// limitTolerance is the angle in radians by which a solution without limits may exceed a joint's limits before the
// joint counts as held.
const limitTolerance = 2 * math.Pi / 180
