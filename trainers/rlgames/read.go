package rlgames

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
)

// Options are what a file leaves to the command line. The zero value adds nothing to the file.
type Options struct {
	// Overrides change keys before the file is read, as Hydra does: "params.config.learning_rate=1e-3", with the key
	// dotted and the value in YAML. The key may begin with "agent." (Isaac Lab) or "train." (IsaacGymEnvs).
	Overrides []string
	// NumEnvs is the number of environments, or 0 if it is not known. It converts max_frames and the length of a
	// population, which count environment steps, into timesteps.
	NumEnvs int
}

// Configuration is a file of rl_games converted to gorl's sections.
type Configuration struct {
	// Sections has seed, models, agent and trainer for trainers.FromDict. It has environment for catalog.New, with the
	// wrappers that the file asks for and without an id. If the file has an enabled population, Sections also has
	// preset and pbt for package pbt/preset.
	Sections map[string]any
	// Notes say which keys have no meaning for gorl, and what differs from rl_games.
	Notes []string
}

// Is reports whether a dictionary is a file of rl_games: such files have the section params.
func Is(dict map[string]any) bool {
	_, ok := dict["params"]
	return ok
}

// Read reads the file at path, which has at most 16 MiB. It also reads the files that defaults: names, as in
// IsaacGymEnvs, from the same folder. Errors name the file.
func Read(path string, o Options) (*Configuration, error) {
	dict, err := inherit(path, nil)
	if err == nil {
		var c *Configuration
		if c, err = Convert(dict, o); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

// inherit reads the file at path and overlays it on the files that it names under defaults:, in their order (Hydra).
// The entry _self_ is the place of the file itself, which otherwise comes last. before are the paths that led here, to
// find cycles.
func inherit(path string, before []string) (map[string]any, error) {
	if slices.Contains(before, path) {
		return nil, fmt.Errorf("rlgames: defaults: %s names itself, by way of %s", path, strings.Join(before, ", "))
	}
	file, err := runfile.Read(path)
	if err != nil {
		return nil, err
	}
	given, ok := file["defaults"]
	if !ok {
		return file, nil
	}
	names, ok := given.([]any)
	if !ok {
		return nil, fmt.Errorf("rlgames: \"defaults\" is %v: want a list of files beside this one, each by its name "+
			"without .yaml", given)
	}
	delete(file, "defaults")
	const self = "_self_"
	if !slices.Contains(names, any(self)) {
		names = append(slices.Clone(names), self)
	}
	whole := map[string]any{}
	for _, n := range names {
		name, ok := n.(string)
		switch {
		case name == self:
			overlay(whole, file)
			continue
		case !ok || name == "" || name != filepath.Base(name):
			return nil, fmt.Errorf("rlgames: \"defaults\" has %v: want the name of a file beside this one, without "+
				".yaml", n)
		}
		base, err := inherit(filepath.Join(filepath.Dir(path), name+".yaml"), append(before, path))
		if err != nil {
			return nil, err
		}
		overlay(whole, base)
	}
	return whole, nil
}

// overlay writes the keys of over into under. If both have a section, it merges them; otherwise the value of over wins.
func overlay(under, over map[string]any) {
	for key, value := range over {
		section, isSection := value.(map[string]any)
		below, wasSection := under[key].(map[string]any)
		if isSection && wasSection {
			// below may belong to a dictionary that was overlaid before.
			copied := maps.Clone(below)
			overlay(copied, section)
			under[key] = copied
			continue
		}
		under[key] = value
	}
}

// Convert converts a file that is already a dictionary. It does not change dict. The error joins all problems of the
// file, so that they can be corrected at once.
func Convert(dict map[string]any, o Options) (*Configuration, error) {
	// Without a path there is no folder to find the files in.
	if names, ok := dict["defaults"]; ok {
		return nil, fmt.Errorf("rlgames: \"defaults\" is %v: the files that it names are beside this one, so read "+
			"it by its path", names)
	}
	file, err := overridden(dict, o.Overrides)
	if err != nil {
		return nil, err
	}
	if file, err = resolve(file, o.NumEnvs); err != nil {
		return nil, err
	}
	c := &conversion{o: o, values: map[string]any{}, sections: map[string]any{}}
	c.file(file)
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	if len(c.idle) > 0 {
		c.notes = append(c.notes, "these keys have no meaning for gorl: "+strings.Join(c.idle, ", "))
	}
	return &Configuration{Sections: c.sections, Notes: c.notes}, nil
}

// overridden returns a deep copy of a file with the overrides applied.
func overridden(dict map[string]any, overrides []string) (map[string]any, error) {
	file := runfile.Sections(config.Clone(dict).(map[string]any))
	for _, o := range overrides {
		short := strings.TrimLeft(o, "+") // Hydra's mark of a key that is not there yet
		for _, root := range []string{"agent.", "train."} {
			short = strings.TrimPrefix(short, root)
		}
		if err := file.Set(short); err != nil {
			return nil, fmt.Errorf("rlgames: %w", err)
		}
	}
	return file, nil
}

// conversion converts one file. Its methods write sections and report problems to errs, so that one error has all of
// them. idle collects the keys without meaning for gorl, for one note.
type conversion struct {
	o        Options
	values   map[string]any // of the file, by their paths below params
	sections map[string]any // gorl's
	idle     []string
	notes    []string
	errs     []error
}

// file converts the sections of a file. Values are read and checked first (keep). The methods after it read them and
// write the sections. Later methods use what earlier ones wrote: population reads the trainer's timesteps.
func (c *conversion) file(file map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(file)) {
		if name == "asymmetric_obs" { // IsaacGymEnvs' Trifinger; rl_games does not see it
			c.idle = append(c.idle, name)
		} else if name != "params" && name != "pbt" {
			c.wrong(&config.Error{Path: name, Given: file[name], Unknown: true,
				Reason:  "a file of rl_games has params, and in Isaac Lab pbt",
				Nearest: config.Nearest(name, []string{"params", "pbt"})})
		}
	}
	params, ok := file["params"].(map[string]any)
	if !ok {
		c.wrong(&config.Error{Path: "params", Given: file["params"],
			Reason: "want the keys of rl_games: algo, model, network, config"})
		return
	}
	if c.algorithm(params); len(c.errs) > 0 {
		return // the other keys are those of another algorithm
	}
	c.keep("", params)
	// The methods below need values of the right types.
	if len(c.errs) > 0 {
		return
	}
	c.seed()
	c.agent()
	c.models()
	c.trainer()
	c.environment()
	c.population(file["pbt"])
}

// wrong reports a problem. The conversion goes on, to find further ones.
func (c *conversion) wrong(e *config.Error) {
	e.Prefix = "rlgames"
	c.errs = append(c.errs, e)
}

// refuse reports a key below params whose value gorl cannot honour, with the value of the file. reason is a format.
func (c *conversion) refuse(path, reason string, args ...any) {
	c.wrong(&config.Error{Path: "params." + path, Given: c.values[path], Reason: fmt.Sprintf(reason, args...)})
}

// note adds a note for the user about a difference that is no error.
func (c *conversion) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// keep reads the keys of a section into c.values and reports unknown ones. path is the section's below params, "" for
// params itself. Keys are sorted, so that errors and notes have the same order in every run.
func (c *conversion) keep(path string, section map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(section)) {
		at, value := name, section[name]
		if path != "" {
			at = path + "." + name
		}
		k, known := table[at]
		sub, isSection := value.(map[string]any)
		switch {
		case known && k.fate == isIdle:
			c.idle = append(c.idle, at)
		case known:
			c.value(k, value)
		case isSection && sections[at]:
			// given answers for sections, too: a file has a cnn, an rnn or a central value, or not.
			c.values[at] = sub
			c.keep(at, sub)
		// An empty section is the same as a missing one.
		case sections[at] && none(value):
		case sections[at]:
			c.wrong(&config.Error{Path: "params." + at, Given: value, Reason: "want a section of keys"})
		default:
			c.wrong(&config.Error{Path: "params." + at, Given: value, Unknown: true, Nearest: nearest(at)})
		}
	}
}

// none reports whether a value stands for nothing: null, or None, which PyYAML reads as a text.
func none(value any) bool { return value == nil || value == "None" }

// value stores the value of a key in the Go type of its kind. It reports a value of another type, one that gorl cannot
// honour, and a reference that leads out of the file.
func (c *conversion) value(k key, value any) {
	if none(value) {
		return
	}
	c.values[k.path] = value
	if reference, ok := leftOpen(value); ok {
		c.values[k.path] = "${" + string(reference) + "}"
		c.refuse(k.path, "it refers to what is not in the file; give the value itself: agent.params.%s=VALUE", k.path)
		return
	}
	read, ok := k.kind.read(value)
	if !ok {
		c.wrong(&config.Error{Path: "params." + k.path, Given: value, Allowed: k.kind.want()})
		return
	}
	c.values[k.path] = read
	if k.check != nil && !k.check(read) {
		c.refuse(k.path, "%s", k.why)
	}
}
