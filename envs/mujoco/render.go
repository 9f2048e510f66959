package mujoco

// #include "engine.h"
import "C"

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"unsafe"

	"gonum.org/v1/gonum/spatial/r3"
)

// RenderConfig sets the look of pictures. Without a [Camera] they show the model from the side, without perspective: x
// to the right, z up, following the root along x. Zero values choose good settings.
type RenderConfig struct {
	// Camera turns on perspective pictures. They have shading, shadows and marks of contacts. They show the motion with
	// which a character is compared (see [ReferenceTask]) next to the character. Nil means the view from the side.
	Camera *Camera
	// Width and Height are in pixels. Zero means 320, or a width of 480 with a Camera.
	Width, Height int
	// Span is the width of the side view in metres. Zero leaves room around the model in its initial pose.
	Span float64
	// CenterZ is the height in metres at the middle of the side view. Zero puts the ground near the lower edge.
	CenterZ float64
	// Title is written into the upper left corner.
	Title string
}

// check returns an error unless the settings are in range. Zeros stay: newDrawing replaces them, which needs the model.
func (c *RenderConfig) check() error {
	if c.Width < 0 || c.Height < 0 || c.Width > 8192 || c.Height > 8192 {
		return fmt.Errorf("mujoco: a picture of %d × %d; both must be between 1 and 8192, or 0", c.Width, c.Height)
	}
	if !(c.Span >= 0) || math.IsInf(c.Span, 0) || c.CenterZ-c.CenterZ != 0 {
		return fmt.Errorf("mujoco: a view of %g m around %g m; both must be finite and the first not negative", c.Span,
			c.CenterZ)
	}
	if c.Camera != nil {
		return c.Camera.check()
	}
	return nil
}

// drawing holds what the environments of a batch need to draw themselves. They share it, so it draws one picture at a
// time.
type drawing struct {
	canvas *canvas
	// order is the indices of geoms, farthest first. Each picture of the side view sorts it again.
	order []int
	// shapes are all geoms of the model by index.
	shapes []shape
	// pose is a single simulation for poses that no environment has: those of RenderPose and of references.
	pose *Batch
	// scene is nil without a camera.
	scene *scene
}

// shape is the constant part of a geom.
type shape struct {
	// kind is one of MuJoCo's mjGEOM constants.
	kind C.int
	// size is MuJoCo's, see Shape.Size.
	size [3]float64
	// color is premultiplied by its opacity.
	color color.RGBA
	// vertices (V, 3) and faces (F, 3) are those of a mesh, otherwise nil.
	vertices []float32
	faces    []int32
}

// newDrawing copies the model's geoms and chooses the settings that cfg leaves open. close frees its simulation.
func newDrawing(m *Model, cfg RenderConfig) (*drawing, error) {
	d := &drawing{}
	n := int(m.m.ngeom)
	types := unsafe.Slice(m.m.geom_type, n)
	sizes := floats(m.m.geom_size, 3*n)
	rgba := unsafe.Slice((*float32)(unsafe.Pointer(m.m.geom_rgba)), 4*n)
	data := unsafe.Slice(m.m.geom_dataid, n)
	for g := range n {
		s := shape{kind: types[g], size: [3]float64(sizes[3*g : 3*g+3])}
		c := rgba[4*g : 4*g+4]
		s.color = color.RGBA{byte8(c[0] * c[3]), byte8(c[1] * c[3]), byte8(c[2] * c[3]), byte8(c[3])}
		if s.kind == C.mjGEOM_MESH && data[g] >= 0 {
			at := unsafe.Slice(m.m.mesh_vertadr, int(m.m.nmesh))[data[g]]
			count := unsafe.Slice(m.m.mesh_vertnum, int(m.m.nmesh))[data[g]]
			all := unsafe.Slice((*float32)(unsafe.Pointer(m.m.mesh_vert)), 3*int(m.m.nmeshvert))
			s.vertices = slices.Clone(all[3*at : 3*(at+count)])
			at = unsafe.Slice(m.m.mesh_faceadr, int(m.m.nmesh))[data[g]]
			count = unsafe.Slice(m.m.mesh_facenum, int(m.m.nmesh))[data[g]]
			faces := unsafe.Slice((*int32)(unsafe.Pointer(m.m.mesh_face)), 3*int(m.m.nmeshface))
			s.faces = slices.Clone(faces[3*at : 3*(at+count)])
		}
		d.shapes = append(d.shapes, s)
		d.order = append(d.order, g)
	}
	pose, err := NewBatch(m, 1, 1)
	if err != nil {
		return nil, err
	}
	d.pose = pose
	if err := pose.forward(0, 1); err != nil {
		d.close()
		return nil, err
	}
	if cfg.Camera != nil {
		data := pose.data[0]
		d.scene = newScene(cfg, d.shapes, floats(data.geom_xpos, 3*n), floats(data.geom_xmat, 9*n))
		cfg = d.scene.cfg
	}
	d.canvas = newCanvas(d.frame(m, cfg))
	return d, nil
}

// byte8 converts a colour component from [0, 1] to [0, 255].
func byte8(v float32) uint8 { return uint8(max(0, min(255, v*255+0.5))) }

