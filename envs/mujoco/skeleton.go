package mujoco

// #include "engine.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/motions"
)

// LoadSkeleton returns the skeleton of an MJCF file ([LoadScene]), see [Model.Skeleton].
func LoadSkeleton(path string) (*motions.Skeleton, error) {
	m, err := LoadScene(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = m.Close() }() // everything taken from it is copied
	return m.Skeleton()
}

// LoadScene compiles an MJCF file as [LoadBody] reads it, with its includes and meshes in the file's folder and with a
// floor, but with its own joints.
func LoadScene(path string) (_ *Model, err error) {
	defer explain(&err, path)
	l, err := openModel(path, BodyConfig{})
	if err != nil {
		return nil, err
	}
	l.model.name = cmp.Or(l.root.Get("model"), strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	return l.model, nil
}

// Skeleton returns the bodies of a model with one free root, and its hinges and ball joints with their limits, so that
// clips can be retargeted to the model ([motions.Clip.Retarget]). Feet are the bodies that touch the floor in the
// model's first pose; their geoms that collide are their contacts. The others' geoms that collide are capsules.
//
// Skeleton fails if the first body has no free joint, and for slides and joints that are not at their body's origin.
func (m *Model) Skeleton() (_ *motions.Skeleton, err error) {
	defer explain(&err, "skeleton of "+m.name)
	batch, err := posed(m, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = batch.Close() }()
	s, n := &motions.Skeleton{Name: m.name}, m.NumBodies()
	index := make([]int, n) // of bodies of the model in the skeleton
	parents := unsafe.Slice(m.m.body_parentid, n)
	place, turn := floats(m.m.body_pos, 3*n), floats(m.m.body_quat, 4*n)
	for id, name := range m.Names(Body) {
		index[id] = -1
		parent := int(parents[id])
		if id == 0 || parent != 0 && index[parent] < 0 || parent == 0 && len(s.Bodies) > 0 {
			continue // the world, or an object beside the character
		}
		name = cmp.Or(name, fmt.Sprint("body ", id))
		b := motions.Body{Name: name, Parent: index[parent], Offset: [3]float64(place[3*id:])}
		if parent != 0 {
			b.Orientation = [4]float64(turn[4*id:])
		}
		joints, free, err := m.jointsOf(id, name)
		if err != nil {
			return nil, err
		}
		switch {
		case parent == 0 && !free && joints == nil:
			continue // fixed to the world
		case parent == 0 && !free || parent != 0 && free || free && joints != nil:
			return nil, fmt.Errorf("the joints of the body %q: a skeleton's root has one free joint, and the other "+
				"bodies have hinges or ball joints", name)
		}
		b.Joints = joints
		index[id] = len(s.Bodies)
		s.Bodies = append(s.Bodies, b)
	}
	if len(s.Bodies) == 0 {
		return nil, errors.New("no body has a free joint; a skeleton's root moves freely")
	}
	m.addGeoms(s, batch.data[0], index)
	return s, nil
}

// jointsOf returns the joints of a body without its free joint, and whether it has one.
func (m *Model) jointsOf(id int, body string) (joints []motions.Joint, free bool, err error) {
	n := int(m.m.njnt)
	first, count := int(unsafe.Slice(m.m.body_jntadr, id+1)[id]), int(unsafe.Slice(m.m.body_jntnum, id+1)[id])
	names := m.Names(Joint)
	for j := first; j < first+count; j++ {
		at, axis := floats(m.m.jnt_pos, 3*n)[3*j:], floats(m.m.jnt_axis, 3*n)[3*j:]
		joint := motions.Joint{Name: cmp.Or(names[j], fmt.Sprint("joint ", j)), Kind: motions.Hinge}
		switch unsafe.Slice(m.m.jnt_type, n)[j] {
		case C.mjJNT_FREE:
			free = true
			continue
		case C.mjJNT_BALL:
			joint.Kind = motions.Rotation
		case C.mjJNT_HINGE:
			joint.Axis = [3]float64(axis)
			if low, high, limited := m.jointRange(j); limited {
				joint.Lower, joint.Upper = low, high
			}
			if ref := floats(m.m.qpos0, m.NQ())[unsafe.Slice(m.m.jnt_qposadr, n)[j]]; ref != 0 {
				return nil, false, fmt.Errorf("the joint %q of the body %q has ref %g; clips need 0", joint.Name,
					body, ref)
			}
		default:
			return nil, false, fmt.Errorf("the joint %q of the body %q is a slide; clips have hinges and ball joints",
				joint.Name, body)
		}
		if math.Abs(at[0])+math.Abs(at[1])+math.Abs(at[2]) > 1e-9 {
			return nil, false, fmt.Errorf("the joint %q is at %g of the body %q; clips need it at the body's origin: "+
				"move the body there", joint.Name, at[:3], body)
		}
		joints = append(joints, joint)
	}
	return joints, free, nil
}

// soleHeight is the height in metres above the lowest point of a model up to which its other feet may be.
const soleHeight = 0.02

// addGeoms adds contacts to feet and capsules to all bodies. Geoms of bodies outside the skeleton are left out.
func (m *Model) addGeoms(s *motions.Skeleton, d *C.mjData, index []int) {
	owners := unsafe.Slice(m.m.geom_bodyid, int(m.m.ngeom))
	low := math.Inf(1)
	heights, _ := bottoms(m, d)
	for g, height := range heights {
		if index[owners[g]] < 0 {
			heights[g] = math.NaN() // neither contact nor capsule
		} else if height == height {
			low = min(low, height)
		}
	}
	for g, height := range heights {
		if height != height {
			continue
		}
		b := &s.Bodies[index[owners[g]]]
		balls, capsule := m.outline(g)
		b.Capsules = append(b.Capsules, capsule)
		if height < low+soleHeight {
			b.Contacts = append(b.Contacts, balls...)
		}
	}
	for i := len(s.Bodies) - 1; i > 0; i-- { // a shin above a foot is none
		for p := s.Bodies[i].Parent; s.Bodies[i].Contacts != nil && p >= 0; p = s.Bodies[p].Parent {
			s.Bodies[p].Contacts = nil
		}
	}
}

// outline returns a geom as balls at its ends or corners, and as a capsule along its longest axis, in its body's frame.
func (m *Model) outline(g int) ([]motions.Contact, motions.Capsule) {
	n := int(m.m.ngeom)
	at, turn := floats(m.m.geom_pos, 3*n)[3*g:], floats(m.m.geom_quat, 4*n)[4*g:4*g+4]
	size, center := [3]float64(floats(m.m.geom_size, 3*n)[3*g:]), [3]float64{}
	place := func(p [3]float64) [3]float64 {
		v := rotation.Of(turn).Rotate([3]float64{p[0] + center[0], p[1] + center[1], p[2] + center[2]})
		return [3]float64{at[0] + v[0], at[1] + v[1], at[2] + v[2]}
	}
	switch unsafe.Slice(m.m.geom_type, n)[g] {
	case C.mjGEOM_SPHERE:
		size[1] = 0
		fallthrough
	case C.mjGEOM_CAPSULE, C.mjGEOM_CYLINDER:
		radius, start, end := size[0], place([3]float64{0, 0, -size[1]}), place([3]float64{0, 0, size[1]})
		return []motions.Contact{{At: start, Radius: radius}, {At: end, Radius: radius}},
			motions.Capsule{From: start, To: end, Radius: radius}
	case C.mjGEOM_MESH: // like a box or an ellipsoid
		size, center = m.meshBox(g)
	}
	var corners []motions.Contact
	for i := range 8 {
		p := [3]float64{}
		for k := range p {
			p[k] = size[k] * float64(2*(i>>k&1)-1)
		}
		corners = append(corners, motions.Contact{At: place(p)})
	}
	long := slices.Index(size[:], slices.Max(size[:]))
	radius := max(size[(long+1)%3], size[(long+2)%3])
	var start, end [3]float64
	end[long] = max(0, size[long]-radius)
	start[long] = -end[long]
	return corners, motions.Capsule{From: place(start), To: place(end), Radius: radius}
}

// meshBox returns half the size and the centre of the box around a mesh in its geom's frame.
func (m *Model) meshBox(g int) (size, center [3]float64) {
	vertices := m.vertices(g)
	for k := range size {
		low, high := math.Inf(1), math.Inf(-1)
		for i := k; i < len(vertices); i += 3 {
			low, high = min(low, float64(vertices[i])), max(high, float64(vertices[i]))
		}
		size[k], center[k] = (high-low)/2, (high+low)/2
	}
	return size, center
}
