package preset

// This file is the way in: it reads the sections of a file, calls the reader of the preset that the file names, and
// returns Settings. Each preset has a struct with its keys in a file of its own; shared.go has the keys that all of
// them have, and register.go the registry.

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// Settings are a population's, as a file gives them.
type Settings struct {
	// Name is the preset's.
	Name string
	// Strict reproduces the original system's decisions, flaws included.
	Strict bool
	// Enabled is false if the file asks for no population. Options.Strategy is then strategy.Never: the members
	// train as independent runs, which begin with the same hyperparameters and seeds as those of the population would.
	Enabled bool
	// Options are complete but for New, which the program that trains adds, and Directory, which is Folder for a
	// population of one process. TotalSteps is 0 if the file has no total_steps.
	Options pbt.Options
	// PolicyIdx is the member that this process trains, 0 to NumPolicies-1, where each member has a process of its own.
	PolicyIdx, NumPolicies int
	// Workspace and Directory are the two parts of Folder.
	Workspace, Directory string
	// Synchronous makes members that are processes wait for each other at the end of every interval, so that equal
	// seeds give equal runs. Default false, as in the original systems. Members of one process wait unless
	// Options.Asynchronous is set.
	Synchronous bool
	// Heartbeat, Silence and RestartProcess are the fields of pbt.ProcessOptions with these names, and LeaseTTL that of
	// workspace.FolderOptions, for members that are processes.
	Heartbeat, Silence, LeaseTTL time.Duration
	RestartProcess               bool
	// Notes name the keys that were accepted and do nothing, each with the reason.
	Notes []string

	strategy strategy.Strategy // a registered one, in place of the preset's
	explorer explore.Explorer
	sections runfile.Sections
	file     *file
}

// Folder is the folder that all members of the population share: Workspace within Directory. Member n has the folder
// "%03d" in it.
func (s *Settings) Folder() string { return filepath.Join(s.Directory, s.Workspace) }

// Member returns the sections of the file that describe a member's agent and its trainer (models, memory,
// motion_dataset, reply_buffer, agent and trainer), with seed as theirs: what trainers.FromDict makes a trainer of.
func (s *Settings) Member(seed int64) map[string]any { return s.sections.Member(seed) }

// Dict returns the sections preset, strict and pbt with every default in them. [FromDict] reads the same settings of
// them, and of agent without the keys of Unset. Keys that do nothing are in it only if the file has them.
func (s *Settings) Dict() map[string]any {
	section := s.file.full()
	for _, key := range s.file.without {
		delete(section, key)
	}
	if s.Options.TotalSteps == 0 {
		delete(section, "total_steps") // it has no default
	}
	for _, q := range section["parameters"].(map[string]any) {
		maps.DeleteFunc(q.(map[string]any), func(_ string, v any) bool {
			list, ok := v.([]any)
			return v == nil || ok && len(list) == 0
		})
	}
	maps.DeleteFunc(section, func(_ string, v any) bool { return v == nil })
	return map[string]any{"preset": s.Name, "strict": s.Strict, "pbt": section}
}

// Unset returns settings of the agent that the file does not give and that matter to the preset: it draws them, or does
// not reset them.
func (s *Settings) Unset() []string { return s.file.unset }

// idle notes that a key does nothing, where the file has it.
func (s *Settings) idle(f *file, key, why string) {
	if _, given := f.PBT[key]; given {
		s.Notes = append(s.Notes, fmt.Sprintf("pbt.%s does nothing: %s", key, why))
		return
	}
	f.without = append(f.without, key)
}

// FromFile reads the YAML file at path; see [FromYAML]. Its errors name the file.
func FromFile(path string, hyperparameters ...string) (*Settings, error) {
	sections, err := runfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("preset: %w", err)
	}
	s, err := FromDict(sections, hyperparameters...)
	if err != nil {
		return nil, fmt.Errorf("%w\npreset: the file is %s", err, path)
	}
	return s, nil
}

