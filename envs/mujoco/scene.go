package mujoco

// #include "engine.h"
import "C"

import (
	"cmp"
	"image"
	"image/color"
	"math"
	"runtime"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/gonum/spatial/r3"
)

const (
	samples = 2  // rays per pixel in each direction, so 4 in all: they smooth edges
	tones   = 24 // brightness levels of a colour, few enough for a GIF's palette
)

// Colours of the sky, of the title, of the two kinds of ground squares, the tint of the reference, and the marks of
// contacts.
var (
	skyTop      = color.RGBA{0xf7, 0xf9, 0xfb, 0xff}
	skyBottom   = color.RGBA{0xe3, 0xea, 0xf0, 0xff}
	ink         = color.RGBA{0x33, 0x3b, 0x44, 0xff}
	groundLight = color.RGBA{0xd9, 0xdf, 0xe4, 0xff}
	groundDark  = color.RGBA{0xc4, 0xcc, 0xd3, 0xff}
	ghostColor  = color.RGBA{0xb4, 0xbb, 0xc0, 0xff}
	touchColor  = color.RGBA{0xd0, 0x21, 0x2a, 0xff}
	// sun is the direction towards the light.
	sun = r3.Unit(r3.Vec{X: -0.35, Y: -0.45, Z: 1})
)

// scene draws pictures by ray casting: geoms and marks of contacts on flat ground. For each picture the
// caller sets solids and touches and calls draw. Lengths are in metres.
type scene struct {
	cfg    RenderConfig
	camera Camera
	// middle is the height at which the camera looks.
	middle float64
	// beside is the distance from a character to its reference.
	beside float64
	// ground is the height of the floor, if there is a floor.
	ground float64
	floor  bool
	// terrain lies on the floor, nil without one.
	terrain *terrain
	solids  []solid
	// touches are the positions of contacts in the world.
	touches []r3.Vec
}

// newScene chooses the camera's defaults and the scene's distances. The model in its initial pose then fits into the
// picture, with a reference next to it. pos (geoms, 3) and mat (geoms, 9) are the geoms' poses. The floor is a
// horizontal plane of the model.
func newScene(cfg RenderConfig, shapes []shape, pos, mat []float64) *scene {
	s := &scene{cfg: cfg, camera: cfg.Camera}
	low, high := math.Inf(1), math.Inf(-1)
	for g := range shapes {
		if shapes[g].kind == C.mjGEOM_PLANE && mat[9*g+8] > 0.99 {
			s.ground, s.floor = pos[3*g+2], true
		}
	}
	s.add(shapes, pos, mat, nil, r3.Vec{})
	var center r3.Vec
	for i := range s.solids {
		p := &s.solids[i]
		low, high = min(low, p.pos.Z-p.radius), max(high, p.pos.Z+p.radius)
		center = r3.Add(center, r3.Scale(1/float64(len(s.solids)), p.pos))
	}
	width := 0.1
	for i := range s.solids {
		p := &s.solids[i]
		width = max(width, math.Hypot(p.pos.X-center.X, p.pos.Y-center.Y)+p.radius)
	}
	if low > high {
		low, high = 0, 2 // nothing to see
	}
	if s.floor {
		high, low = s.ground+high-low, s.ground
	}
	s.middle = low + 0.47*(high-low)
	s.beside = max(2.7*width, 0.55*(high-low))
	// The default distance shows all of it.
	half := max(0.65*(high-low), (0.5*s.beside+1.4*width)*float64(cfg.Height)/float64(cfg.Width))
	s.camera.Distance = cmp.Or(s.camera.Distance, half/slope)
	return s
}

// add adds a model's geoms to the scene, moved by shift. pos (geoms, 3) and mat (geoms, 9) are their poses. If col is
// not nil, their colours are mixed with it. Planes, height fields and invisible geoms are left out.
func (s *scene) add(shapes []shape, pos, mat []float64, col *color.RGBA, shift r3.Vec) {
	for g := range shapes {
		p := solid{shape: &shapes[g], color: shapes[g].Color, radius: shapes[g].reach(),
			mat: r3.NewMat(mat[9*g : 9*g+9]),
			pos: r3.Add(shift, r3.Vec{X: pos[3*g], Y: pos[3*g+1], Z: pos[3*g+2]})}
		if p.radius == 0 || p.color.A == 0 {
			continue
		}
		if col != nil {
			p.color = mix(p.color, *col, 0.75)
		}
		s.solids = append(s.solids, p)
	}
}

// mark adds the contacts of data to the scene, moved by shift.
func (s *scene) mark(data *C.mjData, shift r3.Vec) {
	for _, c := range contacts(data) {
		s.touches = append(s.touches, r3.Add(shift, r3.Vec{X: float64(c.pos[0]), Y: float64(c.pos[1]),
			Z: float64(c.pos[2])}))
	}
}

