package mujoco

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
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
	// character is the task of characters. They have commands, and may be randomised.
	character *characterTask
}

// check validates the settings and replaces zeros by their defaults. Workers stays 0, which NewBatch resolves.
func (c *Config) check() error {
	missing := []bool{c.Model == nil, c.File == "", c.XML == ""}
	if len(slices.DeleteFunc(missing, func(missing bool) bool { return missing })) != 1 {
		return errors.New("mujoco: give exactly one of Model, File and XML")
	}
	if err := checkBounds("mujoco: ", bound{"NumEnvs", float64(c.NumEnvs), 0, anySize},
		bound{"Substeps", float64(c.Substeps), 0, anySize}, bound{"Workers", float64(c.Workers), 0, anySize},
		bound{"EpisodeLength", float64(c.EpisodeLength), 0, anySize}, bound{"Stagger", float64(c.Stagger), 0, anySize},
		bound{"Seed", float64(c.Seed), 0, anySize}); err != nil {
		return err
	}
	c.NumEnvs, c.Substeps = cmp.Or(c.NumEnvs, 1), cmp.Or(c.Substeps, 1)
	if c.Stagger > c.EpisodeLength {
		return fmt.Errorf("mujoco: Stagger is %d, EpisodeLength %d; the first must not exceed the second", c.Stagger,
			c.EpisodeLength)
	}
	return c.Render.check()
}

// bound is a setting with the range that it must be in.
type bound struct {
	name             string
	value, low, high float64
}

// anySize is the upper end for a finite size, and aboveZero the lower end for a positive one.
const anySize, aboveZero = math.MaxFloat64, math.SmallestNonzeroFloat64

// checkBounds returns an error for the first setting that is out of its range. prefix is put before its name.
func checkBounds(prefix string, bounds ...bound) error {
	for _, b := range bounds {
		if b.value >= b.low && b.value <= b.high {
			continue
		}
		allowed := "finite and not negative"
		switch {
		case b.low == aboveZero:
			allowed = "finite and positive"
		case b.high < anySize:
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
