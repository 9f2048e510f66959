package mujoco

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
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
	if min(c.NumEnvs, c.Substeps, c.Workers, c.EpisodeLength, c.Stagger) < 0 || c.Seed < 0 {
		return fmt.Errorf("mujoco: NumEnvs, Substeps, Workers, EpisodeLength, Stagger and Seed are %d, %d, %d, %d, %d "+
			"and %d; none may be negative", c.NumEnvs, c.Substeps, c.Workers, c.EpisodeLength, c.Stagger, c.Seed)
	}
	c.NumEnvs, c.Substeps = cmp.Or(c.NumEnvs, 1), cmp.Or(c.Substeps, 1)
	if c.Stagger > c.EpisodeLength {
		return fmt.Errorf("mujoco: Stagger is %d, EpisodeLength %d; the first must not exceed the second", c.Stagger,
			c.EpisodeLength)
	}
	c.Render.complete()
	return config.Check(c.Render, "mujoco")
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
