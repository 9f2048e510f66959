package motions

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gorl-dev/gorl/internal/npz"
)

// Save writes a clip on [HumanoidSkeleton] or [QuadrupedSkeleton] as a compact npz file, which [Load] reads: qpos (N,
// W), the rows; fps, for frames that are evenly apart; duration in seconds; loop, "none" or "wrap"; skeleton, its name;
// joints, the joints' names; and credit, a text on where the motion is from. Velocities are not in it: reading makes
// central differences. It fails for clips on other skeletons, and for frames that are unevenly apart ([Clip.Resample]
// evens them).
func (c *Clip) Save(w io.Writer, credit string) error {
	if err := c.save(w, credit); err != nil {
		return fmt.Errorf("motions: %s: %w", nameOr(c.name), err)
	}
	return nil
}

var errNotKnown = errors.New("only clips on HumanoidSkeleton or QuadrupedSkeleton can be saved")

func (c *Clip) save(w io.Writer, credit string) error {
	if c.skeleton == nil {
		return errNotKnown
	}
	if s := knownSkeleton(c.skeleton.Name); s == nil || !slices.Equal(s.description().Columns, c.description.Columns) {
		return errNotKnown
	}
	if c.n < 2 || !c.even() {
		return errors.New("the frames must be evenly apart, and at least two")
	}
	rows := make([]float32, 0, c.n*c.w)
	for _, x := range c.positions {
		rows = append(rows, float32(x))
	}
	joints := c.Joints()
	return npz.Write(w, npz.New("qpos", rows, c.n, c.w), npz.New("fps", []float64{1 / c.times[1]}),
		npz.New("duration", []float64{c.Duration()}), npz.NewString("loop", []string{c.loop.String()}),
		npz.NewString("skeleton", []string{c.skeleton.Name}), npz.NewString("joints", joints, len(joints)),
		npz.NewString("credit", []string{credit}))
}

// even reports whether all frames are equally far apart, to a thousandth.
func (c *Clip) even() bool {
	for k := range c.n - 1 {
		if d := c.FrameDuration(k); d < 0.999*c.times[1] || d > 1.001*c.times[1] {
			return false
		}
	}
	return true
}

// knownSkeleton is a skeleton of this package by its name, nil for another name.
func knownSkeleton(name string) *Skeleton {
	for _, s := range []*Skeleton{HumanoidSkeleton(), QuadrupedSkeleton()} {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// isOwn tells a file that Save wrote from other npz files.
func isOwn(file *npz.File) bool { return file.Arrays["qpos"] != nil && file.Arrays["skeleton"] != nil }

func ownClip(file *npz.File, name string) (*Clip, error) {
	m := numbersOf(file)
	rows, step, duration := m.numbers("qpos"), m.step(), m.numbers("duration")
	text := func(key string) string {
		a, ok := file.Arrays[key]
		if !ok {
			m.missing(key)
			return ""
		}
		words, err := a.Strings()
		if err != nil || len(words) != 1 {
			m.fail("%s must be a word", key)
			return ""
		}
		return words[0]
	}
	skeleton, loop, joints := text("skeleton"), text("loop"), m.names("joints")
	if m.err != nil {
		return nil, m.err
	}
	s := knownSkeleton(skeleton)
	if s == nil {
		return nil, fmt.Errorf("the skeleton %.40q is not known; there are humanoid and quadruped", skeleton)
	}
	if len(rows.shape) != 2 || rows.shape[0] == 0 || rows.shape[1] != s.Width() {
		return nil, fmt.Errorf("qpos has shape %v, want (frames, %d)", rows.shape, s.Width())
	}
	want := s.Joints()
	for i, j := range want {
		if len(joints) != len(want) || joints[i] != j.Name {
			return nil, fmt.Errorf("the joints are %v; the skeleton %s has others", joints, skeleton)
		}
	}
	cfg := ClipConfig{Name: name, Skeleton: s}
	switch loop {
	case "wrap":
		cfg.Loop = LoopWrap
	case "none":
	default:
		return nil, fmt.Errorf("loop is %.40q; want none or wrap", loop)
	}
	w := s.Width()
	for k := range rows.shape[0] {
		cfg.Frames, cfg.Durations = append(cfg.Frames, rows.values[k*w:(k+1)*w]), append(cfg.Durations, step)
	}
	n := len(cfg.Frames)
	if len(duration.values) != 1 || !finite(duration.values[0]) {
		return nil, errors.New("duration must be a number")
	}
	if n > 1 { // from the last frame back to the first, if the clip wraps
		cfg.Durations[n-1] = max(0, duration.values[0]-float64(n-1)*step)
		if cfg.Durations[n-1] < 1e-3*step {
			cfg.Durations[n-1] = 0
		}
	}
	return newClip(cfg)
}
