package motions

import (
	"fmt"
	"io"
	"math"

	"github.com/gorl-dev/gorl/checkpoint/torchfile"
)

// LoadMimicKit reads the file at path with [ReadMimicKit]. The clip is named after the file.
func LoadMimicKit(path string, s *Skeleton) (*Clip, error) {
	return loadWith(path, func(data []byte, name string) (*Clip, error) { return mimicKitClip(data, name, s) })
}

// ReadMimicKit reads a motion of MimicKit: a pickle of fps, loop_mode (0 holds the end, 1 starts over) and frames, each
// the root's position (3, z up), its rotation as an exponential map (3), and the joints in the skeleton's order, three
// numbers of an exponential map for a ball joint and an angle for a hinge. The pickle is not executed; one that asks
// for more than numbers, strings, lists and dictionaries is refused.
//
// s is the skeleton that the motion is of; where three hinges of it make a ball joint there, the exponential map
// becomes their angles. Nil: MimicKit's humanoid where frames have 34 numbers ([HumanoidSkeleton] with arms that point
// sideways in the zero pose and elbows about z: [Clip.Retarget] carries clips over), hinges "joint_0" and so on
// otherwise. The name is the clip's, and errors begin with it.
func ReadMimicKit(r io.Reader, name string, s *Skeleton) (*Clip, error) {
	return readWith(r, name, func(data []byte, name string) (*Clip, error) { return mimicKitClip(data, name, s) })
}

func mimicKitClip(data []byte, name string, s *Skeleton) (*Clip, error) {
	v, err := torchfile.ReadPickle(data)
	if err != nil {
		return nil, fmt.Errorf("MimicKit's pickle: %w", err)
	}
	motion, ok := v.(*torchfile.Dict)
	if !ok {
		return nil, fmt.Errorf("the pickle is no dictionary with fps and frames, so MimicKit did not write it")
	}
	get := func(key string) any {
		value, _ := motion.Get(key)
		return value
	}
	fps, ok := number(get("fps"))
	if !ok || !(fps > 0) || !finite(1/fps) {
		return nil, fmt.Errorf("fps must be a positive number, and is %v", get("fps"))
	}
	cfg := ClipConfig{Name: name}
	switch loop, ok := number(get("loop_mode")); {
	case ok && loop == 1:
		cfg.Loop = LoopWrap
	case get("loop_mode") != nil && (!ok || loop != 0):
		return nil, fmt.Errorf("loop_mode must be 0 or 1, and is %v", get("loop_mode"))
	}
	frames, ok := items(get("frames"))
	if !ok || len(frames) == 0 {
		return nil, fmt.Errorf("frames must be a list of frames, and there is none")
	}
	width := 0
	for k, f := range frames {
		values, ok := items(f)
		if k == 0 {
			width = len(values)
		}
		if !ok || len(values) != width || width < 6 {
			return nil, fmt.Errorf("frame %d must be a list of numbers as long as frame 0, and at least 6; it has %d, frame 0 has %d", k,
				len(values), width)
		}
		row := make([]float64, width)
		for i, x := range values {
			if row[i], ok = number(x); !ok || infinite(row[i]) {
				return nil, fmt.Errorf("frame %d: value %d is %v; want a finite number", k, i, x)
			}
		}
		cfg.Frames, cfg.Durations = append(cfg.Frames, row), append(cfg.Durations, 1/fps)
	}
	cfg.Durations[len(frames)-1] = 0 // the last frame is the end: (N − 1)/fps seconds
	if len(frames) == 1 {
		cfg.Durations[0] = 1 / fps
	}
	return fromMaps(cfg, s)
}

// fromMaps turns rows whose rotations are exponential maps into rows of a skeleton, or of hinges where it is nil.
func fromMaps(cfg ClipConfig, s *Skeleton) (*Clip, error) {
	width := len(cfg.Frames[0])
	if s == nil && width == 34 {
		s = mimicKitHumanoid()
	}
	if s == nil {
		cfg.Description = &Description{Columns: freeRoot()}
		cfg.Description.hinges(width - 6)
	} else {
		if err := s.check(); err != nil {
			return nil, err
		}
		want := 6
		for _, j := range s.Joints() {
			want += j.Kind.VelocityWidth()
		}
		if want != width {
			return nil, fmt.Errorf("frames have %d numbers; those of the skeleton %s have %d (6 of the root, 3 for a ball joint, 1 for a hinge)",
				width, s.Name, want)
		}
		cfg.Skeleton = s
	}
	for k, f := range cfg.Frames {
		root := exponential(f[3:6])
		row := append([]float64{f[0], f[1], f[2]}, root[:]...)
		if s == nil {
			cfg.Frames[k] = append(row, f[6:]...)
			continue
		}
		f = f[6:]
		for i := range s.Bodies {
			b := &s.Bodies[i]
			switch n := len(b.Joints); {
			case n == 3 && b.orthogonal():
				angles := make([]float64, 3)
				b.angles(exponential(f), angles, before(cfg.Frames, k, len(row), 3))
				row, f = append(row, angles...), f[3:]
			case n == 1 && b.Joints[0].Kind == Rotation:
				q := exponential(f)
				row, f = append(row, q[:]...), f[3:]
			default:
				row, f = append(row, f[:n]...), f[n:]
			}
		}
		cfg.Frames[k] = row
	}
	return newClip(cfg)
}

// mimicKitHumanoid is the humanoid with arms that point sideways in the zero pose, in ball joints.
func mimicKitHumanoid() *Skeleton {
	s := HumanoidSkeleton()
	s.Name = "MimicKit's humanoid"
	for i := range s.Bodies {
		b := &s.Bodies[i]
		if len(b.Joints) == 3 {
			name := b.Joints[0].Name
			b.Joints = []Joint{{Name: name[:len(name)-2], Kind: Rotation}}
		}
		side, part := sideOf(b.Name)
		out := -1.0
		if side == "left_" {
			out = 1
		}
		switch part {
		case "lower_arm":
			b.Joints = []Joint{{Name: side + "elbow", Kind: Hinge, Axis: [3]float64{0, 0, 1}}}
			fallthrough
		case "hand":
			b.Offset = [3]float64{0, out * math.Abs(b.Offset[2]), 0}
		}
	}
	return s
}

// number is a number of a pickle.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// items are the values of a list or a tuple of a pickle.
func items(v any) ([]any, bool) {
	switch v := v.(type) {
	case *torchfile.List:
		return v.Items, true
	case torchfile.Tuple:
		return v, true
	}
	return nil, false
}
