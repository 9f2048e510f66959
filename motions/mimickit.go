package motions

import (
	"errors"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/checkpoint/torchfile"
	"github.com/gorl-dev/gorl/internal/rotation"
)

// parseMimicKit reads a motion of MimicKit: a pickle of fps, loop_mode (0 holds the end, 1 starts over) and frames. A
// frame is the root's position (3, z up), its rotation as an exponential map (3), and the joints: three numbers of an
// exponential map for a ball joint and an angle for a hinge. The pickle is not executed. A pickle that asks for more
// than numbers, strings, lists and dictionaries is refused.
//
// Frames of 34 numbers are those of MimicKit's humanoid. The joints of other frames are hinges "joint_0" and so on.
func parseMimicKit(data []byte, name string) (*Clip, error) {
	v, err := torchfile.ReadPickle(data)
	if err != nil {
		return nil, fmt.Errorf("MimicKit's pickle: %w", err)
	}
	motion, ok := v.(*torchfile.Dict)
	if !ok {
		return nil, errors.New("the pickle is no dictionary with fps and frames, so MimicKit did not write it")
	}
	get := func(key string) any {
		value, _ := motion.Get(key)
		return value
	}
	fps, ok := pickledNumber(get("fps"))
	if !ok || !(fps > 0) || infinite(1/fps) {
		return nil, fmt.Errorf("fps must be a positive number, and is %v", get("fps"))
	}
	cfg := ClipConfig{Name: name}
	switch loop, ok := pickledNumber(get("loop_mode")); {
	case ok && loop == 1:
		cfg.Loop = LoopWrap
	case get("loop_mode") != nil && (!ok || loop != 0):
		return nil, fmt.Errorf("loop_mode must be 0 or 1, and is %v", get("loop_mode"))
	}
	frames := pickledList(get("frames"))
	if len(frames) == 0 {
		return nil, errors.New("frames must be a list of frames, and there is none")
	}
	width := len(pickledList(frames[0]))
	if width == 34 {
		cfg.Skeleton = mimicKitHumanoid()
	} else {
		cfg.Description = rootAndHinges(max(0, width-6))
	}
	for k, f := range frames {
		values := pickledList(f)
		if len(values) != width || width < 6 {
			return nil, fmt.Errorf("frame %d must be a list of numbers as long as frame 0, and at least 6; "+
				"it has %d, frame 0 has %d", k, len(values), width)
		}
		row := make([]float64, width)
		for i, x := range values {
			if row[i], ok = pickledNumber(x); !ok || infinite(row[i]) {
				return nil, fmt.Errorf("frame %d: value %d is %v; want a finite number", k, i, x)
			}
		}
		cfg.Frames = append(cfg.Frames, fromMaps(row, cfg.Skeleton))
	}
	cfg.Durations = evenly(len(frames), 1/fps)
	if last := len(frames) - 1; last > 0 {
		cfg.Durations[last] = 0 // the last frame is the end: (N − 1)/fps seconds
	}
	return newClip(cfg)
}

// fromMaps converts a row whose rotations are exponential maps to quaternions. s is nil if all joints are hinges.
func fromMaps(f []float64, s *Skeleton) []float64 {
	root := rotation.Exp(f[3:6])
	row := append([]float64{f[0], f[1], f[2]}, root[:]...)
	f = f[6:]
	if s == nil {
		return append(row, f...)
	}
	for _, j := range s.Joints() {
		if j.Kind == Hinge {
			row, f = append(row, f[0]), f[1:]
			continue
		}
		q := rotation.Exp(f)
		row, f = append(row, q[:]...), f[3:]
	}
	return row
}

// mimicKitHumanoid returns [HumanoidSkeleton] in ball joints, with elbows about z and arms that point sideways in the
// zero pose.
func mimicKitHumanoid() *Skeleton {
	s := HumanoidSkeleton()
	s.Name = "MimicKit's humanoid"
	for i := range s.Bodies {
		b := &s.Bodies[i]
		if len(b.Joints) == 3 {
			name := b.Joints[0].Name
			b.Joints = []Joint{{Name: name[:len(name)-2], Kind: Rotation}}
		}
		side, part := cutSide(b.Name)
		out := map[string]float64{"left_": 1, "right_": -1}[side]
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

func pickledNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// pickledList returns the values of a list or a tuple, and nil for other values.
func pickledList(v any) []any {
	switch v := v.(type) {
	case *torchfile.List:
		return v.Items
	case torchfile.Tuple:
		return v
	}
	return nil
}