// draw returns a picture with the place x, y in its middle. Goroutines draw interleaved lines, which balances empty and
// full parts of the picture.
func (s *scene) draw(x, y float64) *image.RGBA {
	w, h := s.cfg.Width, s.cfg.Height
	middle := r3.Vec{X: x, Y: y, Z: s.middle}
	if s.terrain != nil {
		middle.Z += s.terrain.height(x, y)
	}
	v := s.camera.at(middle, w, h)
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	boxes := make([][4]float64, len(s.solids))
	for i := range s.solids {
		boxes[i] = v.box(s.solids[i].pos, s.solids[i].radius)
	}
	var wait sync.WaitGroup
	workers := min(h, runtime.GOMAXPROCS(0))
	for k := range workers {
		wait.Go(func() {
			near := make([]int, 0, len(s.solids))
			for py := k; py < h; py += workers {
				near = near[:0] // the geoms whose boxes cross this line
				for i, b := range boxes {
					if b[1] < float64(py+1) && b[3] > float64(py) {
						near = append(near, i)
					}
				}
				for px := range w {
					var r, g, b int
					for sy := range samples {
						for sx := range samples {
							fx, fy := float64(px)+(float64(sx)+0.5)/samples, float64(py)+(float64(sy)+0.5)/samples
							c := s.look(&v, fx, fy, near, boxes)
							r, g, b = r+int(c.R), g+int(c.G), b+int(c.B)
						}
					}
					const n = samples * samples
					img.SetRGBA(px, py, color.RGBA{uint8((r + n/2) / n), uint8((g + n/2) / n), uint8((b + n/2) / n),
						0xff})
				}
			}
		})
	}
	wait.Wait()
	title := font.Drawer{Dst: img, Src: image.NewUniform(ink), Face: basicfont.Face7x13, Dot: fixed.P(w/28, w/14)}
	title.DrawString(s.cfg.Title)
	return img
}

// mix interpolates linearly from a (t = 0) to b (t = 1).
func mix(a, b color.RGBA, t float64) color.RGBA {
	m := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + t*(float64(y)-float64(x)))) }
	return color.RGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), m(a.A, b.A)}
}

// look returns the colour at a place in the picture, in pixels. near lists the solids whose boxes cross the line, boxes
// (solids, 4) the boxes of all.
func (s *scene) look(v *view, x, y float64, near []int, boxes [][4]float64) color.RGBA {
	d := v.ray(x, y)
	best, normal, seen := math.Inf(1), r3.Vec{}, -1
	for _, i := range near {
		if x < boxes[i][0] || x > boxes[i][2] {
			continue
		}
		if t, n, ok := s.solids[i].hit(v.eye, d); ok && t < best {
			best, normal, seen = t, n, i
		}
	}
	if s.terrain != nil {
		p, n, ok := s.terrain.hit(v.eye, d, s.ground+terrainSunk, min(best, 4*s.camera.Distance))
		if ok {
			return mix(s.floorColor(p, v, y), color.RGBA{0x20, 0x28, 0x30, 0xff}, shade(n))
		}
	} else if s.floor && d.Z < 0 {
		if t := (s.ground - v.eye.Z) / d.Z; t > 0 && t < best {
			return s.floorColor(r3.Add(v.eye, r3.Scale(t, d)), v, y)
		}
	}
	if seen < 0 {
		return s.sky(v, y)
	}
	// Light from the sun, from the sky, and a darker rim that sets limbs off from each other.
	light := 0.5 + 0.2*normal.Z + 0.4*max(0, r3.Dot(normal, sun))
	facing := -r3.Dot(normal, d) / r3.Norm(d)
	light *= 0.65 + 0.35*min(1, 2*max(0, facing))
	light = math.Round(light*tones) / tones
	c := s.solids[seen].color
	if light <= 1 {
		return mix(color.RGBA{0x08, 0x0a, 0x10, 0xff}, c, light)
	}
	return mix(c, color.RGBA{0xff, 0xff, 0xff, 0xff}, min(1, light-1))
}

// sky returns the colour of the background at line y, in few bands for a GIF's palette.
func (s *scene) sky(v *view, y float64) color.RGBA {
	const bands = 16
	return mix(skyTop, skyBottom, math.Floor(bands*max(0, min(1, y/(2*v.cy))))/(bands-1))
}

// floorColor returns the colour of the ground at point p, seen at line y: squares of 1 m (0.5 m if the camera is near),
// shadows and marks of contacts. Distant ground fades into the sky.
func (s *scene) floorColor(p r3.Vec, v *view, y float64) color.RGBA {
	for _, t := range s.touches {
		if dx, dy := p.X-t.X, p.Y-t.Y; dx*dx+dy*dy < 0.04*0.04 {
			return touchColor
		}
	}
	c := groundLight
	unit := 1.0
	if s.camera.Distance < 3 {
		unit = 0.5
	}
	if (int(math.Floor(p.X/unit))+int(math.Floor(p.Y/unit)))&1 != 0 {
		c = groundDark
	}
	for i := range s.solids {
		q := &s.solids[i]
		// Skip geoms whose balls the ray towards the sun misses: those behind p, or too far from the ray.
		d := r3.Sub(q.pos, p)
		along := r3.Dot(d, sun)
		if along+q.radius < 0 || r3.Dot(d, d)-along*along > q.radius*q.radius {
			continue
		}
		if _, _, ok := q.hit(p, sun); ok {
			c = mix(c, color.RGBA{0x20, 0x28, 0x30, 0xff}, 0.4)
			break
		}
	}
	far := r3.Norm(r3.Sub(p, v.eye)) / s.camera.Distance
	const steps = 16
	return mix(c, s.sky(v, y), math.Round(steps*max(0, min(1, (far-1.2)/2.8)))/steps)
}
