package motions

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/gorl-dev/gorl/checkpoint/torchfile"
	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/rotation"
)

// ExportConfig says how a clip is written for other software.
type ExportConfig struct {
	// Format is "mjlab" (npz of its tracking task), "isaaclab" (npz of its AMP task) or "mimickit" (a pickle).
	Format string
	// Rate is the number of frames a second. Zero means 50, the control frequency of mjlab's robots. A loop for
	// MimicKit is a whole number of frames, so that its rate differs a little.
	Rate float64
	// Seconds is the length. A clip that wraps goes on over its loops. Zero means the clip's duration.
	Seconds float64
}

// Export writes a clip with a skeleton in a format of others, at even times: the joints in the skeleton's order, and
// the bodies where the skeleton has them, with velocities by central differences. mjlab's files have no names; Export
// adds joint_names and body_names, which mjlab does not read and [Load] does.
func (c *Clip) Export(w io.Writer, cfg ExportConfig) (err error) {
	defer func() { err = named(c.name, err) }()
	rate, seconds := cmp.Or(cfg.Rate, 50), cmp.Or(cfg.Seconds, c.Duration())
	if c.skeleton == nil {
		return errNoSkeleton
	}
	if !(rate > 0) || infinite(1/rate) || !(cfg.Seconds >= 0) || infinite(cfg.Seconds) {
		return fmt.Errorf("ExportConfig.Rate is %g and Seconds %g; both must be finite and not negative", cfg.Rate,
			cfg.Seconds)
	}
	loop := LoopNone
	if cfg.Format == "mimickit" && cfg.Seconds == 0 {
		if loop = c.loop; loop == LoopWrap { // a loop is a whole number of frames
			rate = max(1, math.Round(seconds*rate)) / seconds
		}
	}
	n := int(math.Floor(seconds*rate+1e-6)) + 1
	if n < 2 {
		return fmt.Errorf("it has %g s, which is less than two frames at %g a second", seconds, rate)
	}
	rows := make([][]float64, n)
	for k := range rows {
		rows[k] = make([]float64, c.w)
		c.At(float64(k)/rate, rows[k], nil)
	}
	even, err := newClip(ClipConfig{Name: c.name, Skeleton: c.skeleton, Frames: rows, Durations: evenly(n, 1/rate)})
	if err != nil {
		return err
	}
	switch cfg.Format {
	case "mimickit":
		return even.writeMimicKit(w, rate, loop)
	case "mjlab", "isaaclab":
	default:
		return fmt.Errorf("ExportConfig.Format is %q; there are mjlab, isaaclab and mimickit", cfg.Format)
	}
	var joints, bodies []string
	for _, j := range c.skeleton.Joints() {
		if j.Kind != Hinge {
			return fmt.Errorf("the joint %s is a ball joint; the format has hinges only", j.Name)
		}
		joints = append(joints, j.Name)
	}
	for _, b := range c.skeleton.Bodies {
		bodies = append(bodies, b.Name)
	}
	f := even.bodyMotion(bodies)
	names := [7]string{"joint_names", "joint_pos", "joint_vel", "body_pos_w", "body_quat_w", "body_lin_vel_w",
		"body_ang_vel_w"}
	fps := npz.New("fps", []float64{rate}, 1)
	if cfg.Format == "isaaclab" {
		names = [7]string{"dof_names", "dof_positions", "dof_velocities", "body_positions", "body_rotations",
			"body_linear_velocities", "body_angular_velocities"}
		fps.Shape = nil
	}
	j, b := len(joints), len(bodies)
	return npz.Write(w, fps, npz.NewString(names[0], joints, j), npz.NewString("body_names", bodies, b),
		npz.New(names[1], f.angles, n, j), npz.New(names[2], f.speeds, n, j), npz.New(names[3], f.places, n, b, 3),
		npz.New(names[4], f.turns, n, b, 4), npz.New(names[5], f.linear, n, b, 3),
		npz.New(names[6], f.angular, n, b, 3))
}

// bodyMotion is a clip's joints and bodies: (N, joints), (N, bodies, 3) and, of turns, (N, bodies, 4).
type bodyMotion struct {
	angles, speeds, places, turns, linear, angular []float32
}

