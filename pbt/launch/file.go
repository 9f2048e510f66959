package launch

// This file reads a population's YAML file for a launcher, and ties the population's folder to one set of settings.
// canonical brings the file into a form that can be compared. Install puts that form into the folder, where member
// processes read it, and refuses a folder that belongs to other settings: members that continue from a state of other
// settings would train something that no file describes.

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/runfile"
)

// ConfigFile is the name of the canonical YAML file in a population's folder.
const ConfigFile = "config.yaml"

// LockFile is the name of the file in a population's folder that a launcher locks.
const LockFile = "launcher.lock"

// File is a population's YAML file as its launcher sees it. Of the section `pbt:`, which package preset reads, it knows
// the folder and the number of members only.
type File struct {
	// Launcher is the section `launcher:`, completed by defaults.
	Launcher Config
	// Directory and Workspace are those of the section `pbt:`.
	Directory, Workspace string
	// Notes are what Install has to say to the user.
	Notes []string

	sections runfile.Sections
}

// ReadFile reads a population's YAML file; see Parse.
func ReadFile(path string) (*File, error) {
	sections, err := runfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	f, err := newFile(sections)
	if err != nil {
		return nil, fmt.Errorf("%w\nlaunch: the file is %s", err, path)
	}
	return f, nil
}

// Parse reads a population's YAML. Unknown sections, and unknown keys, wrong types and values out of range in the
// section `launcher:`, are errors that name the key and the nearest known one; the section `pbt:` is left to package
// preset.
func Parse(data []byte) (*File, error) {
	sections, err := runfile.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	return newFile(sections)
}

// newFile reads the two sections that a launcher needs. The others are for the member program to check.
func newFile(sections runfile.Sections) (*File, error) {
	if err := sections.Check("launch", ^runfile.Evolutions); err != nil {
		return nil, err
	}
	f := &File{Launcher: DefaultConfig(), Directory: ".", Workspace: "pbt_workspace", sections: sections}
	// The launcher's keys are merged over the defaults, and unknown ones are refused.
	launcher, err := mapping(sections, "launcher")
	if err != nil {
		return nil, err
	}
	if err := config.Merge(&f.Launcher, launcher, config.Options{Prefix: "launch"}); err != nil {
		return nil, err
	}
	if sections["distributed"] != nil && f.Launcher.RanksPerMember < 2 {
		return nil, errors.New("launch: \"distributed\" is for members of several ranks; set " +
			"\"launcher.ranks_per_member\", or leave the section out")
	}
	// Of pbt: only what a launcher needs is read, so that it can run members of any preset.
	population, err := mapping(sections, "pbt")
	if err != nil {
		return nil, err
	}
	for key, into := range map[string]*string{"directory": &f.Directory, "workspace": &f.Workspace} {
		switch value := population[key].(type) {
		case nil:
		case string:
			*into = value
		default:
			return nil, fmt.Errorf("launch: \"pbt.%s\" is %v: want a text", key, value)
		}
	}
	if f.Workspace == "" || f.Directory == "" {
		return nil, errors.New("launch: \"pbt.directory\" or \"pbt.workspace\" is empty; leave it out for the default")
	}
	// The number of members may stand in either section, so it is settled before Validate looks at it.
	if err := f.countMembers(population); err != nil {
		return nil, err
	}
	return f, f.Launcher.Validate()
}

// countMembers takes the number of members from the section `pbt:`, where it gives one, and refuses another in
// `launcher:`.
func (f *File) countMembers(population map[string]any) error {
	given, ok := population["num_policies"]
	if !ok {
		return nil
	}
	n, ok := config.Whole(given)
	switch {
	case !ok || n < 1:
		return fmt.Errorf("launch: \"pbt.num_policies\" is %v: want a whole number of at least 1", given)
	case f.Launcher.NumPolicies != 0 && f.Launcher.NumPolicies != n:
		return fmt.Errorf("launch: \"launcher.num_policies\" is %d and \"pbt.num_policies\" %d; give one of them",
			f.Launcher.NumPolicies, n)
	}
	f.Launcher.NumPolicies = n
	return nil
}

// mapping returns a section's keys, none if the file does not have it.
func mapping(sections runfile.Sections, name string) (map[string]any, error) {
	switch section := sections[name].(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return section, nil
	default:
		return nil, fmt.Errorf("launch: %q is %v: want a section of keys", name, section)
	}
}

// Dir is the population's folder, which all its processes share.
func (f *File) Dir() string { return filepath.Join(f.Directory, f.Workspace) }

// logs is the folder of the members' outputs.
func (f *File) logs() string {
	if f.Launcher.Logs != "" {
		return f.Launcher.Logs
	}
	return filepath.Join(f.Dir(), "logs")
}

