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

// RenderConfig says how pictures look: a view from the side, x to the right and z up, without perspective, that
// follows the root along x; or that of a [Camera]. Zero values choose.
type RenderConfig struct {
	// Camera looks in perspective, at shaded bodies that throw shadows, with marks where they touch the ground, and at
	// the motion that they are compared with (see [ReferenceTask]) beside them. Nil: the view from the side.
	Camera *Camera
	// Width and Height are in pixels. Zero means 320, and 480 for the width of a camera's picture.
	Width, Height int
	// Span is the width of the view in metres. Zero: room around the model in its initial pose.
	Span float64
	// CenterZ is the height in metres at the middle of the picture. Zero: with the ground near the lower edge.
	CenterZ float64
	// Title is written into the upper left corner.
	Title string
}

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

// drawing is what an environment needs to draw itself.
type drawing struct {
	canvas *canvas
	order  []int // geoms, farthest first
	shapes []shape
	pose   *Batch // one simulation, for RenderPose
	scene  *scene // of a camera
}

// shape is what does not change of a geom.
type shape struct {
	kind     C.int
	size     [3]float64
	color    color.RGBA
	vertices []float32 // of meshes, and three indices a triangle
	faces    []int32
}

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

func byte8(v float32) uint8 { return uint8(max(0, min(255, v*255+0.5))) }

// frame chooses what the configuration left open, so that the model in its initial pose, and the ground under it,
// fill the picture well.
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

// Render returns a picture of environment i as it stands now. Each call makes a new picture.
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

func (d *drawing) close() {
	_ = d.pose.Close() // freeing memory cannot fail
}

// perspective draws the model as it stands in data, and where reference is given as it stands there beside it.
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

// picture draws the model as it stands in data.
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
	// Farther geoms first; of those as far as each other, the end of a limb before its beginning and later limbs
	// before earlier ones, so that a body covers its joints.
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

// shadows darkens the ground under every geom near it.
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
