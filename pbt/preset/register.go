package preset

// This file holds the registry of presets: the four built-in ones, and those of a program.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/panics"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// The built-in presets.
const (
	IsaacLab      = "isaaclab"
	IsaacGymEnvs  = "isaacgymenvs"
	SampleFactory = "samplefactory"
	RayTune       = "raytune"
)

var (
	mu sync.RWMutex
	// readers read the section pbt: of each preset.
	readers = map[string]func(f *file) (*Settings, error){}
)

func init() { // no initial value: it would refer to itself through the readers
	maps.Copy(readers, map[string]func(f *file) (*Settings, error){
		IsaacLab: readIsaacLab, IsaacGymEnvs: readIsaacGymEnvs, SampleFactory: readSampleFactory, RayTune: readRayTune,
	})
	for name, defaults := range map[string]any{IsaacLab: defaultIsaacLab(), IsaacGymEnvs: defaultIsaacGymEnvs(),
		SampleFactory: defaultSampleFactory(), RayTune: defaultRayTune()} {
		config.Declare("pbt", name, defaults)
	}
}

// Names returns the names of all presets, sorted.
func Names() []string {
	mu.RLock()
	defer mu.RUnlock()
	return slices.Sorted(maps.Keys(readers))
}

// Register adds a preset of one's own under a name, which files then have as preset: NAME.
//
// defaults is a struct with the defaults of the keys that the preset adds to the section pbt:. The tag yaml:"key" is a
// field's key, and config:"..." says which values are allowed (min=, max=, gt=, lt= for numbers, oneof=a|b for texts,
// minlen=, maxlen= for lists). The section also has gorl's own keys (see the package comment), enabled, objective
// (default episode.return) and interval_steps (default 100000).
//
// build receives the struct with the file's values, and returns how the population decides and changes
// hyperparameters. If the explorer is an explore.Mutation or nil, the file's keys bounds and parameters complete it.
// Other explorers exclude these keys.
//
// Register panics if the name is empty or taken, if defaults is not a struct, if it has a key that the section has
// already, or if build is nil. Call it from init functions or at the start of main; several goroutines may call it at
// once.
func Register[S any](name string, defaults S, build func(settings S) (strategy.Strategy, explore.Explorer, error)) {
	if build == nil {
		panic("preset: Register of " + name + " without a function that builds the strategy")
	}
	c := registered[S]{shared: sharedDefaults(), Enabled: true, Objective: "episode.return", IntervalSteps: 100_000,
		Own: defaults}
	config.Keys(c) // panics if defaults is no struct, or repeats a key
	mu.Lock()
	defer mu.Unlock()
	if name == "" || readers[name] != nil {
		panic(fmt.Sprintf("preset: %q cannot name a preset: it is empty, or a preset there is already", name))
	}
	config.Declare("pbt", name, c)
	readers[name] = func(f *file) (*Settings, error) { return readRegistered(f, name, c, build) }
}

// registered are the keys of a registered preset.
type registered[S any] struct {
	shared `yaml:",inline"`

	// Enabled false lets the members train without decisions, as independent runs.
	Enabled bool `yaml:"enabled"`
	// Objective is the metric to judge by.
	Objective string `yaml:"objective"`
	// IntervalSteps is the number of environment steps between decisions.
	IntervalSteps int64 `yaml:"interval_steps" config:"min=1"`

	Own S `yaml:",inline"`
}

// readRegistered reads the section of a registered preset over its defaults.
func readRegistered[S any](f *file, name string, c registered[S],
	build func(settings S) (strategy.Strategy, explore.Explorer, error)) (*Settings, error) {
	if err := readSection(f, &c); err != nil {
		return nil, err
	}
	var p problems
	if f.Strict {
		p.add(&config.Error{Prefix: "preset", Path: "strict", Given: true,
			Reason: "the preset " + name + " has no original to reproduce; leave it out"})
	}
	if c.Objective == "" {
		p.wrong("objective", c.Objective, "want the name of a metric, e.g. episode.return")
	}
	s := c.shared.settings(f, names{}, &p)
	s.Enabled = c.Enabled
	o := &s.Options
	o.Objective, o.IntervalSteps = c.Objective, c.IntervalSteps
	err := panics.Guard("the preset "+name, func() (err error) {
		o.Strategy, o.Explore, err = build(c.Own)
		return err
	})
	if err == nil && o.Strategy == nil {
		err = errors.New("its function returns neither a strategy nor an error")
	}
	if err != nil {
		p.add(fmt.Errorf("preset: %s: %w", name, err))
		return nil, p.err()
	}
	o.Strategy = c.limited(o.Strategy)
	if o.Explore == nil {
		o.Explore = explore.Mutation{}
	}
	switch m, ok := o.Explore.(explore.Mutation); {
	case ok:
		o.Explore = c.mutation(f, names{}, s, m, &p)
	case len(c.Bounds) > 0:
		p.wrong("bounds", f.PBT["bounds"], "the preset %s does not take them", name)
	case len(c.Parameters) > 0:
		p.wrong("parameters", f.PBT["parameters"], "the preset %s does not take them", name)
	}
	return s, p.err()
}
