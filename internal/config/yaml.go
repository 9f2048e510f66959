package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"gopkg.in/yaml.v3"
)

// FromYAML reads one YAML document whose top level is a mapping. Errors carry line numbers; keys given twice, keys that
// are not strings, and a second document are refused. An empty document is an empty dictionary. Nothing is executed
// and no custom types are built.
func FromYAML(data []byte) (map[string]any, error) {
	dict, _, err := FromYAMLWithLines(data)
	return dict, err
}

// FromYAMLWithLines is [FromYAML] that also returns the line of every key, from 1, by its path: "agent.learning_rate",
// "environment.wrappers[0]". Keys that a YAML alias or merge brings in have no line of their own.
func FromYAMLWithLines(data []byte) (dict map[string]any, lines map[string]int, err error) {
	dict, lines = map[string]any{}, map[string]int{}
	top, err := parseYAML(data)
	if err != nil || top == nil {
		return dict, lines, err
	}
	if err := top.Decode(&dict); err != nil { // refuses duplicates and runaway aliases
		return nil, nil, fmt.Errorf("config: %w", err)
	}
	collectLines(lines, "", top)
	return dict, lines, nil
}

// collectLines adds the lines of the keys and list entries below a node. prefix is the node's path.
func collectLines(lines map[string]int, prefix string, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			path := n.Content[i].Value
			if prefix != "" {
				path = prefix + "." + path
			}
			lines[path] = n.Content[i].Line
			collectLines(lines, path, n.Content[i+1])
		}
	case yaml.SequenceNode:
		for i, child := range n.Content {
			path := fmt.Sprintf("%s[%d]", prefix, i)
			lines[path] = child.Line
			collectLines(lines, path, child)
		}
	}
}

// indentedByTab returns an error if a line of the document is indented by tabs, which YAML does not allow. Otherwise it
// returns err, the parser's error, which does not say so.
func indentedByTab(data []byte, err error) error {
	for i, line := range bytes.Split(data, []byte("\n")) {
		text := bytes.TrimLeft(line, " \t")
		if len(text) > 0 && bytes.ContainsRune(line[:len(line)-len(text)], '\t') {
			return fmt.Errorf("config: yaml: line %d: tabs cannot indent YAML; use spaces", i+1)
		}
	}
	return fmt.Errorf("config: %w", err)
}

// parseYAML returns the mapping at the top of a document, or nil if the document is empty.
func parseYAML(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, indentedByTab(data, err)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		return nil, fmt.Errorf("config: yaml: line %d: a second document begins; want one", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("config: %w", err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.ShortTag() == "!!null" {
		return nil, nil
	}
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("config: yaml: line %d: the top level must be a mapping (key: value)", top.Line)
	}
	return top, checkKeys(top)
}

// checkKeys refuses mapping keys that are not strings. Aliases are not followed: what they stand for is in the
// document too.
func checkKeys(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			if tag := key.ShortTag(); key.Kind != yaml.ScalarNode || tag != "!!str" && tag != "!!merge" {
				return fmt.Errorf("config: yaml: line %d: key %s is not a string; put it in quotes", n.Content[i].Line,
					quote(key.Value))
			}
		}
	}
	for _, child := range n.Content {
		if err := checkKeys(child); err != nil {
			return err
		}
	}
	return nil
}