// FromYAML reads a population's settings from a run's file. hyperparameters are names that members have in addition to
// those of gorl's agents and those that begin with "env.". Unknown sections and keys, values of the wrong type or out
// of range, and hyperparameters and rules that do not exist are errors. All of them are reported, each with its key,
// its value, what is allowed and the nearest known name. The sections of agents and launchers are for others to check;
// see [Settings.Member].
func FromYAML(data []byte, hyperparameters ...string) (*Settings, error) {
	sections, err := runfile.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("preset: %w", err)
	}
	return FromDict(sections, hyperparameters...)
}

// FromDict is FromYAML for a file that is already a dictionary of its sections. The dictionary is not changed, and must
// not be changed while the settings are used.
func FromDict(dict map[string]any, hyperparameters ...string) (*Settings, error) {
	sections := runfile.Sections(dict)
	f := file{Preset: IsaacLab, known: hyperparameters}
	f.agent, _ = dict["agent"].(map[string]any)
	f.selfPlay = UsesSelfPlay(dict)
	if err := errors.Join(
		sections.Check("preset", ^runfile.Evolutions),
		config.Merge(&f, sections.Of(runfile.Populations), config.Options{Prefix: "preset"}),
	); err != nil {
		return nil, err
	}
	// The preset decides which keys pbt: may have, so nothing under it was looked at before.
	mu.RLock()
	read := readers[f.Preset]
	mu.RUnlock()
	if read == nil {
		return nil, &config.Error{Prefix: "preset", Path: "preset", Given: f.Preset,
			Reason: fmt.Sprintf("want one of %q", Names()), Nearest: config.Nearest(f.Preset, Names())}
	}
	s, err := read(&f)
	if err != nil {
		return nil, err
	}
	if s.strategy != nil {
		s.Options.Strategy = s.strategy
	}
	if s.explorer != nil {
		s.Options.Explore = s.explorer
	}
	s.Name, s.Strict, s.sections, s.file = f.Preset, f.Strict, sections, &f
	if !s.Enabled {
		s.Options.Strategy = strategy.Never{}
		s.Notes = append(s.Notes,
			"the population is not enabled: nothing is decided, members train as independent runs")
	}
	return s, nil
}

// file are the sections that every preset is read from.
type file struct {
	Preset string         `yaml:"preset"`
	Strict bool           `yaml:"strict"`
	Seed   *int64         `yaml:"seed"`
	PBT    map[string]any `yaml:"pbt"`

	agent map[string]any // the section of that name, whose numbers are the defaults of hyperparameters
	// selfPlay is true if the environment has the wrapper of that name.
	selfPlay bool
	known    []string // hyperparameters that the caller knows of

	full    func() map[string]any // the section pbt with all defaults
	without []string              // keys of full that do nothing, and that the file does not have
	unset   []string              // settings of the agent that a preset has asked for, and that the file does not have
}

// readSection reads the keys under pbt: into a struct that holds the defaults.
func readSection(f *file, dst any) error {
	f.full = func() map[string]any { return config.Dict(dst) }
	return config.Under("preset", "pbt", config.Merge(dst, f.PBT, config.Options{}))
}

// initial returns the value of a hyperparameter that all members begin with: that of pbt.initial, else that of the
// section agent. It is nil if neither gives one, as gorl's own defaults belong to the agent's package.
func (f *file) initial(s *Settings, name string) *float64 {
	if len(s.Options.Initial) == 1 {
		if v, ok := s.Options.Initial[0][name]; ok {
			return &v
		}
	}
	value := f.agent[name]
	if list, ok := value.([]any); ok && len(list) > 0 { // of several rates and clips the first stands for all
		value = list[0]
	}
	switch v := value.(type) {
	case float64:
		return &v
	case int:
		return new(float64(v))
	case nil:
		f.unset = append(f.unset, name)
	}
	return nil
}

// problems collects errors, so that all of a file's are reported at once.
type problems struct{ errs []error }

// add collects err, unless it is nil.
func (p *problems) add(err error) {
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

// wrong reports a value of the section pbt:.
func (p *problems) wrong(key string, given any, reason string, args ...any) {
	p.add(&config.Error{Prefix: "preset", Path: "pbt." + key, Given: given, Reason: fmt.Sprintf(reason, args...)})
}

// err returns all problems as one error, nil if there were none.
func (p *problems) err() error { return errors.Join(p.errs...) }
