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
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return map[string]any{}, nil
	} else if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		return nil, fmt.Errorf("config: yaml: line %d: a second document begins; want one", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("config: %w", err)
	}
	if len(doc.Content) == 0 {
		return map[string]any{}, nil
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.ShortTag() == "!!null" {
		return map[string]any{}, nil
	}
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("config: yaml: line %d: the top level must be a mapping (key: value)", top.Line)
	}
	if err := checkKeys(top); err != nil {
		return nil, err
	}
	dict := map[string]any{}
	if err := top.Decode(&dict); err != nil { // refuses duplicates and runaway aliases
		return nil, fmt.Errorf("config: %w", err)
	}
	return dict, nil
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
