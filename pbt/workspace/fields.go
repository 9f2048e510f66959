package workspace

// This file reads YAML field by field, strictly, for the records in record_file.go. A record comes from another
// process and decides which weights are copied, so anything in it that is not understood makes it damaged.

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

// fields are the keys and values of a YAML file, of which each is read once by name. The first failure is kept and
// returned by end, so that a decoder reads like a list of fields. Unlike yaml's own decoding it refuses keys given
// twice, unknown keys and values of another type, and it takes no anchors or tags into values.
type fields struct {
	node map[string]*yaml.Node
	used map[string]bool
	err  error
}

// yamlFields parses a file of one mapping, of at most maxRecord bytes.
func yamlFields(text []byte) (*fields, error) {
	if len(text) > maxRecord {
		return nil, fmt.Errorf("it has more than %d bytes", maxRecord)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("it is empty: its writing was cut off")
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("it is not YAML: %w", err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is not a list of keys and values")
	}
	node, err := mapping(doc.Content[0])
	return &fields{node: node, used: make(map[string]bool)}, err
}

// mapping returns a mapping's values by key, and refuses keys that stand there twice.
func mapping(n *yaml.Node) (map[string]*yaml.Node, error) {
	m := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nil, errors.New("a key is not a text")
		}
		if m[key.Value] != nil {
			return nil, fmt.Errorf("the key %.80q stands there twice", key.Value)
		}
		m[key.Value] = n.Content[i+1]
	}
	return m, nil
}

// has reports whether a key is there; use marks it as read, so that end does not call it unknown.
func (f *fields) has(key string) bool { return f.node[key] != nil }
func (f *fields) use(key string)      { f.used[key] = true }

// fail remembers that a key is missing or has a value of another type, unless something failed before.
func (f *fields) fail(key, want string) {
	if f.err == nil {
		f.err = fmt.Errorf("%s is missing or not %s", key, want)
	}
}

// scalar returns a key's plain value.
func (f *fields) scalar(key string) (*yaml.Node, bool) {
	f.use(key)
	n := f.node[key]
	return n, n != nil && n.Kind == yaml.ScalarNode
}

// null reports whether a key has the value null.
func (f *fields) null(key string) bool {
	n, ok := f.scalar(key)
	return ok && n.ShortTag() == "!!null"
}

// integer reads a whole number.
func (f *fields) integer(key string) int64 {
	n, ok := f.scalar(key)
	if ok && n.ShortTag() == "!!int" {
		if v, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return v
		}
	}
	f.fail(key, "a whole number")
	return 0
}

// text reads a text; a number without quotes is none.
func (f *fields) text(key string) string {
	n, ok := f.scalar(key)
	if !ok || n.ShortTag() != "!!str" {
		f.fail(key, "a text")
		return ""
	}
	return n.Value
}

// float reads a number; has is false for null.
func (f *fields) float(key string) (v float64, has bool) {
	if f.null(key) {
		return 0, false
	}
	return f.anyFloat(key)
}

// anyFloat reads a number, also from a text: YAML 1.1 writers such as PyYAML take 1e-4 for a text.
func (f *fields) anyFloat(key string) (float64, bool) {
	n, ok := f.scalar(key)
	if ok {
		if v, ok := nodeFloat(n); ok {
			return v, true
		}
	}
	f.fail(key, "a number")
	return 0, false
}

// nodeFloat returns the number that a node is or spells; ok is false for everything else.
func nodeFloat(n *yaml.Node) (float64, bool) {
	if n.Kind != yaml.ScalarNode {
		return 0, false
	}
	switch tag := n.ShortTag(); tag {
	case "!!float", "!!int", "!!str":
		if v, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return v, true
		}
		var v float64
		if tag != "!!str" && n.Decode(&v) == nil {
			return v, true
		}
	}
	return 0, false
}

// floats reads numbers by name, all of which must be finite.
func (f *fields) floats(key string) map[string]float64 {
	m := f.anyFloats(key)
	if n := f.node[key]; f.err == nil && len(m) != len(n.Content)/2 {
		f.fail(key, "numbers by name")
	}
	return m
}

// anyFloats reads those entries that are finite numbers, and ignores the others.
func (f *fields) anyFloats(key string) map[string]float64 {
	f.use(key)
	n := f.node[key]
	if n == nil || n.Kind != yaml.MappingNode {
		f.fail(key, "numbers by name")
		return nil
	}
	entries, err := mapping(n)
	if err != nil {
		f.err = errors.Join(f.err, err)
		return nil
	}
	var m map[string]float64
	for name, value := range entries {
		if v, ok := nodeFloat(value); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			if m == nil {
				m = make(map[string]float64)
			}
			m[name] = v
		}
	}
	return m
}

// anyText reads a plain value as text, whatever YAML takes it for; null is empty.
func (f *fields) anyText(key string) string {
	n, ok := f.scalar(key)
	if !ok {
		f.fail(key, "a text")
		return ""
	}
	if n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}

// end returns the first failure. Keys that were not read are failures too.
func (f *fields) end() error {
	for _, key := range slices.Sorted(maps.Keys(f.node)) {
		if f.err == nil && !f.used[key] {
			f.err = fmt.Errorf("the key %.80q is unknown", key)
		}
	}
	return f.err
}
