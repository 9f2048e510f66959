package runfile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/internal/config"
)

// Set changes one setting by what a command line says: KEY=VALUE, the key dotted through sections, the value in YAML.
// Sections on the way are made.
func (s Sections) Set(assignment string) error {
	path, text, ok := strings.Cut(assignment, "=")
	if !ok || path == "" {
		return fmt.Errorf("%s: want KEY=VALUE, for instance agent.learning_rate=1e-3", assignment)
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return fmt.Errorf("%s: the value is not YAML: %w", assignment, err)
	}
	if err := s.SetValue(path, value); err != nil {
		return fmt.Errorf("%s: %w", assignment, err)
	}
	return nil
}

// SetValue changes one setting by its dotted key. Sections on the way are made.
func (s Sections) SetValue(path string, value any) error {
	keys, at := strings.Split(path, "."), map[string]any(s)
	if slices.Contains(keys, "") {
		return fmt.Errorf("the key %q has an empty part", path)
	}
	last := len(keys) - 1
	for i, key := range keys[:last] {
		switch next := at[key].(type) {
		case map[string]any:
			at = next
		case nil:
			made := map[string]any{}
			at[key], at = made, made
		default:
			return fmt.Errorf("%s is %v, which has no keys; set it whole", strings.Join(keys[:i+1], "."), next)
		}
	}
	at[keys[last]] = value
	return nil
}

// YAML writes the sections as a file has them: always in the same order and form, whatever order they were read in, so
// that two files can be compared. Passwords in addresses are left out, see [config.Redact].
func (s Sections) YAML() ([]byte, error) {
	var b bytes.Buffer
	for _, k := range known {
		value, ok := s[k.name]
		if !ok {
			continue
		}
		if b.Len() > 0 && k.name != "strict" {
			b.WriteByte('\n')
		}
		var section yaml.Node
		if err := section.Encode(map[string]any{k.name: value}); err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
		inLine(&section)
		encoder := yaml.NewEncoder(&b)
		encoder.SetIndent(2)
		if err := encoder.Encode(&section); err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
		if err := encoder.Close(); err != nil {
			return nil, err
		}
	}
	return []byte(config.Redact(b.String())), nil
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
