package gymnasium

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/spaces"
)

// NewMotionSource returns a source of reference motion for the group of observations named amp of e. Its rows are what
// the simulator would observe if the robot moved as in the clips, which are drawn by weight. The clips must move the
// simulator's robot: [motions.Clip.Retarget] makes such clips. Their joints are found by name. The environments' ground
// is taken to be flat. Errors name the terms that cannot be computed from clips.
func NewMotionSource(e *Env, clips ...*motions.Clip) (*motions.Source, error) {
	g := e.about.AMPGroup
	if g == nil {
		return nil, errors.New("gymnasium: reference motion from clips needs a task of mjlab or Isaac Lab with a " +
			"group of observations named amp, and AMPObservations empty: add the group by AMPGroup")
	}
	if len(clips) == 0 {
		return nil, errors.New("gymnasium: there are no clips; give at least one")
	}
	history, err := g.check(e.set.AMPObservation)
	if err != nil {
		return nil, fmt.Errorf("gymnasium: the group of observations amp: %w", err)
	}
	var skeleton *motions.Skeleton
	for _, clip := range clips {
		s := clip.Skeleton()
		switch {
		case s == nil:
			return nil, fmt.Errorf("gymnasium: the clip %q has no skeleton; put it on the robot's (gorl retarget, or "+
				"motions.Clip.On)", clip.Name())
		case skeleton == nil:
			skeleton = s
		case !sameTree(s, skeleton):
			return nil, fmt.Errorf("gymnasium: the clips %q and %q move different skeletons; retarget both onto the "+
				"same robot", clips[0].Name(), clip.Name())
		}
	}
	features, err := g.features(skeleton)
	if err != nil {
		return nil, fmt.Errorf("gymnasium: the group of observations amp, and the clip %q: %w", clips[0].Name(), err)
	}
	return motions.NewSource(motions.SourceConfig{History: history, TimeStep: g.Step, Features: features}, clips...)
}

// sameTree reports whether two skeletons have the same bodies and joints. What touches the floor may differ.
func sameTree(a, b *motions.Skeleton) bool {
	return slices.EqualFunc(a.Bodies, b.Bodies, func(a, b motions.Body) bool {
		return a.Name == b.Name && a.Parent == b.Parent && a.Offset == b.Offset && a.Orientation == b.Orientation &&
			slices.Equal(a.Joints, b.Joints)
	})
}

// check returns the number of moments of a row, or an error for a group that clips cannot reproduce.
func (g *ampGroupJSON) check(space spaces.Space) (history int, err error) {
	if space.Kind != spaces.Box || len(g.Terms) == 0 {
		return 0, errors.New("its terms are apart; set its concatenate_terms to True")
	}
	width := 0
	for _, t := range g.Terms {
		history = max(1, t.History)
		switch first := g.Terms[0]; {
		case len(t.Changes) > 0:
			return 0, fmt.Errorf("the term %q has %s, which reference motion has not; leave that out", t.Name,
				strings.Join(t.Changes, " and "))
		case t.Flat:
			return 0, fmt.Errorf("the term %q has all moments of its history side by side, before the next term; set "+
				"flatten_history_dim to False", t.Name)
		case history != max(1, first.History):
			return 0, fmt.Errorf("the terms %q and %q have histories of %d and %d; set the group's history_length",
				first.Name, t.Name, first.History, t.History)
		case t.Asset != first.Asset:
			return 0, fmt.Errorf("the terms %q and %q are of the entities %q and %q; clips have one", first.Name,
				t.Name, first.Asset, t.Asset)
		}
		width += t.Width
	}
	if want := []int{history, width}; space.Width() != history*width ||
		history > 1 && !slices.Equal(space.Shape, want) {
		return 0, fmt.Errorf("it has the shape %v; its terms have %v: set concatenate_dim to -1", space.Shape, want)
	}
	return history, nil
}

// moment is one moment of a clip: positions and velocities of [motions.Clip.At].
type moment struct {
	pos, vel []float64
	// bodies are the positions of all bodies relative to the root, in its frame. Only groups with key_pos have them.
	bodies []float64
}

// inRoot returns a vector of the world in the root's frame.
func (m *moment) inRoot(v [3]float64) [3]float64 { return rotation.Of(m.pos[3:]).Conj().Rotate(v) }

// put writes a vector as float32.
func put(out []float32, v [3]float64) {
	for i, x := range v {
		out[i] = float32(x)
	}
}

