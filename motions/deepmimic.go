package motions

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// ReadDeepMimic reads a JSON clip in DeepMimic's form ("Loop", "Frames" of which each value 0 is a duration
// in seconds) or in that of its quadruped descendants ("LoopMode", "FrameDuration", "MotionWeight",
// "EnableCycleOffsetPosition", "EnableCycleOffsetRotation", "Frames" without durations). The loop words are
// wrap, none and clamp (the last two are the same); the last frame is the clip's end, whatever its duration.
//
// The 43 values of DeepMimic's humanoid and the 19 or 61 of the quadrupeds are known by their number; any
// other clip is raw ([Clip.Raw]): use [ReadDeepMimicAs] with a description. The name is the clip's, and
// errors begin with it; they say which frame and value they are about.
func ReadDeepMimic(r io.Reader, name string) (*Clip, error) { return ReadDeepMimicAs(r, name, nil) }

// ReadDeepMimicAs is [ReadDeepMimic] with a description of the values of a frame (less the duration), for
// instance one that [LoadCharacter] read. Nil: known by their number, or raw.
func ReadDeepMimicAs(r io.Reader, name string, d *Description) (*Clip, error) {
	return readWith(r, name, func(data []byte, name string) (*Clip, error) { return deepMimicClip(data, name, d) })
}

// LoadDeepMimic reads the file at path with [ReadDeepMimic]. The clip is named after the file.
func LoadDeepMimic(path string) (*Clip, error) { return LoadDeepMimicAs(path, nil) }

// LoadDeepMimicAs reads the file at path with [ReadDeepMimicAs]. The clip is named after the file.
func LoadDeepMimicAs(path string, d *Description) (*Clip, error) {
	return loadWith(path, func(data []byte, name string) (*Clip, error) { return deepMimicClip(data, name, d) })
}

func deepMimicClip(data []byte, name string, d *Description) (*Clip, error) {
	doc, err := scanDocument(data)
	if err != nil {
		return nil, err
	}
	return doc.clip(name, d)
}

func (doc *document) clip(name string, d *Description) (*Clip, error) {
	if doc.frames == nil {
		if _, ok := doc.values["Skeleton"]; ok {
			return nil, ErrCharacter
		}
		return nil, errors.New(`there is no "Frames"`)
	}
	cfg := ClipConfig{Name: name, Weight: 1}
	step := 0.0
	loop, err := doc.loop()
	cfg.Loop = loop
	err = cmp.Or(err, doc.number("MotionWeight", &cfg.Weight), doc.number("FrameDuration", &step))
	if err == nil {
		err = doc.split(&cfg, step)
	}
	goesOn, turns := true, false
	err = cmp.Or(err, doc.boolean("EnableCycleOffsetPosition", &goesOn),
		doc.boolean("EnableCycleOffsetRotation", &turns))
	if err != nil {
		return nil, err
	}
	cfg.Description = d
	if d == nil {
		cfg.Description = guess(cfg.Frames[0], step > 0)
	}
	if !goesOn && cfg.Description != nil {
		cfg.Description = cfg.Description.clone()
		for i, col := range cfg.Description.Columns {
			if col.Kind == Travel {
				cfg.Description.Columns[i].Kind = Linear
			}
		}
	}
	c, err := newClip(cfg)
	if err == nil && turns {
		c.setTurn()
	}
	return c, err
}

// split takes the durations off the frames.
func (doc *document) split(cfg *ClipConfig, step float64) error {
	if len(doc.frames) == 0 {
		return errors.New(`"Frames" is empty`)
	}
	if step == 0 && len(doc.frames[0]) == 1 {
		return errors.New("frame 0 has a duration and no values")
	}
	for _, f := range doc.frames {
		duration := step
		if step == 0 {
			duration, f = f[0], f[1:]
		}
		cfg.Durations = append(cfg.Durations, duration)
		cfg.Frames = append(cfg.Frames, f)
	}
	last := len(cfg.Durations) - 1
	if d := cfg.Durations[last]; last > 0 && d >= 0 && !math.IsInf(d, 0) {
		cfg.Durations[last] = 0
	}
	return nil
}

func (doc *document) loop() (Loop, error) {
	for _, key := range []string{"Loop", "LoopMode"} {
		raw, ok := doc.values[key]
		if !ok {
			continue
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return 0, fmt.Errorf("%q: %w", key, err)
		}
		switch word := v.(type) {
		case bool: // the form of the oldest files
			if word {
				return LoopWrap, nil
			}
			return LoopNone, nil
		case string:
			switch strings.ToLower(word) {
			case "wrap":
				return LoopWrap, nil
			case "none", "clamp":
				return LoopNone, nil
			}
		}
		return 0, fmt.Errorf("%q is %.40s; it must be \"wrap\", \"none\" or \"clamp\"", key, raw)
	}
	return LoopNone, nil
}

// number reads an optional positive number.
func (doc *document) number(key string, x *float64) error {
	return optional(doc, key, x, "a positive number", func(x float64) bool { return x > 0 })
}

// boolean reads an optional truth value.
func (doc *document) boolean(key string, b *bool) error {
	return optional(doc, key, b, "true or false", func(bool) bool { return true })
}

// optional reads the value of a key, if the document has it, which must be allowed.
func optional[T any](doc *document, key string, to *T, want string, allowed func(T) bool) error {
	raw, ok := doc.values[key]
	if !ok {
		return nil
	}
	var v *T
	if err := json.Unmarshal(raw, &v); err != nil || v == nil || !allowed(*v) {
		return fmt.Errorf("%q must be %s, and is %.40s", key, want, raw)
	}
	*to = *v
	return nil
}
