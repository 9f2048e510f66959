package launch

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"gopkg.in/yaml.v3"
)

// ConfigFile is the name of the canonical YAML file in a population's folder.
const ConfigFile = "config.yaml"

// File is a population's YAML file as its launcher sees it. Of the section `pbt:`, which belongs to package preset, it
// knows the folder and the number of policies only.
type File struct {
	// Launcher is the section `launcher:`, completed.
	Launcher Description
	// Directory and Workspace are those of the section `pbt:`.
	Directory, Workspace string
	// Notes are what Install has to say to the user.
	Notes []string

	dict map[string]any
}

// topLevel are the keys that a population's file may have: the population's own, and those that member programs read.
var topLevel = []string{"preset", "strict", "pbt", "launcher", "agent", "environment", "models", "trainer", "memory", "seed", "member"}

// ReadFile reads a population's YAML file; see Parse.
func ReadFile(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	f, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w\nlaunch: the file is %s", err, path)
	}
	return f, nil
}

// Parse reads a population's YAML. Unknown keys, wrong types and values out of range in the section `launcher:`, and
// unknown sections, are errors that name the key; the section `pbt:` is left to package preset.
func Parse(data []byte) (*File, error) {
	dict, err := config.FromYAML(data)
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		if !slices.Contains(topLevel, key) {
			return nil, fmt.Errorf("launch: unknown section %q: want one of %s", key, strings.Join(topLevel, ", "))
		}
	}
	f := &File{Launcher: DefaultDescription(), Directory: ".", Workspace: "pbt_workspace", dict: dict}
	section, err := mapping(dict, "launcher")
	if err != nil {
		return nil, err
	}
	if err := config.Merge(&f.Launcher, section, config.Options{Prefix: "launch"}); err != nil {
		return nil, err
	}
	population, err := mapping(dict, "pbt")
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
	if err := f.countPolicies(population); err != nil {
		return nil, err
	}
	return f, f.Launcher.Validate()
}

// countPolicies makes both sections say the same.
func (f *File) countPolicies(population map[string]any) error {
	given, ok := population["num_policies"]
	if !ok {
		return nil
	}
	n, ok := given.(int)
	switch {
	case !ok || n < 1:
		return fmt.Errorf("launch: \"pbt.num_policies\" is %v: want a whole number of at least 1", given)
	case f.Launcher.NumPolicies != 0 && f.Launcher.NumPolicies != n:
		return fmt.Errorf("launch: \"launcher.num_policies\" is %d and \"pbt.num_policies\" %d; give one of them", f.Launcher.NumPolicies, n)
	}
	f.Launcher.NumPolicies = n
	return nil
}

func mapping(dict map[string]any, key string) (map[string]any, error) {
	switch section := dict[key].(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return section, nil
	default:
		return nil, fmt.Errorf("launch: %q is %v: want a section", key, section)
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

// Canonical is the file in one form, whatever comments and order of keys it had: keys sorted, the number of policies in
// the section `pbt:`.
func (f *File) Canonical() ([]byte, error) {
	dict := maps.Clone(f.dict)
	population, err := mapping(dict, "pbt")
	if err != nil {
		return nil, err
	}
	population = maps.Clone(population)
	population["num_policies"] = f.Launcher.NumPolicies
	dict["pbt"] = population
	if launcher, err := mapping(dict, "launcher"); err == nil && len(launcher) > 0 {
		launcher = maps.Clone(launcher)
		delete(launcher, "num_policies")
		dict["launcher"] = launcher
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(dict), encoder.Close()); err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	return out.Bytes(), nil
}