// canonical is the file in one form, whatever comments and order of keys it had, so that two files can be compared:
// keys sorted, the number of members in the section `pbt:`.
func (f *File) canonical() ([]byte, error) {
	// Only the levels that change are copied; f.sections stays as the user wrote it.
	sections := maps.Clone(f.sections)
	population := maps.Clone(sections.Section("pbt"))
	population["num_policies"] = f.Launcher.NumPolicies
	sections["pbt"] = population
	if launcher, ok := sections["launcher"].(map[string]any); ok && len(launcher) > 0 {
		launcher = maps.Clone(launcher)
		delete(launcher, "num_policies")
		sections["launcher"] = launcher
	}
	return toYAML(map[string]any(sections))
}

// toYAML encodes a value with an indentation of two spaces.
func toYAML(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(value), encoder.Close()); err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	return out.Bytes(), nil
}

// recordStart records a start of the population in its folder.
func recordStart(dir string, canonical []byte) error {
	var start runfile.Start
	if rows, err := Status(dir, DefaultSilence); err == nil { // the population has trained before
		for _, row := range rows {
			if b := row.Beat; b != nil && (start.Interval == 0 || b.Iteration < start.Interval) {
				start.Interval = b.Iteration
			}
		}
	}
	if err := runfile.Record(dir, canonical, start); err != nil {
		return fmt.Errorf("launch: recording the start of the population: %w", err)
	}
	return nil
}

// Install makes the population's folder and copies the canonical file there, for members to read; it returns the
// copy's path, which is absolute. If the folder holds the file of another population already, that is an error which
// lists what differs. Two things may: the section `launcher:`, as nothing that was trained depends on it, and
// `pbt.total_steps`, which may have grown, so that the members train further; Notes then says so. Either way the copy
// is replaced at once, and members read it when they start.
func (f *File) Install() (path string, err error) {
	// The path that members are told is absolute, as they may be started in another folder.
	canonical, err := f.canonical()
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(f.Dir())
	if err != nil {
		return "", fmt.Errorf("launch: %w", err)
	}
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("launch: %w", err)
	}
	path = filepath.Join(dir, ConfigFile)
	// A folder without a file is new. One with the same file is continued and not written, so that its time stays.
	// One with another file must be of the same run.
	existing, err := os.ReadFile(path)
	same := err == nil && string(existing) == string(canonical)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if holds := runfile.In(dir); holds.Run || holds.Population {
			return "", fmt.Errorf("launch: %s holds another run; choose another pbt.workspace: %w", dir, fs.ErrExist)
		}
	case err != nil:
		return "", fmt.Errorf("launch: %w", err)
	case same:
	default:
		note, err := sameRun(existing, canonical)
		if err != nil {
			return "", fmt.Errorf(
				"launch: %s is of another run; continue it with the same settings, or choose another "+
					"pbt.workspace: %w", path, err)
		}
		if note != "" {
			f.Notes = append(f.Notes, note)
		}
	}
	if err := recordStart(dir, canonical); err != nil || same {
		return path, err
	}
	// The file is replaced as a whole: a member that starts now, or a crash, finds the old one or the new one.
	return path, writeText(path, string(canonical))
}

// sameRun compares the file of the population in the folder with another one, key by key. Settings that decide what is
// trained must be the same, as the state in the folder depends on them. note says that total_steps has grown, where
// that is all.
func sameRun(before, after []byte) (note string, err error) {
	was, err := config.FromYAML(before)
	if err != nil {
		return "", err
	}
	is, err := config.FromYAML(after)
	if err != nil {
		return "", err
	}
	// Nothing that was trained depends on how the members are launched.
	delete(was, "launcher")
	delete(is, "launcher")
	// Training further is allowed, training less is not: members may be beyond the new end already.
	if from, to := totalSteps(was), totalSteps(is); 0 < from && from < to {
		note = fmt.Sprintf("pbt.total_steps has grown from %d to %d: the population trains further", from, to)
		is["pbt"].(map[string]any)["total_steps"] = from
	}
	if lines := differences(was, is); len(lines) > 0 {
		return "", errors.New("\n\t" + strings.Join(lines, "\n\t"))
	}
	return note, nil
}

// totalSteps is the key pbt.total_steps of a file, 0 if it has none.
func totalSteps(dict map[string]any) int {
	population, _ := dict["pbt"].(map[string]any)
	n, _ := config.Whole(population["total_steps"])
	return n
}

// differences lists the settings that differ, by dotted keys in order. was is the file in the folder ("there" in the
// lines), is the given file ("here").
func differences(was, is map[string]any) (lines []string) {
	there, here := map[string]any{}, map[string]any{}
	config.Walk(was, func(key string, value any) { there[key] = value })
	config.Walk(is, func(key string, value any) { here[key] = value })
	word := func(value any) any {
		if value == nil {
			return "nothing"
		}
		return value
	}
	for _, c := range runfile.Changes(there, here) {
		lines = append(lines, fmt.Sprintf("%s: %v there, %v here", c.Key, word(c.Old), word(c.New)))
	}
	return lines
}
