package motions

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/number"
)

// Save writes a clip with a skeleton as an npz file that [Load] reads: qpos (N, W), the rows; fps, the frame rate;
// duration in seconds; loop, "none" or "wrap"; skeleton, its name; joints, the joints' names; bodies, the skeleton as
// JSON, unless it is [HumanoidSkeleton] or [QuadrupedSkeleton]; and credit, a text on the motion's origin. Velocities
// are left out: Load computes central differences. Save fails for frames that are unevenly apart. [Clip.Export] writes
// formats of others.
func (c *Clip) Save(w io.Writer, credit string) error {
	if c.skeleton == nil {
		return named(c.name, errNoSkeleton)
	}
	uneven := c.n < 2
	for k := range c.n - 1 {
		d := c.frameDuration(k)
		uneven = uneven || d < 0.999*c.times[1] || d > 1.001*c.times[1]
	}
	if uneven {
		return c.fail("the frames must be evenly apart, and at least two")
	}
	rows := number.Float32s(nil, c.positions)
	var joints []string
	for _, j := range c.skeleton.Joints() {
		joints = append(joints, j.Name)
	}
	arrays := []*npz.Array{npz.New("qpos", rows, c.n, c.w), npz.New("fps", []float64{1 / c.times[1]}),
		npz.New("duration", []float64{c.Duration()}), npz.NewString("loop", []string{c.loop.String()}),
		npz.NewString("skeleton", []string{c.skeleton.Name}), npz.NewString("joints", joints, len(joints)),
		npz.NewString("credit", []string{credit})}
	if s := knownSkeleton(c.skeleton.Name); s == nil || !reflect.DeepEqual(s, c.skeleton) {
		bodies, err := json.Marshal(c.skeleton)
		if err != nil {
			return named(c.name, err)
		}
		arrays = append(arrays, npz.NewString("bodies", []string{string(bodies)}))
	}
	return named(c.name, npz.Write(w, arrays...))
}

// knownSkeleton returns a skeleton of this package by its name, or nil.
func knownSkeleton(name string) *Skeleton {
	for _, s := range []*Skeleton{HumanoidSkeleton(), QuadrupedSkeleton()} {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// parseSaved reads a file that Save wrote.
func parseSaved(r *npzReader, name string) (*Clip, error) {
	step, duration := r.step("fps"), r.number("duration")
	skeleton, loop, joints := r.words("skeleton"), r.words("loop"), r.words("joints")
	if r.err != nil {
		return nil, r.err
	}
	s := knownSkeleton(skeleton[0])
	if r.file.Arrays["bodies"] != nil {
		bodies := r.words("bodies")
		if r.err != nil {
			return nil, r.err
		}
		s = &Skeleton{}
		if err := json.Unmarshal([]byte(bodies[0]), s); err != nil {
			return nil, fmt.Errorf("bodies: %w", err)
		}
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("bodies: %w", err)
		}
	}
	if s == nil {
		return nil, fmt.Errorf("the skeleton %.40q is not known; there are humanoid and quadruped", skeleton[0])
	}
	if !slices.EqualFunc(s.Joints(), joints, func(j Joint, name string) bool { return j.Name == name }) {
		return nil, fmt.Errorf("the joints are %v; the skeleton %s has others", joints, s.Name)
	}
	rows := cutRows(r.numbers("qpos", -1, s.Width()), s.Width())
	if r.err != nil {
		return nil, r.err
	}
	n := len(rows)
	cfg := ClipConfig{Name: name, Skeleton: s, Frames: rows, Durations: evenly(n, step)}
	switch loop[0] {
	case "wrap":
		cfg.Loop = LoopWrap
	case "none":
	default:
		return nil, fmt.Errorf("loop is %.40q; want none or wrap", loop[0])
	}
	if infinite(duration) {
		return nil, errors.New("duration must be finite")
	}
	if n > 1 { // the time from the last frame back to the first if the clip wraps
		cfg.Durations[n-1] = max(0, duration-float64(n-1)*step)
		if cfg.Durations[n-1] < 1e-3*step {
			cfg.Durations[n-1] = 0
		}
	}
	return newClip(cfg)
}
