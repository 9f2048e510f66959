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

// Options say what a file leaves to its command line. The zero value is what the file alone says.
type Options struct {
	// Overrides change keys before the file is read, as Hydra does: "params.config.learning_rate=1e-3", the key dotted,
	// the value in YAML. A leading "agent." (Isaac Lab) or "train." (IsaacGymEnvs) may stand before the key.
	Overrides []string
	// NumEnvs is the number of environments, 0 where it is not known. It turns max_frames and the length of a
	// population, which count environment steps, into timesteps.
	NumEnvs int
}

// Configuration is a file of rl_games as gorl has it.
type Configuration struct {
	// Sections are seed, models, agent and trainer for trainers.FromDict; environment, with the wrappers that the file
	// asks for and without an id, for catalog.New; and, where the file has an enabled population, preset and pbt for
	// package pbt/preset.
	Sections map[string]any
	// Notes say which keys have no meaning for gorl, and what differs from rl_games.
	Notes []string
}

// Is reports whether a dictionary is a file of rl_games: it has the section params.
func Is(dict map[string]any) bool {
	_, ok := dict["params"]
	return ok
}

// Read reads the file at path, which has at most 16 MiB. Files that it names under defaults:, as IsaacGymEnvs' do, are
// read from the same folder. Errors name the file.
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

// inherit reads a file and puts it over those that it names under defaults:, in their order; _self_ is its own place,
// the last one where it is not named. before are the files that led here.
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

// overlay puts the keys of a dictionary over those of another, section by section.
func overlay(under, over map[string]any) {
	for key, value := range over {
		section, isSection := value.(map[string]any)
		below, wasSection := under[key].(map[string]any)
		if isSection && wasSection {
			copied := maps.Clone(below)
			overlay(copied, section)
			under[key] = copied
			continue
		}
		under[key] = value
	}
}

// Convert makes gorl's sections of a file that is already a dictionary, which is not changed. All that is wrong with it
// is reported.
func Convert(dict map[string]any, o Options) (*Configuration, error) {
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

// overridden returns a copy of a file with keys changed.
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

// conversion makes sections of one file.
type conversion struct {
	o        Options
	values   map[string]any // of the file, by their paths below params
	sections map[string]any // gorl's
	idle     []string
	notes    []string
	errs     []error
}

// file reads the sections of a file.
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

// wrong reports a problem.
func (c *conversion) wrong(e *config.Error) {
	e.Prefix = "rlgames"
	c.errs = append(c.errs, e)
}

// refuse reports a key of params whose value gorl cannot honour.
func (c *conversion) refuse(path, reason string, args ...any) {
	c.wrong(&config.Error{Path: "params." + path, Given: c.values[path], Reason: fmt.Sprintf(reason, args...)})
}

// note adds a note.
func (c *conversion) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// keep reads the values below a path by the table of keys.
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
			c.values[at] = sub
			c.keep(at, sub)
		case sections[at] && none(value):
		case sections[at]:
			c.wrong(&config.Error{Path: "params." + at, Given: value, Reason: "want a section of keys"})
		default:
			c.wrong(&config.Error{Path: "params." + at, Given: value, Unknown: true, Nearest: nearest(at)})
		}
	}
}

// none reports whether a value says that there is none: null, or the text None, which PyYAML reads as a text.
func none(value any) bool { return value == nil || value == "None" }

// value checks and keeps the value of a key.
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
