package mujoco

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Camera is a perspective view of a character that follows the character's root horizontally. The zero value is a good
// choice.
type Camera struct {
	// Azimuth is the camera's direction in degrees: 0 looks along x, the direction of walking, 90 at the right side.
	// Elevation is its angle downwards.
	//
	// Zeros mean 115 and 12.
	Azimuth   float64 `yaml:"azimuth" config:"min=-360,max=360"`
	Elevation float64 `yaml:"elevation" config:"min=1,max=89"`
	// Distance is the camera's distance in metres; 0 shows the whole character and the clip.
	//
	// It is the distance from the root of the character.
	Distance float64 `yaml:"distance" config:"min=0"`
}

// slope is the tangent of half the angle of 30 degrees between the picture's lower and upper edge.
const slope = 0.2679491924311227

// view is a camera at a place, for one picture: a pinhole at eye.
type view struct {
	// eye is the camera's position in metres.
	eye r3.Vec
	// right, up and forward are the unit vectors of the picture's axes and of the viewing direction.
	right, up, forward r3.Vec
	// focal is the focal length in pixels.
	focal float64
	// cx, cy is the middle of the picture in pixels.
	cx, cy float64
}

// at returns the view with target in the middle of a picture of w × h pixels.
func (c Camera) at(target r3.Vec, w, h int) view {
	sa, ca := math.Sincos(c.Azimuth * math.Pi / 180)
	se, ce := math.Sincos(c.Elevation * math.Pi / 180)
	v := view{
		forward: r3.Vec{X: ca * ce, Y: sa * ce, Z: -se}, right: r3.Vec{X: sa, Y: -ca},
		focal: float64(h) / 2 / slope, cx: float64(w) / 2, cy: float64(h) / 2,
	}
	v.up = r3.Cross(v.right, v.forward)
	v.eye = r3.Sub(target, r3.Scale(c.Distance, v.forward))
	return v
}

// ray returns the direction from the eye through a place in the picture, in pixels. It is not of unit length: its
// component along forward is 1.
func (v *view) ray(x, y float64) r3.Vec {
	return r3.Add(v.forward, r3.Add(r3.Scale((x-v.cx)/v.focal, v.right), r3.Scale((v.cy-y)/v.focal, v.up)))
}

// box returns a rectangle x0, y0, x1, y1 in pixels that contains the picture of a ball. Rays outside the rectangle need
// no test against the geom in the ball. It is empty if a part of the ball is behind the camera.
func (v *view) box(center r3.Vec, radius float64) [4]float64 {
	d := r3.Sub(center, v.eye)
	z := r3.Dot(d, v.forward) - radius
	if z <= 1e-3 {
		return [4]float64{}
	}
	// z is the depth of the ball's nearest point, z + 2·radius that of its farthest. The extremes over both depths give
	// a rectangle that is a little too large, never too small.
	x, y := r3.Dot(d, v.right), r3.Dot(d, v.up)
	low := func(a float64) float64 { return min(a/z, a/(z+2*radius)) }
	high := func(a float64) float64 { return max(a/z, a/(z+2*radius)) }
	return [4]float64{v.cx + v.focal*low(x-radius), v.cy - v.focal*high(y+radius), v.cx + v.focal*high(x+radius),
		v.cy - v.focal*low(y-radius)}
}
