package mujoco

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// Config says what simulations an [Env] runs.
type Config struct {
	// Model is a compiled model. Set exactly one of Model, File and XML. Several environments may share a Model, and
	// the caller closes it.
	Model *Model
	// File is the path of an MJCF file.
	File string
	// XML is MJCF text. Assets are the files that the text names, such as meshes, by their names there.
	XML    string
	Assets map[string][]byte
	// NumEnvs is the number of environments. Zero means 1.
	NumEnvs int
	// Substeps is the number of the model's time steps in one control step. Zero means 1.
	Substeps int
	// Workers is the number of goroutines that step. Zero means one per CPU. The results do not depend on it.
	Workers int
	// Seed seeds the randomness of resets, as Reset(Seed) does. It must not be negative.
	Seed int64
	// EpisodeLength is the number of control steps after which an episode is truncated. Zero means never.
	EpisodeLength int
	// Stagger shortens each environment's first episode after a seeded Reset. The reduction is a random number of steps
	// below Stagger. It keeps the environments from reaching their time limits in the same step. It must not exceed
	// EpisodeLength. Zero means none.
	Stagger int
	// Render sets the look of pictures. The zero value is a good choice.
	Render RenderConfig
	// character is the task of characters, which may be randomised.
	character *characterTask
}

// check validates the settings and replaces zeros by their defaults. Workers stays 0, which NewBatch resolves.
func (c *Config) check() error {
	given := 0
	for _, b := range []bool{c.Model != nil, c.File != "", c.XML != ""} {
		if b {
			given++
		}
	}
	if given != 1 {
		return errors.New("mujoco: give exactly one of Model, File and XML")
	}
	for _, v := range []struct {
		name  string
		value int64
	}{{"NumEnvs", int64(c.NumEnvs)}, {"Substeps", int64(c.Substeps)}, {"Workers", int64(c.Workers)},
		{"EpisodeLength", int64(c.EpisodeLength)}, {"Stagger", int64(c.Stagger)}, {"Seed", c.Seed}} {
		if v.value < 0 {
			return fmt.Errorf("mujoco: %s is %d; it must not be negative", v.name, v.value)
		}
	}
	c.NumEnvs, c.Substeps = cmp.Or(c.NumEnvs, 1), cmp.Or(c.Substeps, 1)
	if c.Stagger > c.EpisodeLength {
		return fmt.Errorf("mujoco: Stagger is %d, EpisodeLength %d; the first must not exceed the second", c.Stagger,
			c.EpisodeLength)
	}
	return c.Render.check()
}

// bound is a setting with the range that it must be in. anySize is the upper end for a finite size.
type bound struct {
	name             string
	value, low, high float64
}

const anySize = math.MaxFloat64

// checkBounds returns an error for the first setting that is out of its range. prefix is put before its name.
func checkBounds(prefix string, bounds ...bound) error {
	for _, b := range bounds {
		if b.value >= b.low && b.value <= b.high {
			continue
		}
		allowed := "finite and not negative"
		if b.high < anySize {
			allowed = fmt.Sprintf("between %g and %g", b.low, b.high)
		}
		return fmt.Errorf("%s%s is %g; it must be %s", prefix, b.name, b.value, allowed)
	}
	return nil
}

// model returns the model with a reference that the caller must release. A given Model is retained; File and XML are
// compiled.
func (c *Config) model() (*Model, error) {
	if c.Model != nil {
		return c.Model, c.Model.retain()
	}
	if c.File != "" {
		return LoadModel(c.File)
	}
	return parseModel(c.XML, c.Assets)
}
