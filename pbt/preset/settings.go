package preset

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// The presets.
const (
	IsaacLab      = "isaaclab"
	IsaacGymEnvs  = "isaacgymenvs"
	SampleFactory = "samplefactory"
	RayTune       = "raytune"
)

// Names are those of all presets, sorted.
func Names() []string { return slices.Sorted(maps.Keys(readers)) }

// Settings are a population's, as a file gives them.
type Settings struct {
	// Name is the preset's.
	Name string
	// Strict reproduces the original's decisions, flaws included.
	Strict bool
	// Enabled is whether there is to be a population. Where not, Options.Strategy is pbt.Never: the members train as many
	// independent runs, which begin as those of the population would.
	Enabled bool
	// Options are complete but for New, which the program that trains adds, and Directory, which is Folder for a
	// population of one process. TotalSteps is 0 where the file has no total_steps.
	Options pbt.Options
	// PolicyIdx is which policy this process trains, 0 to NumPolicies-1, where each has a process of its own.
	PolicyIdx, NumPolicies int
	// Workspace and Directory are where the population lives; see Folder.
	Workspace, Directory string
	// Synchronous makes members that are processes wait for each other at the end of every interval, so that equal
	// seeds give equal runs. Those of one process always do. Default false, as in the originals.
	Synchronous bool
	// Heartbeat, Silence, Slack, SaveSteps and RestartProcess are what pbt.WorkerOptions means by these names, and LeaseTTL what
	// workspace.FolderOptions means by it, for members that are processes.
	Heartbeat, Silence, LeaseTTL time.Duration
	Slack, SaveSteps             int64
	RestartProcess               bool
	// LogConfig is Ray Tune's log_config: whether Files writes its policy files. True for other presets.
	LogConfig bool
	// Notes say what was accepted and does nothing, and why.
	Notes []string
}

// Folder is the folder that all policies of the population share: Workspace within Directory. Policy n has the folder
// "%03d" in it.
func (s *Settings) Folder() string { return filepath.Join(s.Directory, s.Workspace) }

// file is what every preset is read from.
type file struct {
	Preset string         `yaml:"preset"`
	Strict bool           `yaml:"strict"`
	Seed   *int64         `yaml:"seed"`
	PBT    map[string]any `yaml:"pbt"`
	others `yaml:",inline"`

	known []string // hyperparameters that the caller knows of
}

// others are the sections that belong to others. Of the agent's, numbers are looked at as defaults.
type others struct {
	Launcher    any `yaml:"launcher"`
	Agent       any `yaml:"agent"`
	Environment any `yaml:"environment"`
	Models      any `yaml:"models"`
	Trainer     any `yaml:"trainer"`
	Memory      any `yaml:"memory"`
	Member      any `yaml:"member"`
}

// readers read the section pbt: of each preset.
var readers map[string]func(f *file) (*Settings, error)

func init() {
	readers = map[string]func(f *file) (*Settings, error){
		IsaacLab: readIsaacLab, IsaacGymEnvs: readIsaacGymEnvs, SampleFactory: readSampleFactory, RayTune: readRayTune,
	}
}

// FromFile reads a YAML file; see [FromYAML].
func FromFile(path string, hyperparameters ...string) (*Settings, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("preset: %w", err)
	}
	s, err := FromYAML(data, hyperparameters...)
	if err != nil {
		return nil, fmt.Errorf("%w\npreset: the file is %s", err, path)
	}
	return s, nil
}

// FromYAML reads a population's settings. hyperparameters are names that members have beside those of gorl's agents and
// those that begin with "env.". Unknown keys, values of the wrong type or out of range, and hyperparameters and rules that
// do not exist are errors; all are reported, each with its key, value, what is allowed and the nearest known name.
func FromYAML(data []byte, hyperparameters ...string) (*Settings, error) {
	dict, err := config.FromYAML(data)
	if err != nil {
		return nil, fmt.Errorf("preset: %w", err)
	}
	return FromDict(dict, hyperparameters...)
}

// FromDict is FromYAML for settings that are already a dictionary. The dictionary is not changed.
func FromDict(dict map[string]any, hyperparameters ...string) (*Settings, error) {
	f := file{Preset: IsaacLab, known: hyperparameters}
	if err := config.Merge(&f, dict, config.Options{Prefix: "preset"}); err != nil {
		return nil, err
	}
	read, ok := readers[f.Preset]
	if !ok {
		return nil, &config.Error{Prefix: "preset", Path: "preset", Given: f.Preset, Reason: fmt.Sprintf("want one of %q", Names()), Nearest: config.Nearest(f.Preset, Names())}
	}
	s, err := read(&f)
	if err != nil {
		return nil, err
	}
	s.Name, s.Strict = f.Preset, f.Strict
	if !s.Enabled {
		s.Options.Strategy = strategy.Never{}
		s.Notes = append(s.Notes, "the population is not enabled: nothing is decided, members train as independent runs")
	}
	return s, nil
}

// readSection reads the keys under pbt: into a struct that holds the defaults.
func readSection[T any](f *file, dst *T) error {
	whole := struct {
		PBT T `yaml:"pbt"`
	}{*dst}
	if err := config.Merge(&whole, map[string]any{"pbt": f.PBT}, config.Options{Prefix: "preset"}); err != nil {
		return err
	}
	*dst = whole.PBT
	return nil
}

// problems collects errors.
type problems struct{ errs []error }

func (p *problems) add(err error) {
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

// wrong reports a value of the section pbt:.
func (p *problems) wrong(key string, given any, reason string, args ...any) {
	p.add(&config.Error{Prefix: "preset", Path: "pbt." + key, Given: given, Reason: fmt.Sprintf(reason, args...)})
}

func (p *problems) err() error { return errors.Join(p.errs...) }
