package convert

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
)

// describe puts the tensors of a value into a snapshot, under the keys that lead to them. It returns the tree around
// them as plain values. Numbers, texts, booleans and None stay; other values become {"tensor": name}, {"list": [...]},
// {"dict": [[key, value], ...]} and so on.
func describe(s *checkpoint.Snapshot, path []string, v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, string:
		return v, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) { // JSON has no such numbers
			return map[string]any{"float": strconv.FormatFloat(v, 'g', -1, 64)}, nil
		}
		return v, nil
	case []byte:
		return map[string]any{"bytes": base64.StdEncoding.EncodeToString(v)}, nil
	case torchfile.Tuple:
		items, err := describeAll(s, path, v)
		return map[string]any{"tuple": items}, err
	case *torchfile.List:
		items, err := describeAll(s, path, v.Items)
		return map[string]any{"list": items}, err
	case *torchfile.Dict:
		return describeDict(s, path, v)
	case *torchfile.Tensor:
		name := strings.Join(path, "/")
		if len(path) == 0 {
			name = "tensor"
		}
		if _, taken := s.Arrays[name]; taken {
			return nil, fmt.Errorf("two tensors would be named %q; rename a key", name)
		}
		s.Arrays[name] = v.Array()
		out := map[string]any{"tensor": name}
		if v.Parameter {
			out["parameter"] = true
		}
		if v.RequiresGrad {
			out["requires_grad"] = true
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s is a %T, which cannot be converted", strings.Join(path, "/"), v)
}

func describeAll(s *checkpoint.Snapshot, path []string, items []any) ([]any, error) {
	out := make([]any, len(items))
	for i, x := range items {
		var err error
		if out[i], err = describe(s, child(path, strconv.Itoa(i)), x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func describeDict(s *checkpoint.Snapshot, path []string, d *torchfile.Dict) (any, error) {
	pairs := []any{}
	for k, x := range d.All() {
		v, err := describe(s, child(path, keyName(k)), x)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, []any{k, v})
	}
	if !d.Ordered {
		return map[string]any{"dict": pairs}, nil
	}
	out := map[string]any{"ordered": pairs}
	if d.Attributes == nil {
		return out, nil
	}
	attributes, err := describeDict(s, child(path, "__dict__"), d.Attributes)
	out["attributes"] = attributes
	return out, err
}

// child returns a copy of a path with one more key.
func child(path []string, key string) []string { return append(path[:len(path):len(path)], key) }

const maxDepth = 200

// builder is the inverse of describe. It does not trust the tree, which may come from any file.
type builder struct {
	s    *checkpoint.Snapshot
	used map[string]bool
}

func (b *builder) build(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the tree is nested more than %d deep", maxDepth)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return plainScalar(v)
	}
	if name, ok := m["tensor"].(string); ok {
		a, ok := b.s.Arrays[name]
		if !ok || b.used[name] {
			return nil, fmt.Errorf("the tree has %q, but the arrays do not", name)
		}
		b.used[name] = true
		t := torchfile.NewTensor(a)
		t.Parameter, _ = m["parameter"].(bool)
		t.RequiresGrad, _ = m["requires_grad"].(bool)
		return t, nil
	}
	for _, kind := range []string{"list", "tuple", "dict", "ordered"} {
		if items, ok := m[kind].([]any); ok {
			return b.container(kind, items, m["attributes"], depth)
		}
	}
	if text, ok := m["float"].(string); ok {
		return strconv.ParseFloat(text, 64)
	}
	if text, ok := m["bytes"].(string); ok {
		return base64.StdEncoding.DecodeString(text)
	}
	return nil, malformed(m)
}

func plainScalar(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
		return v, nil
	case int:
		return int64(v), nil
	}
	return nil, malformed(v)
}

func (b *builder) container(kind string, items []any, attributes any, depth int) (any, error) {
	if kind == "dict" || kind == "ordered" {
		return b.dict(kind == "ordered", items, attributes, depth)
	}
	var out []any
	for _, x := range items {
		v, err := b.build(x, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	if kind == "tuple" {
		return torchfile.Tuple(out), nil
	}
	return &torchfile.List{Items: out}, nil
}

func (b *builder) dict(ordered bool, pairs []any, attributes any, depth int) (any, error) {
	d := torchfile.NewDict()
	d.Ordered = ordered
	for _, x := range pairs {
		pair, ok := x.([]any)
		if !ok || len(pair) != 2 {
			return nil, malformed(x)
		}
		v, err := b.build(pair[1], depth+1)
		if err != nil {
			return nil, err
		}
		switch key := pair[0].(type) {
		case string, int64, int:
			d.Set(key, v)
		default:
			return nil, malformed(pair[0])
		}
	}
	if attributes == nil || !ordered {
		return d, nil
	}
	v, err := b.build(attributes, depth+1)
	if err != nil {
		return nil, err
	}
	if d.Attributes, ordered = v.(*torchfile.Dict); !ordered {
		return nil, malformed(attributes)
	}
	return d, nil
}

func malformed(v any) error { return fmt.Errorf("the tree has %v instead of a value", v) }