// features returns what the terms observe of a moment of a clip with the skeleton.
func (g *ampGroupJSON) features(s *motions.Skeleton) (motions.Features, error) {
	width, writers, keys := 0, []func(m *moment, out []float32){}, false
	for _, t := range g.Terms {
		write, wide, err := t.writer(s)
		if err == nil && wide != t.Width {
			err = fmt.Errorf("it has %d values in the simulator; the clip has %d", t.Width, wide)
		}
		if err != nil {
			return motions.Features{}, fmt.Errorf("the term %q: %w", t.Name, err)
		}
		at := width
		writers = append(writers, func(m *moment, out []float32) { write(m, out[at:at+wide]) })
		keys = keys || t.Bodies != nil
		width += wide
	}
	return motions.Features{Width: width, Write: func(pos, vel []float64, out []float32) {
		m := moment{pos: pos, vel: vel}
		if keys {
			upright := slices.Clone(pos)
			copy(upright, []float64{0, 0, 0, 1, 0, 0, 0})
			m.bodies = make([]float64, 3*len(s.Bodies))
			s.Forward(upright, m.bodies, nil)
		}
		for _, write := range writers {
			write(&m, out)
		}
	}}, nil
}

// writer returns the function that writes what the term observes, and its number of values.
func (t *ampTermJSON) writer(s *motions.Skeleton) (write func(m *moment, out []float32), width int, err error) {
	switch t.Function {
	case "joint_pos", "joint_pos_rel", "joint_vel", "joint_vel_rel":
		return t.joints(s, strings.HasPrefix(t.Function, "joint_vel"))
	case keyPositions:
		return t.keys(s)
	case "base_height", "base_pos_z":
		return func(m *moment, out []float32) { out[0] = float32(m.pos[2]) }, 1, nil
	case "projected_gravity":
		return func(m *moment, out []float32) { put(out, m.inRoot([3]float64{0, 0, -1})) }, 3, nil
	case "base_ang_vel":
		return func(m *moment, out []float32) { put(out, m.inRoot([3]float64(m.vel[3:6]))) }, 3, nil
	case "base_lin_vel":
		return func(m *moment, out []float32) {
			v := m.inRoot([3]float64(m.vel[:3]))
			for i, x := range rotation.Cross(m.inRoot([3]float64(m.vel[3:6])), t.Center) {
				v[i] += x
			}
			put(out, v)
		}, 3, nil
	}
	return nil, 0, fmt.Errorf("clips do not give %s; they give joint_pos, joint_pos_rel, joint_vel, joint_vel_rel, "+
		"base_pos_z, base_lin_vel, base_ang_vel and projected_gravity of the simulator's module mdp, and the terms of "+
		"AMPGroup", t.Function)
}

// retarget says what to do with a clip of another skeleton.
const retarget = "retarget it onto the robot (gorl retarget, or in YAML the setting model)"

// joints returns the writer of joints' positions, or velocities, in the simulator's order.
func (t *ampTermJSON) joints(s *motions.Skeleton, velocity bool) (func(m *moment, out []float32), int, error) {
	row, places := map[string]int{}, make([]int, len(t.Joints))
	pos, vel := 7, 6
	for _, j := range s.Joints() {
		if j.Kind == motions.Hinge {
			row[j.Name] = map[bool]int{true: vel, false: pos}[velocity]
		}
		pos, vel = pos+j.Kind.Width(), vel+j.Kind.VelocityWidth()
	}
	for i, name := range t.Joints {
		at, ok := row[name]
		if !ok {
			return nil, 0, fmt.Errorf("the clip has no hinge %q: %s", name, retarget)
		}
		places[i] = at
	}
	zero := make([]float64, len(places))
	copy(zero, t.Subtracted)
	return func(m *moment, out []float32) {
		values := m.pos
		if velocity {
			values = m.vel
		}
		for i, at := range places {
			out[i] = float32(values[at] - zero[i])
		}
	}, len(places), nil
}

// keys returns the writer of bodies' positions.
func (t *ampTermJSON) keys(s *motions.Skeleton) (func(m *moment, out []float32), int, error) {
	var bodies []int
	for _, name := range t.Bodies {
		at := s.Body(name)
		if at < 0 {
			return nil, 0, fmt.Errorf("the clip has no body %q: %s", name, retarget)
		}
		bodies = append(bodies, at)
	}
	return func(m *moment, out []float32) {
		for i, at := range bodies {
			put(out[3*i:], [3]float64(m.bodies[3*at:]))
		}
	}, 3 * len(bodies), nil
}
