package convert

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
)

const (
	treeKey   = "torch" // the key in Values of a .pt's tree
	valuesKey = "gorl"  // the key in a .pt of Values from another format
)

// FromTorch returns the snapshot of a value that torchfile reads. Each tensor becomes an array, also if tensors share
// memory.
func FromTorch(v any) (*checkpoint.Snapshot, error) {
	s := checkpoint.NewSnapshot()
	d, ok := v.(*torchfile.Dict)
	if ok && isGorls(d) {
		return s, readGorls(s, d)
	}
	tree, err := describe(s, nil, v)
	if err != nil {
		return nil, err
	}
	s.Values[treeKey] = tree
	return s, nil
}

// ToTorch is the inverse of [FromTorch]. A snapshot from another format becomes nested dictionaries, by the "/" in its
// names.
func ToTorch(s *checkpoint.Snapshot) (any, error) {
	for name, a := range s.Arrays {
		if err := validate(name, a); err != nil {
			return nil, err
		}
	}
	values := maps.Clone(s.Values)
	if tree, ok := values[treeKey]; ok {
		b := builder{s: s, used: map[string]bool{}}
		v, err := b.build(tree, 0)
		if err == nil && len(b.used) == len(s.Arrays) && len(values) == 1 && len(s.Metadata) == 0 {
			return v, nil
		}
		delete(values, treeKey) // the tree has other tensors
	}
	d := nested(s)
	for _, key := range []string{valuesKey, metadataKey} {
		if _, taken := d.Get(key); taken {
			return nil, fmt.Errorf("an array's name is or begins with %q, which a .pt reserves for other values; "+
				"rename it", key)
		}
	}
	if len(values) > 0 {
		v, err := toPlain(values, valuesKey)
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
	top, flat := torchfile.NewDict(), torchfile.NewDict()
	names := slices.Sorted(maps.Keys(s.Arrays))
	for _, name := range names {
		flat.Set(name, torchfile.NewTensor(s.Arrays[name]))
	}
	for _, name := range names {
		d, parts := top, strings.Split(name, "/")
		for _, part := range parts[:len(parts)-1] {
			v, ok := d.Get(part)
			if !ok {
				v = torchfile.NewDict()
				d.Set(part, v)
			}
			inner, isDict := v.(*torchfile.Dict)
			if !isDict {
				return flat
			}
			d = inner
		}
		if _, taken := d.Get(parts[len(parts)-1]); taken {
			return flat
		}
		d.Set(parts[len(parts)-1], torchfile.NewTensor(s.Arrays[name]))
	}
	return top
}

// isGorls reports whether a .pt was written from another format with Values: everything else in it is tensors.
func isGorls(d *torchfile.Dict) bool {
	v, ok := d.Get(valuesKey)
	if !ok || d.Ordered {
		return false
	}
	if _, ok := fromPlain(v); !ok {
		return false
	}
	for k, v := range d.All() {
		_, isText := k.(string)
		if k != any(valuesKey) && k != any(metadataKey) && (!isText || !onlyTensors(v)) {
			return false
		}
	}
	return true
}

// onlyTensors reports whether v consists of plain tensors in plain dictionaries with texts as keys.
func onlyTensors(v any) bool {
	if t, ok := v.(*torchfile.Tensor); ok {
		return !t.Parameter && !t.RequiresGrad
	}
	d, ok := v.(*torchfile.Dict)
	if !ok || d.Ordered {
		return false
	}
	for k, x := range d.All() {
		if _, isText := k.(string); !isText || !onlyTensors(x) {
			return false
		}
	}
	return true
}

func readGorls(s *checkpoint.Snapshot, d *torchfile.Dict) error {
	for k, v := range d.All() {
		switch k {
		case valuesKey:
			plain, _ := fromPlain(v) // isGorls has checked that it can be read
			s.Values, _ = plain.(map[string]any)
		case metadataKey:
			s.Metadata = map[string]string{}
			m, ok := v.(*torchfile.Dict)
			if !ok {
				return fmt.Errorf("%q is not a dictionary", metadataKey)
			}
			for key, text := range m.All() {
				name, isName := key.(string)
				if s.Metadata[name], ok = text.(string); !ok || !isName {
					return fmt.Errorf("%q: %v is not a text", metadataKey, key)
				}
			}
		default:
			if _, err := describe(s, []string{keyName(k)}, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// toPlain and fromPlain convert the lists and maps of Values to those of a .pt and back.
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

func fromPlain(v any) (plain any, ok bool) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
		return v, true
	case *torchfile.List:
		list := []any{}
		for _, x := range v.Items {
			item, ok := fromPlain(x)
			if !ok {
				return nil, false
			}
			list = append(list, item)
		}
		return list, true
	case *torchfile.Dict:
		m := map[string]any{}
		for k, x := range v.All() {
			item, ok := fromPlain(x)
			name, isText := k.(string)
			if !ok || !isText {
				return nil, false
			}
			m[name] = item
		}
		return m, true
	}
	return nil, false
}

func keyName(k any) string {
	if n, ok := k.(int64); ok {
		return strconv.FormatInt(n, 10)
	}
	return k.(string)
}