// bodyMotion computes where the named bodies of a clip of hinges are, and how they move in the world.
func (c *Clip) bodyMotion(names []string) *bodyMotion {
	f, d, rows := &bodyMotion{}, &Description{}, make([][]float64, c.n)
	d.addBodies(names)
	p := newPose(c.skeleton, nil)
	for k := range rows {
		p.set(c.Frame(k))
		rows[k] = append(append(rows[k], p.positions...), p.rotations...)
		f.angles = number.Float32s(f.angles, c.Frame(k)[7:])
		f.speeds = number.Float32s(f.speeds, c.frameVelocity(k)[6:])
		f.places, f.turns = number.Float32s(f.places, p.positions), number.Float32s(f.turns, p.rotations)
	}
	bodies, err := newClip(ClipConfig{Description: d, Frames: rows, Durations: durationsOf(c)})
	if err != nil {
		panic(err) // a clip's bodies are where its numbers, which are finite, take them
	}
	for k := range c.n {
		v := bodies.frameVelocity(k)
		f.linear = number.Float32s(f.linear, v[:3*len(names)])
		f.angular = number.Float32s(f.angular, v[3*len(names):])
	}
	return f
}

// writeMimicKit writes the pickle that parseMimicKit reads.
func (c *Clip) writeMimicKit(w io.Writer, rate float64, loop Loop) error {
	frames := &torchfile.List{}
	numbers := func(to *torchfile.List, values ...float64) {
		for _, x := range values {
			to.Items = append(to.Items, x)
		}
	}
	turn := func(to *torchfile.List, q rotation.Quat) {
		v := q.Log()
		numbers(to, v[:]...)
	}
	for k := range c.n {
		f, row := &torchfile.List{}, c.Frame(k)
		numbers(f, row[:3]...)
		turn(f, rotation.Of(row[3:]))
		at := 7
		for _, j := range c.skeleton.Joints() {
			if j.Kind == Hinge {
				numbers(f, row[at])
			} else {
				turn(f, rotation.Of(row[at:]))
			}
			at += j.Kind.Width()
		}
		frames.Items = append(frames.Items, f)
	}
	file := &torchfile.Dict{}
	file.Set("loop_mode", int64(loop))
	file.Set("fps", rate)
	file.Set("frames", frames)
	data, err := torchfile.WritePickle(file)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// parseMJLab reads a motion of mjlab's tracking task: fps, joint_pos and joint_vel (N, J), and body_pos_w,
// body_quat_w, body_lin_vel_w and body_ang_vel_w (N, B, 3 or 4), all of the robot's bodies. The clip's rows are the
// first body's position and rotation, and the joints, "joint_0" and so on if the file has no joint_names. [Clip.On]
// gives it a skeleton. The clip does not loop.
func parseMJLab(r *npzReader, name string) (*Clip, error) {
	step, angles, places := r.step("fps"), r.numbers("joint_pos", -1, -1), r.numbers("body_pos_w", -1, -1, 3)
	if r.err != nil {
		return nil, r.err
	}
	n, j, b := r.array("joint_pos").Shape[0], r.array("joint_pos").Shape[1], r.array("body_pos_w").Shape[1]
	turns := r.numbers("body_quat_w", n, b, 4)
	var names []string
	if r.file.Arrays["joint_names"] != nil {
		names = r.words("joint_names")
	}
	if len(places) != 3*n*b || names != nil && len(names) != j {
		r.fail("body_pos_w has shape %v and there are %d joint_names; joint_pos has %d frames of %d joints",
			r.file.Arrays["body_pos_w"].Shape, len(names), n, j)
	}
	if r.err != nil {
		return nil, r.err
	}
	cfg := ClipConfig{Name: name, Durations: evenly(n, step), Description: rootAndHinges(j, names...)}
	for k := range n {
		row := append(append([]float64(nil), places[3*b*k:3*b*k+3]...), turns[4*b*k:4*b*k+4]...)
		cfg.Frames = append(cfg.Frames, append(row, angles[j*k:j*(k+1)]...))
	}
	return newClip(cfg)
}
