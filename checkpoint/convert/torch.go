package convert

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
)

const (
	otherKey  = "torch" // the key in Values of a .pt's other values
	valuesKey = "gorl"  // the key in a .pt of Values from another format
)

// FromTorch returns the snapshot of a value that torchfile reads. Each tensor becomes an array.
func FromTorch(v any) (*checkpoint.Snapshot, error) {
	s := checkpoint.NewSnapshot()
	other, kept, err := gather(s, nil, v)
	if err != nil {
		return nil, err
	}
	if top, ok := other.(map[string]any); ok {
		if metadata, ok := texts(top[metadataKey]); ok {
			s.Metadata = metadata
			delete(top, metadataKey)
		}
		// Values that have a "torch" of their own stay where they are, unless nothing else needs that key. A "gorl"
		// with tensors is a part of the program that wrote the file: ToTorch writes none.
		values, ok := top[valuesKey].(map[string]any)
		_, taken := values[otherKey]
		if ok && (!taken || len(top) == 1) && len(layout.Below(s, valuesKey)) == 0 {
			s.Values = values
			delete(top, valuesKey)
		}
		kept = len(top) > 0
	}
	if kept {
		s.Values[otherKey] = other
	}
	return s, nil
}

// texts returns a map of texts. ok is false for any other value.
func texts(v any) (out map[string]string, ok bool) {
	m, ok := v.(map[string]any)
	out = map[string]string{}
	for key, x := range m {
		text, isText := x.(string)
		out[key], ok = text, ok && isText
	}
	return out, ok
}

// gather puts the tensors of a value into a snapshot, under the keys that lead to them. It returns the other values as
// lists and maps, with a text for bytes and for numbers that JSON does not have. In a list the place of a tensor is
// nil. kept is false if the value has nothing but tensors.
func gather(s *checkpoint.Snapshot, path []string, v any) (other any, kept bool, err error) {
	switch v := v.(type) {
	case nil, bool, int64, string:
		return v, true, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64), true, nil
		}
		return v, true, nil
	case []byte:
		return base64.StdEncoding.EncodeToString(v), true, nil
	case torchfile.Tuple:
		return gatherList(s, path, v)
	case *torchfile.List:
		return gatherList(s, path, v.Items)
	case *torchfile.Dict:
		return gatherDict(s, path, v)
	case checkpoint.Array:
		name := strings.Join(path, "/")
		if len(path) == 0 {
			name = "tensor"
		}
		if _, taken := s.Arrays[name]; taken {
			return nil, false, fmt.Errorf("two tensors would be named %q; rename a key", name)
		}
		s.Arrays[name] = v
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("%s is a %T, which cannot be converted", strings.Join(path, "/"), v)
}

func gatherList(s *checkpoint.Snapshot, path []string, items []any) (any, bool, error) {
	list, kept := make([]any, len(items)), len(items) == 0
	for i, x := range items {
		item, has, err := gather(s, append(path[:len(path):len(path)], strconv.Itoa(i)), x)
		if err != nil {
			return nil, false, err
		}
		list[i], kept = item, kept || has
	}
	return list, kept, nil
}

func gatherDict(s *checkpoint.Snapshot, path []string, d *torchfile.Dict) (any, bool, error) {
	m := map[string]any{}
	for k, x := range d.All() {
		key := fmt.Sprint(k)
		item, has, err := gather(s, append(path[:len(path):len(path)], key), x)
		if _, taken := m[key]; err == nil && taken {
			err = fmt.Errorf("two values would be named %q; rename a key", key)
		}
		if err != nil {
			return nil, false, err
		}
		if has {
			m[key] = item
		}
	}
	return m, len(m) > 0 || d.Len() == 0, nil
}

// ToTorch returns a snapshot as a value that torchfile writes: nested dictionaries by the "/" in the names of arrays.
func ToTorch(s *checkpoint.Snapshot) (any, error) {
	for name, a := range s.Arrays {
		if err := a.Validate(); err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
	}
	d := nested(s)
	for _, key := range []string{valuesKey, metadataKey} {
		if _, taken := d.Get(key); taken {
			return nil, fmt.Errorf("an array's name is or begins with %q, which a .pt reserves for other values; "+
				"rename it", key)
		}
	}
	if len(s.Values) > 0 {
		v, err := toPlain(s.Values, valuesKey)
		if err != nil {
			return nil, err
		}
		d.Set(valuesKey, v)
	}
	if len(s.Metadata) > 0 {
		m := torchfile.NewDict()
		for _, k := range slices.Sorted(maps.Keys(s.Metadata)) {
			m.Set(k, s.Metadata[k])
		}
		d.Set(metadataKey, m)
	}
	return d, nil
}

// nested puts arrays into nested dictionaries by the parts of their names. If an array's name is also a part of another
// name, it puts all into one dictionary.
func nested(s *checkpoint.Snapshot) *torchfile.Dict {
	top, names := torchfile.NewDict(), slices.Sorted(maps.Keys(s.Arrays))
	flat := slices.ContainsFunc(names, func(name string) bool { return len(layout.Below(s, name)) > 0 })
	for _, name := range names {
		d, parts := top, strings.Split(name, "/")
		if flat {
			parts = []string{name}
		}
		for _, part := range parts[:len(parts)-1] {
			inner, ok := d.Get(part)
			if !ok {
				inner = torchfile.NewDict()
				d.Set(part, inner)
			}
			d = inner.(*torchfile.Dict)
		}
		d.Set(parts[len(parts)-1], s.Arrays[name])
	}
	return top
}

// toPlain returns the lists and maps of Values as those of a .pt.
func toPlain(v any, path string) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
		return v, nil
	case int:
		return int64(v), nil
	case uint64:
		return nil, fmt.Errorf("value %s is %d, which is too large for a .pt", path, v)
	case []any:
		list := &torchfile.List{}
		for i, x := range v {
			item, err := toPlain(x, path+"."+strconv.Itoa(i))
			if err != nil {
				return nil, err
			}
			list.Items = append(list.Items, item)
		}
		return list, nil
	case map[string]any:
		d := torchfile.NewDict()
		for _, k := range slices.Sorted(maps.Keys(v)) {
			item, err := toPlain(v[k], path+"."+k)
			if err != nil {
				return nil, err
			}
			d.Set(k, item)
		}
		return d, nil
	}
	return nil, fmt.Errorf("value %s is a %T, which has no place in a .pt", path, v)
}
