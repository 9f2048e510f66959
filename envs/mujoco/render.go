package mujoco

// #include "engine.h"
import "C"

import (
	"cmp"
	"image"
	"image/color"
	"math"
	"slices"
	"unsafe"

	"gonum.org/v1/gonum/spatial/r3"
)

// RenderConfig sets the look of pictures. They are drawn in perspective, with shading, shadows and marks of contacts.
// They show the motion with which a character is compared (see [ReferenceTask]) next to the character. Zero values
// choose good settings.
type RenderConfig struct {
	// Width and Height are in pixels.
	//
	// Zero means 480 and 320.
	Width  int `yaml:"width" config:"min=1,max=8192"`
	Height int `yaml:"height" config:"min=1,max=8192"`
	// Camera is the place and the direction from which pictures are seen.
	Camera Camera `yaml:",inline"`
	// Title is written into the upper left corner.
	Title string `yaml:"title"`
}

// complete fills in the defaults except for the camera's distance, which needs the model.
func (c *RenderConfig) complete() {
	c.Width, c.Height = cmp.Or(c.Width, 480), cmp.Or(c.Height, 320)
	c.Camera.Azimuth, c.Camera.Elevation = cmp.Or(c.Camera.Azimuth, 115), cmp.Or(c.Camera.Elevation, 12)
}

// drawing holds what the environments of a batch need to draw themselves. They share it, so it draws one picture at a
// time.
type drawing struct {
	// shapes are all geoms of the model by index.
	shapes []shape
	// pose is a single simulation for poses that no environment has: those of Pictures and of references.
	pose  *Batch
	scene *scene
}

// shape is the constant part of a geom. Its Kind is empty for geoms that [Env.Shapes] leaves out.
type shape struct {
	Shape
	// kind is one of MuJoCo's mjGEOM constants.
	kind C.int
	mesh *meshTree
}

// lastDrawnGroup is the last of MuJoCo's groups of geoms that are drawn, as in MuJoCo's own viewer. Models of robots
// have the shapes of contacts in group 3.
const lastDrawnGroup = 2

// newDrawing copies the model's geoms and chooses the settings that cfg leaves open. close frees its simulation.
func newDrawing(m *Model, cfg RenderConfig) (*drawing, error) {
	d := &drawing{}
	n := int(m.m.ngeom)
	types := unsafe.Slice(m.m.geom_type, n)
	sizes := floats(m.m.geom_size, 3*n)
	rgba := unsafe.Slice((*float32)(unsafe.Pointer(m.m.geom_rgba)), 4*n)
	data, groups := unsafe.Slice(m.m.geom_dataid, n), unsafe.Slice(m.m.geom_group, n)
	materials := unsafe.Slice(m.m.geom_matid, n)
	meshes := map[C.int]shape{} // by their number: geoms of the same mesh share its slices and its tree
	for g := range n {
		s := shape{Shape: Shape{Kind: kindWords[types[g]], Size: [3]float64(sizes[3*g:])}, kind: types[g]}
		c := rgba[4*g : 4*g+4]
		if mat := int(materials[g]); mat >= 0 && slices.Equal(c, []float32{0.5, 0.5, 0.5, 1}) { // MJCF's default
			c = unsafe.Slice((*float32)(unsafe.Pointer(m.m.mat_rgba)), 4*mat+4)[4*mat:]
		}
		s.Color = color.RGBA{byte8(c[0] * c[3]), byte8(c[1] * c[3]), byte8(c[2] * c[3]), byte8(c[3])}
		if groups[g] > lastDrawnGroup {
			s.Color = color.RGBA{}
		}
		if same, ok := meshes[data[g]]; s.kind == C.mjGEOM_MESH && ok {
			s.Vertices, s.Faces, s.mesh = same.Vertices, same.Faces, same.mesh
		} else if s.kind == C.mjGEOM_MESH && data[g] >= 0 {
			s.Vertices = slices.Clone(m.vertices(g))
			at := unsafe.Slice(m.m.mesh_faceadr, int(m.m.nmesh))[data[g]]
			count := unsafe.Slice(m.m.mesh_facenum, int(m.m.nmesh))[data[g]]
			faces := unsafe.Slice((*int32)(unsafe.Pointer(m.m.mesh_face)), 3*int(m.m.nmeshface))
			s.Faces = slices.Clone(faces[3*at : 3*(at+count)])
			s.mesh = newMeshTree(s.Vertices, s.Faces)
			meshes[data[g]] = s
		}
		d.shapes = append(d.shapes, s)
	}
	var err error
	if d.pose, err = posed(m, nil); err != nil {
		return nil, err
	}
	start := d.pose.data[0]
	d.scene = newScene(cfg, d.shapes, floats(start.geom_xpos, 3*n), floats(start.geom_xmat, 9*n))
	return d, nil
}

// byte8 converts a colour component from [0, 1] to [0, 255].
func byte8(v float32) uint8 { return uint8(max(0, min(255, v*255+0.5))) }

// Render returns a picture of the current state of environment i. Each call returns a new image.
func (e *Env) Render(i int) (image.Image, error) {
	d, err := e.viewed(i)
	if err != nil {
		return nil, err
	}
	var reference *C.mjData
	if ok, err := d.follow(e.task, &e.states[i]); err != nil {
		return nil, err
	} else if ok {
		reference = d.pose.data[0]
	}
	return d.picture(e.model, e.batch.data[i], reference), nil
}

// close frees the drawing's simulation.
func (d *drawing) close() {
	_ = d.pose.Close() // freeing memory cannot fail
}

// picture draws the model in the state of data. If reference is not nil, it draws that state next to it, to the
// right and in a paler colour. The camera then looks between both.
func (d *drawing) picture(m *Model, data, reference *C.mjData) *image.RGBA {
	n, s := len(d.shapes), d.scene
	s.solids, s.touches = s.solids[:0], s.touches[:0]
	root := r3.Vec{}
	if m.NumBodies() > 1 {
		x := floats(data.xpos, 3*m.NumBodies())
		root = r3.Vec{X: x[3], Y: x[4]}
	}
	s.add(d.shapes, floats(data.geom_xpos, 3*n), floats(data.geom_xmat, 9*n), nil, r3.Vec{})
	s.mark(data, r3.Vec{})
	if reference != nil {
		sin, cos := math.Sincos(s.camera.Azimuth * math.Pi / 180)
		beside := r3.Scale(s.beside, r3.Vec{X: sin, Y: -cos})
		s.add(d.shapes, floats(reference.geom_xpos, 3*n), floats(reference.geom_xmat, 9*n), &ghostColor, beside)
		s.mark(reference, beside)
		root = r3.Add(root, r3.Scale(0.5, beside))
	}
	return s.draw(root.X, root.Y)
}
