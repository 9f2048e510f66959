// Package motions holds reference motion: clips of how a character should move.
//
// A [Clip] is a sequence of frames with durations. A [Description] or a [Skeleton] says what the numbers of a frame
// are. Without either the clip is raw, and every number is interpolated linearly. [Clip.At] gives positions and
// velocities at any time, over any number of loops.
//
// [Load] reads a clip from a file of any known format, [Builtin] returns one that comes with gorl, [Gait] and [Trot]
// generate one, and [NewClip] makes one from numbers. [Humanoid], [Clip.Retarget] and [Planar] carry a clip over to
// another skeleton. [Check] reports what is wrong with a clip. A [Source] draws the rows that AMP's discriminator sees.
//
// Units are seconds, metres and radians. Rotations are unit quaternions, w first.
//
// Reading order: description.go, clip.go, newclip.go and sample.go are the clip; angles.go, skeleton.go and pose.go are
// skeletons; load.go leads to the file formats; retarget.go, ik.go, retarget_floor.go, humanoid.go, edit.go and
// floor.go make clips from clips; save.go and export.go write them; check.go and source.go use them.
package motions

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Loop says what happens after a clip's end.
type Loop uint8

const (
	// LoopNone holds the first frame before the beginning and the last frame after the end. DeepMimic's files call it
	// "none" or "clamp".
	LoopNone Loop = iota
	// LoopWrap starts over after the end. Columns of kind [Travel] continue from where they were.
	LoopWrap
)

// String returns "none" or "wrap".
func (l Loop) String() string {
	if l == LoopWrap {
		return "wrap"
	}
	return "none"
}

// Clip is a reference motion. A clip is immutable, so goroutines may share it.
type Clip struct {
	name        string
	loop        Loop
	weight      float64
	description *Description
	described   bool
	skeleton    *Skeleton // nil: not known
	n, w, v     int
	positions   []float64 // (n, w)
	velocities  []float64 // (n, v)
	times       []float64 // (n + 1): the time of each frame; the last entry is the clip's end
	travel      []float64 // (w): what one loop adds
	turn        *turn     // nil: a loop adds no rotation
	repairs     []string
}

// Name returns the clip's name. For a file it is the base name without the extension.
func (c *Clip) Name() string { return c.name }

// Loop says what happens after the end.
func (c *Clip) Loop() Loop { return c.loop }

// Weight is the clip's share when a [Source] or an environment draws one of several clips.
func (c *Clip) Weight() float64 { return c.weight }

// WithWeight returns the clip with another weight; the two share their data. It fails unless the weight is positive
// and finite.
func (c *Clip) WithWeight(weight float64) (*Clip, error) {
	if !(weight > 0) || math.IsInf(weight, 0) {
		return nil, c.fail("the weight must be positive and finite, and is %g", weight)
	}
	other := *c
	other.weight = weight
	return &other, nil
}

// NumFrames returns the number of frames, N.
func (c *Clip) NumFrames() int { return c.n }

// Width returns the number of position values of a frame, W.
func (c *Clip) Width() int { return c.w }

// VelocityWidth returns the number of velocity values of a frame, V. It is W less one for each rotation.
func (c *Clip) VelocityWidth() int { return c.v }

// Duration returns the clip's length in seconds. A wrapping clip repeats after that time.
func (c *Clip) Duration() float64 { return c.times[c.n] }

// FrameTime returns the time in seconds of frame k. FrameTime(NumFrames()) is the clip's end.
func (c *Clip) FrameTime(k int) float64 { return c.times[k] }

// frameDuration returns the time from frame k to the next. It is 0 for a last frame that ends the clip.
func (c *Clip) frameDuration(k int) float64 { return c.times[k+1] - c.times[k] }

// Frame returns the W positions of frame k. The slice is the clip's own memory and must not be changed.
func (c *Clip) Frame(k int) []float64 { return c.positions[k*c.w : (k+1)*c.w : (k+1)*c.w] }

// frameVelocity returns the V velocities of frame k, the clip's own memory.
func (c *Clip) frameVelocity(k int) []float64 { return c.velocities[k*c.v : (k+1)*c.v : (k+1)*c.v] }

// Raw reports whether the clip has neither a description nor a skeleton.
func (c *Clip) Raw() bool { return !c.described }

// Description returns a copy of what the columns are. The columns of a raw clip are linear and named "value 0" and so
// on.
func (c *Clip) Description() *Description { return c.description.clone() }

// Skeleton returns a copy of the skeleton that the rows move. It is nil if the skeleton is not known.
func (c *Clip) Skeleton() *Skeleton {
	if c.skeleton == nil {
		return nil
	}
	return c.skeleton.clone()
}

// LoopTravel returns what one loop adds to each of the W positions: non-zero for columns of kind [Travel] of a wrapping
// clip. It is zero for a clip that turns, because each of its loops begins in another direction.
func (c *Clip) LoopTravel() []float64 { return slices.Clone(c.travel) }

// Repairs returns, a sentence each, the faults that were repaired when the clip was read or retargeted.
func (c *Clip) Repairs() []string { return slices.Clone(c.repairs) }

// framesOf returns a copy of all frames.
func framesOf(c *Clip) [][]float64 { return cutRows(slices.Clone(c.positions), c.w) }

// durationsOf returns the durations from which [NewClip] makes the clip's times.
func durationsOf(c *Clip) []float64 {
	out := make([]float64, c.n)
	for k := range out {
		out[k] = c.frameDuration(k)
	}
	return out
}

// derive makes a clip that keeps c's name, weight, repairs and turning. What cfg leaves out is c's: the skeleton or
// description, and the durations together with the loop. Velocities are central differences.
func (c *Clip) derive(cfg ClipConfig) (*Clip, error) {
	cfg.Name, cfg.Weight = c.name, c.weight
	if cfg.Skeleton == nil {
		cfg.Skeleton = c.skeleton
		if c.skeleton == nil && c.described {
			cfg.Description = c.description
		}
	}
	if cfg.Durations == nil {
		cfg.Durations, cfg.Loop = durationsOf(c), c.loop
	}
	out, err := newClip(cfg)
	if err != nil {
		return nil, err
	}
	out.repairs = slices.Clone(c.repairs)
	if c.turn != nil {
		setTurn(out)
	}
	return out, nil
}

// fail makes an error that begins with the package's and the clip's name.
func (c *Clip) fail(format string, args ...any) error {
	return named(c.name, fmt.Errorf(format, args...))
}

// explained passes on a clip made of c, with c's name before an error.
func (c *Clip) explained(out *Clip, err error) (*Clip, error) { return out, named(c.name, err) }

// named puts the package's name and a clip's name or path before an error.
func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("motions: %s: %w", cmp.Or(name, "unnamed clip"), err)
}
