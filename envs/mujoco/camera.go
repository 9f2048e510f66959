package mujoco

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Camera looks at a character in perspective, and follows its root over the ground. The zero value is a good one.
type Camera struct {
	// Azimuth is the direction in degrees, about the vertical, in which it looks: 0 is along x, so that a character
	// that walks forward is seen from behind, and 90 along y, from its right. Zero means 115.
	Azimuth float64
	// Elevation is the angle in degrees by which it looks down. Zero means 12.
	Elevation float64
	// Distance is that from the root in metres. Zero: such that the model in its initial pose, with another beside it,
	// fills the picture.
	Distance float64
	// FieldOfView is the angle in degrees between the lower and the upper edge. Zero means 30.
	FieldOfView float64
}

func (c *Camera) check() error {
	for _, v := range []struct {
		name           string
		value, low, up float64
	}{{"Azimuth", c.Azimuth, -360, 360}, {"Elevation", c.Elevation, -89, 89}, {"Distance", c.Distance, 0, 1e6},
		{"FieldOfView", c.FieldOfView, 0, 150}} {
		if !(v.value >= v.low && v.value <= v.up) {
			return fmt.Errorf("mujoco: the camera's %s is %g; it must be between %g and %g", v.name, v.value, v.low,
				v.up)
		}
	}
	return nil
}

// or returns the camera with zero values replaced, for a picture that shows half metres above and below its middle.
func (c Camera) or(half float64) Camera {
	for _, v := range []struct {
		value *float64
		zero  float64
	}{{&c.Azimuth, 115}, {&c.Elevation, 12}, {&c.FieldOfView, 30}} {
		if *v.value == 0 {
			*v.value = v.zero
		}
	}
	if c.Distance == 0 {
		c.Distance = half / math.Tan(c.FieldOfView*math.Pi/360)
	}
	return c
}

// view is a camera somewhere.
type view struct {
	eye                r3.Vec
	right, up, forward r3.Vec  // unit vectors
	focal              float64 // pixels
	cx, cy             float64 // the middle of the picture
}

// at returns the view of a point for a picture of w × h pixels.
func (c Camera) at(target r3.Vec, w, h int) view {
	sa, ca := math.Sincos(c.Azimuth * math.Pi / 180)
	se, ce := math.Sincos(c.Elevation * math.Pi / 180)
	v := view{
		forward: r3.Vec{X: ca * ce, Y: sa * ce, Z: -se}, right: r3.Vec{X: sa, Y: -ca},
		focal: float64(h) / 2 / math.Tan(c.FieldOfView*math.Pi/360), cx: float64(w) / 2, cy: float64(h) / 2,
	}
	v.up = r3.Cross(v.right, v.forward)
	v.eye = r3.Sub(target, r3.Scale(c.Distance, v.forward))
	return v
}

// ray returns the direction, not of unit length, in which a place in the picture is seen.
func (v *view) ray(x, y float64) r3.Vec {
	return r3.Add(v.forward, r3.Add(r3.Scale((x-v.cx)/v.focal, v.right), r3.Scale((v.cy-y)/v.focal, v.up)))
}

// box returns the rectangle of the picture in which a ball is seen; ok is false where it is behind the camera.
func (v *view) box(center r3.Vec, radius float64) (x0, y0, x1, y1 float64, ok bool) {
	d := r3.Sub(center, v.eye)
	z := r3.Dot(d, v.forward) - radius
	if z <= 1e-3 {
		return 0, 0, 0, 0, false
	}
	// The ball's nearest point scales the whole ball: a little too large, never too small.
	x, y := r3.Dot(d, v.right), r3.Dot(d, v.up)
	low := func(a float64) float64 { return min(a/z, a/(z+2*radius)) }
	high := func(a float64) float64 { return max(a/z, a/(z+2*radius)) }
	return v.cx + v.focal*low(x-radius), v.cy - v.focal*high(y+radius), v.cx + v.focal*high(x+radius),
		v.cy - v.focal*low(y-radius), true
}
