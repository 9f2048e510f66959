package motions

import (
	"fmt"
	"math"
)

// Loop says what happens after a clip's end.
type Loop uint8

const (
	// LoopNone holds the first frame before the beginning and the last one after the end. Files call it
	// "none" or "clamp".
	LoopNone Loop = iota
	// LoopWrap starts over, on and on; columns of kind [Travel] go on from where they were.
	LoopWrap
)

// String returns "none" or "wrap".
func (l Loop) String() string {
	if l == LoopWrap {
		return "wrap"
	}
	return "none"
}

// Clip is a reference motion. It does not change after it was made, so goroutines may share it.
type Clip struct {
	name        string
	loop        Loop
	weight      float64
	description *Description
	described   bool
	n, w, v     int
	positions   []float64 // (n, w)
	velocities  []float64 // (n, v)
	times       []float64 // (n + 1): when each frame begins; the last entry is the clip's end
	travel      []float64 // (w): what one loop adds
	turn        *turn     // nil: a loop adds no rotation
	arrays      map[string]array
	bodies      []string
	skeleton    *Skeleton // nil: not known
	repairs     []string
}

// Name is the clip's name; for a file, its base name without the ending.
func (c *Clip) Name() string { return c.name }

// Loop says what happens after the end.
func (c *Clip) Loop() Loop { return c.loop }

// Weight is the clip's share when a [Library] draws one.
func (c *Clip) Weight() float64 { return c.weight }

// NumFrames is the number of frames, N.
func (c *Clip) NumFrames() int { return c.n }

// Width is the number of position values of a frame, W.
func (c *Clip) Width() int { return c.w }

// VelocityWidth is the number of velocity values of a frame, V: W less one for each rotation.
func (c *Clip) VelocityWidth() int { return c.v }

// Duration is the clip's length in seconds: for a wrapping clip the time after which it repeats.
func (c *Clip) Duration() float64 { return c.times[c.n] }

// FrameTime is the time in seconds at which frame k is reached.
func (c *Clip) FrameTime(k int) float64 { return c.times[k] }

// FrameDuration is the time in seconds from frame k to the next; 0 for a last frame that ends the clip.
func (c *Clip) FrameDuration(k int) float64 { return c.times[k+1] - c.times[k] }

// Frame returns the W positions of frame k. They belong to the clip: read them only.
func (c *Clip) Frame(k int) []float64 { return c.positions[k*c.w : (k+1)*c.w : (k+1)*c.w] }

// FrameVelocity returns the V velocities of frame k. They belong to the clip: read them only.
func (c *Clip) FrameVelocity(k int) []float64 { return c.velocities[k*c.v : (k+1)*c.v : (k+1)*c.v] }

// Raw reports whether nothing is known about the columns; all are then interpolated linearly.
func (c *Clip) Raw() bool { return !c.described }

// Description returns what the columns are, as a copy; for a raw clip, linear columns named "value 0"
// and so on.
func (c *Clip) Description() *Description { return c.description.clone() }

// LoopTravel returns what one loop adds to each of the W positions: non-zero for columns of kind
// [Travel] of a wrapping clip. All are zero for a clip that turns, whose loops start in the direction and at the
// place where the last one ended.
func (c *Clip) LoopTravel() []float64 { return append([]float64(nil), c.travel...) }

// WithWeight returns the clip with another weight, sharing its data. It fails where the weight is not
// positive and finite.
func (c *Clip) WithWeight(weight float64) (*Clip, error) {
	if !(weight > 0) || math.IsInf(weight, 0) {
		return nil, fmt.Errorf("motions: %s: the weight must be positive and finite, and is %g", nameOr(c.name), weight)
	}
	other := *c
	other.weight = weight
	return &other, nil
}
