package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/shellword"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking"
)

// runFile is the name of a run's effective configuration in its folder.
const runFile = "run.yaml"

// maxRunFile is more than any configuration needs.
const maxRunFile = 16 << 20

// kind is what a configuration trains.
type kind int

const (
	single     kind = iota
	population      // with a section pbt:
	evolving        // with sections mutation:, selection_strategy: or training:
)

// sections are those of a configuration, in the order in which they are written. Those of evolution are apart: a
// configuration has them or "pbt".
var (
	sections          = []string{"seed", "environment", "preset", "strict", "pbt", "models", "memory", "motion_dataset", "reply_buffer", "replay_buffer", "agent", "trainer"}
	evolutionSections = []string{"network", "mutation", "selection_strategy", "tournament_selection", "training"}
)

// configuration is a configuration by its sections.
type configuration map[string]any

// readConfiguration reads a YAML file, or the standard input where the path is "-". The error is a wrong use.
func readConfiguration(path string, stdin io.Reader) (configuration, error) {
	in := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, commandline.Usagef("%w", err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxRunFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxRunFile {
		return nil, commandline.Usagef("%s has more than %d bytes, which no configuration needs", path, maxRunFile)
	}
	c, err := parseConfiguration(data)
	if err != nil {
		return nil, commandline.Usagef("%s: %w", path, err)
	}
	return c, nil
}

func parseConfiguration(data []byte) (configuration, error) {
	dict, err := config.FromYAML(data)
	if err != nil {
		return nil, err
	}
	return dict, nil
}

// kind tells what the configuration trains.
func (c configuration) kind() kind {
	if _, ok := c["pbt"]; ok {
		return population
	}
	for _, name := range evolutionSections {
		if _, ok := c[name]; ok {
			return evolving
		}
	}
	return single
}

// check reports sections that nobody reads, and those without which nothing can begin.
func (c configuration) check() error {
	known := slices.Concat(sections, evolutionSections)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c)) {
		switch {
		case !slices.Contains(known, name):
			errs = append(errs, &config.Error{Path: name, Given: c[name], Unknown: true, Nearest: config.Nearest(name, known)})
		case slices.Contains([]string{"seed", "preset", "strict"}, name):
		default:
			if _, ok := c[name].(map[string]any); !ok && c[name] != nil {
				errs = append(errs, &config.Error{Path: name, Given: c[name], Reason: "want a section of keys"})
			}
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if _, ok := c["environment"].(map[string]any); !ok {
		return errors.New("the section environment is missing; want for instance environment: {id: CartPole, num_envs: 16}")
	}
	if _, ok := c["agent"].(map[string]any); !ok {
		return errors.New("the section agent is missing; want for instance agent: {class: PPO}, and its settings")
	}
	return nil
}

// section returns a section, which is made where it is missing. It is no copy.
func (c configuration) section(name string) map[string]any {
	if s, ok := c[name].(map[string]any); ok {
		return s
	}
	s := map[string]any{}
	c[name] = s
	return s
}

// without returns the configuration less some sections.
func (c configuration) without(names ...string) configuration {
	rest := maps.Clone(c)
	for _, name := range names {
		delete(rest, name)
	}
	return rest
}

// set does what --set says: KEY=VALUE, the key dotted through sections, the value in YAML.
func (c configuration) set(assignment string) error {
	path, text, ok := strings.Cut(assignment, "=")
	if !ok || path == "" {
		return commandline.Usagef("--set %s: want KEY=VALUE, for instance agent.learning_rate=1e-3", assignment)
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return commandline.Usagef("--set %s: the value is not YAML: %w", assignment, err)
	}
	keys := strings.Split(path, ".")
	at := map[string]any(c)
	for i, key := range keys {
		if key == "" {
			return commandline.Usagef("--set %s: the key %q has an empty part", assignment, path)
		}
		if i == len(keys)-1 {
			at[key] = value
			return nil
		}
		switch next := at[key].(type) {
		case map[string]any:
			at = next
		case nil:
			made := map[string]any{}
			at[key], at = made, made
		default:
			return commandline.Usagef("--set %s: %s is %v, which has no keys; set it whole", assignment, strings.Join(keys[:i+1], "."), next)
		}
	}
	return nil
}

// drawSeed draws a seed where the configuration leaves it open.
func (c configuration) drawSeed() {
	if c["seed"] == nil {
		c["seed"] = rand.Int64N(1 << 31)
	}
}

// yaml is the configuration as a file has it: one way to write it, whatever order it was read in.
func (c configuration) yaml() ([]byte, error) {
	var b bytes.Buffer
	names := slices.Concat(sections, evolutionSections)
	for _, name := range names {
		value, ok := c[name]
		if !ok {
			continue
		}
		if b.Len() > 0 && name != "strict" {
			b.WriteByte('\n')
		}
		var section yaml.Node
		if err := section.Encode(map[string]any{name: value}); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		inLine(&section)
		encoder := yaml.NewEncoder(&b)
		encoder.SetIndent(2)
		if err := encoder.Encode(&section); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := encoder.Close(); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// inLine writes lists of plain values on one line.
func inLine(n *yaml.Node) {
	plain := n.Kind == yaml.SequenceNode
	for _, child := range n.Content {
		inLine(child)
		plain = plain && child.Kind == yaml.ScalarNode
	}
	if plain {
		n.Style = yaml.FlowStyle
	}
}

// writeRunFile writes the effective configuration into a run's folder, which is made.
func writeRunFile(dir string, text []byte) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, runFile), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "# Written by gorl train. To do the same again: gorl train --config %s\n\n%s", shellword.Quote(filepath.Join(dir, runFile)), text)
		return err
	})
}

// holdsRun reports whether a folder has a run in it.
func holdsRun(dir string) bool {
	for _, name := range []string{runFile, "checkpoints", journal.File, tracking.ScalarsFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// freeName is the name in a folder of runs, or the first of name-2, name-3, ... that no run has.
func freeName(directory, name string) string {
	free := name
	for n := 2; holdsRun(filepath.Join(directory, free)); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}
