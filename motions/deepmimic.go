package motions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// LoadDeepMimic reads a JSON clip at path, in DeepMimic's form ("Loop", and "Frames" whose value 0 is a duration in
// seconds) or in the form of its quadruped descendants ("LoopMode", "FrameDuration", "MotionWeight",
// "EnableCycleOffsetPosition", "EnableCycleOffsetRotation", and "Frames" without durations). The last frame is the
// clip's end, whatever its duration.
//
// d describes the values of a frame, without the duration. Nil: the number of values decides, 43 for DeepMimic's
// humanoid and 19 or 61 for the quadrupeds. Other clips are then raw ([Clip.Raw]).
func LoadDeepMimic(path string, d *Description) (*Clip, error) {
	return loadWith(path, func(data []byte, name string) (*Clip, error) { return parseDeepMimic(data, name, d) })
}

// deepMimicFile is the content of a file. Fields that a file leaves out are nil.
type deepMimicFile struct {
	Frames                    [][]*float64
	Loop, LoopMode            any
	FrameDuration             *float64
	MotionWeight              *float64
	EnableCycleOffsetPosition *bool
	EnableCycleOffsetRotation *bool
	Skeleton                  any // of a character's description
}

// errCharacter is the error of a file that describes a character.
var errCharacter = errors.New("a character's description, not a clip: load the file of one of its motions")

func parseDeepMimic(data []byte, name string, d *Description) (*Clip, error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	var file deepMimicFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, nameLine(data, err)
	}
	if file.Frames == nil {
		if file.Skeleton != nil {
			return nil, errCharacter
		}
		return nil, errors.New(`there is no list "Frames"`)
	}
	cfg := ClipConfig{Name: name, Description: d}
	if err := file.read(&cfg); err != nil {
		return nil, err
	}
	if d == nil && len(cfg.Frames) > 0 { // a well-known skeleton has as many values
		switch width := len(cfg.Frames[0]); {
		case width == 43:
			cfg.Description = deepMimicHumanoid()
		case file.FrameDuration != nil && (width == 19 || width == 61):
			cfg.Description = deepMimicQuadruped(width)
		}
	}
	if goesOn := file.EnableCycleOffsetPosition; goesOn != nil && !*goesOn && cfg.Description != nil {
		cfg.Description = cfg.Description.clone()
		for i, col := range cfg.Description.Columns {
			if col.Kind == Travel {
				cfg.Description.Columns[i].Kind = Linear
			}
		}
	}
	c, err := newClip(cfg)
	if turns := file.EnableCycleOffsetRotation; err == nil && turns != nil && *turns {
		setTurn(c)
	}
	return c, err
}

// nameLine adds the line to an error of encoding/json.
func nameLine(data []byte, err error) error {
	offset := int64(0)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = e.Offset
	} else if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset = e.Offset
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n")), err)
}

// read fills in weight, loop, frames and durations.
func (file *deepMimicFile) read(cfg *ClipConfig) error {
	step := file.FrameDuration
	for key, value := range map[string]*float64{"FrameDuration": step, "MotionWeight": file.MotionWeight} {
		if value != nil && !(*value > 0) {
			return fmt.Errorf("%q must be a positive number, and is %g", key, *value)
		}
	}
	if file.MotionWeight != nil {
		cfg.Weight = *file.MotionWeight
	}
	for _, mode := range []any{file.LoopMode, file.Loop} { // Loop wins
		switch word, _ := mode.(string); {
		case mode == nil:
		case mode == true || strings.EqualFold(word, "wrap"):
			cfg.Loop = LoopWrap
		case mode == false || strings.EqualFold(word, "none") || strings.EqualFold(word, "clamp"):
			cfg.Loop = LoopNone
		default:
			return fmt.Errorf(`the loop is %.40q; it must be "wrap", "none" or "clamp"`, fmt.Sprint(mode))
		}
	}
	for k, values := range file.Frames {
		row := make([]float64, len(values))
		for i, x := range values {
			if x == nil {
				return fmt.Errorf("frame %d: value %d is null", k, i)
			}
			row[i] = *x
		}
		if len(row) != len(file.Frames[0]) {
			return fmt.Errorf("frame %d has %d values, frame 0 has %d", k, len(row), len(file.Frames[0]))
		}
		switch {
		case step != nil:
			cfg.Durations = append(cfg.Durations, *step)
		case len(row) < 2:
			return fmt.Errorf("frame %d has %d values, want a duration and positions", k, len(row))
		default:
			cfg.Durations, row = append(cfg.Durations, row[0]), row[1:]
		}
		cfg.Frames = append(cfg.Frames, row)
	}
	if last := len(cfg.Durations) - 1; last > 0 && cfg.Durations[last] >= 0 {
		cfg.Durations[last] = 0
	}
	return nil
}

// deepMimicHumanoid describes DeepMimic's humanoid. y is up.
func deepMimicHumanoid() *Description {
	d := &Description{Columns: []Column{{"root_x", Travel}, {"root_y", Linear}, {"root_z", Travel},
		{rootRotation, Rotation}, {"chest", Rotation}, {"neck", Rotation}}}
	for _, side := range []string{"right_", "left_"} {
		d.Columns = append(d.Columns, Column{side + "hip", Rotation}, Column{side + "knee", Hinge},
			Column{side + "ankle", Rotation}, Column{side + "shoulder", Rotation}, Column{side + "elbow", Hinge})
	}
	return d
}

// deepMimicQuadruped describes the quadruped of twelve joints in LoopMode files. z is up and quaternions have w last.
// The long form of 61 values adds the feet's positions and all velocities.
func deepMimicQuadruped(width int) *Description {
	d := rootAndHinges(12)
	if d.RotationsWLast = true; width == 61 {
		d.add("foot_position", 12, Linear)
		d.add("root_linear_velocity", 3, Linear)
		d.add("root_angular_velocity", 3, Linear)
		d.add("joint_velocity", 12, Linear)
		d.add("foot_velocity", 12, Linear)
	}
	return d
}