// frame returns cfg with zeros replaced so that the model in its initial pose, and the ground under it, fill the side
// view.
func (d *drawing) frame(m *Model, cfg RenderConfig) RenderConfig {
	if cfg.Width == 0 {
		cfg.Width = 320
	}
	if cfg.Height == 0 {
		cfg.Height = 320
	}
	data := d.pose.data[0]
	n := len(d.shapes)
	pos, mat := floats(data.geom_xpos, 3*n), floats(data.geom_xmat, 9*n)
	left, right, low, high := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	ground := math.Inf(-1)
	for g := range d.shapes {
		if d.shapes[g].kind == C.mjGEOM_PLANE && mat[9*g+8] > 0.99 {
			ground = pos[3*g+2]
		}
		for _, p := range d.shapes[g].silhouette(pos[3*g:3*g+3], mat[9*g:9*g+9]) {
			left, right, low, high = min(left, p.x), max(right, p.x), min(low, p.z), max(high, p.z)
		}
	}
	if left > right {
		left, right, low, high = -1, 1, 0, 2 // nothing to see
	}
	aspect := float64(cfg.Height) / float64(cfg.Width)
	low = max(low, ground)
	if cfg.Span == 0 {
		cfg.Span = max(1.5*(high-low)/aspect, 1.6*(right-left), 0.1)
	}
	if cfg.CenterZ == 0 {
		cfg.CenterZ = (low + high) / 2
		if !math.IsInf(ground, -1) {
			cfg.CenterZ = ground + 0.32*cfg.Span*aspect
		}
	}
	return cfg
}

// Render returns a picture of the current state of environment i. Each call returns a new image.
func (e *Env) Render(i int) (image.Image, error) {
	d, err := e.viewed(i)
	if err != nil {
		return nil, err
	}
	if d.scene != nil {
		if ok, err := d.follow(e.task, &e.states[i]); err != nil {
			return nil, err
		} else if ok {
			return d.perspective(e.model, e.batch.data[i], d.pose.data[0]), nil
		}
	}
	return d.picture(e.model, e.batch.data[i]), nil
}

// RenderPose returns a picture of the model with the positions given (NQ), such as a frame of a clip.
func (e *Env) RenderPose(qpos []float64) (image.Image, error) {
	d, err := e.viewed(0)
	if err != nil {
		return nil, err
	}
	if len(qpos) != e.model.NQ() {
		return nil, fmt.Errorf("mujoco: a pose of %d positions, the model has %d", len(qpos), e.model.NQ())
	}
	for i, v := range qpos {
		if v-v != 0 {
			return nil, fmt.Errorf("mujoco: position %d of the pose is %g; it must be finite", i, v)
		}
	}
	copy(d.pose.QPos(0), qpos)
	if err := d.pose.forward(0, 1); err != nil {
		return nil, err
	}
	return d.picture(e.model, d.pose.data[0]), nil
}

// close frees the drawing's simulation.
func (d *drawing) close() {
	_ = d.pose.Close() // freeing memory cannot fail
}

// perspective draws the model in the state of data. If reference is not nil, it draws that state next to it, to the
// right and in a paler colour. The camera then looks between both.
func (d *drawing) perspective(m *Model, data, reference *C.mjData) *image.RGBA {
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
	return s.draw(root.X, root.Y, d.canvas)
}

// picture draws the model in the state of data: in perspective with a camera, otherwise from the side.
func (d *drawing) picture(m *Model, data *C.mjData) *image.RGBA {
	if d.scene != nil {
		return d.perspective(m, data, nil)
	}
	n := len(d.shapes)
	pos, mat := floats(data.geom_xpos, 3*n), floats(data.geom_xmat, 9*n)
	root := 0.0
	if m.NumBodies() > 1 {
		root = floats(data.xpos, 3*m.NumBodies())[3]
	}
	// Farther geoms come first, since nearer ones cover them. Among equally far geoms, higher indices come first: the
	// end of a limb before its beginning, so that a body covers its joints.
	slices.SortFunc(d.order, func(a, b int) int {
		if pos[3*a+1] > pos[3*b+1]+1e-6 {
			return -1
		}
		if pos[3*b+1] > pos[3*a+1]+1e-6 {
			return 1
		}
		return b - a
	})
	c := d.canvas
	c.begin(root)
	for g, s := range d.shapes {
		if s.kind == C.mjGEOM_PLANE && mat[9*g+8] > 0.99 {
			c.ground(pos[3*g+2], s.color)
			d.shadows(m, pos, mat, pos[3*g+2])
			break
		}
	}
	for _, g := range d.order {
		if s := &d.shapes[g]; s.color.A > 0 {
			c.fillOutlined(s.silhouette(pos[3*g:3*g+3], mat[9*g:9*g+9]), s.color)
		}
	}
	c.title()
	return c.finish()
}

// shadows darkens the ground at height z under every geom that is less than 0.3 m above the ground. Lower geoms darken
// it more.
func (d *drawing) shadows(m *Model, pos, mat []float64, z float64) {
	for g := range d.shapes {
		outline := d.shapes[g].silhouette(pos[3*g:3*g+3], mat[9*g:9*g+9])
		if len(outline) == 0 {
			continue
		}
		low, left, right := math.Inf(1), math.Inf(1), math.Inf(-1)
		for _, p := range outline {
			low, left, right = min(low, p.z), min(left, p.x), max(right, p.x)
		}
		if height := low - z; height < 0.3 {
			d.canvas.shadow((left+right)/2, z, (right-left)/2*0.9+0.03, 1-max(0, height)/0.3)
		}
	}
}
