// Package torchfile reads and writes PyTorch's .pt files.
//
// A .pt file is a zip archive of a pickle, which describes the values, and of storages, which hold the numbers. In
// Python a pickle is a program that may call anything. This package reads it by a machine that builds plain values and
// tensors and nothing else. A file that asks for more is refused with an [Error] of the kind [Hostile]: the error names
// what the file asked for, and no part of the file is used.
//
// [Read] returns and [Write] takes nil, bool, int64, float64, string, []byte, [Tuple], *[List], *[Dict], and a
// checkpoint.Array for a tensor. Scalars of NumPy are read as numbers, a torch.Size as a tuple, a torch.dtype and a
// torch.device as their names.
//
// Reading order: this file is the values, read.go the archive, machine.go the pickle's machine, containers.go and
// literals.go its values, globals.go, rebuild.go, tensor.go and numpy.go the calls that it knows. write.go and
// encode.go are the other way.
package torchfile

import (
	"fmt"
	"iter"
)

// Tuple is a Python tuple.
type Tuple []any

// List is a Python list. Values hold a pointer to it, as in Python.
type List struct {
	Items []any
}

// Dict is a Python dict, with its keys in order. Keys are strings or int64.
type Dict struct {
	// Ordered is true for a collections.OrderedDict, such as a module's state_dict.
	Ordered bool

	keys   []any
	values map[any]any
}

// NewDict returns a dict of alternating keys and values. It panics if a key is neither a string nor an integer.
func NewDict(keysAndValues ...any) *Dict {
	d := &Dict{}
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		d.Set(keysAndValues[i], keysAndValues[i+1])
	}
	return d
}

// NewOrderedDict is NewDict for a collections.OrderedDict.
func NewOrderedDict(keysAndValues ...any) *Dict {
	d := NewDict(keysAndValues...)
	d.Ordered = true
	return d
}

// Len returns the number of keys.
func (d *Dict) Len() int { return len(d.keys) }

// Get returns the value of a key, a string or an integer.
func (d *Dict) Get(key any) (value any, ok bool) {
	value, ok = d.values[plainKey(key)]
	return value, ok
}

// Set changes the value of a key, or appends the key. It panics if the key is neither a string nor an integer.
func (d *Dict) Set(key, value any) {
	key = plainKey(key)
	switch key.(type) {
	case string, int64:
	default:
		panic(fmt.Sprintf("torchfile: a dict's key is a %T; want a string or an integer", key))
	}
	if _, known := d.values[key]; !known {
		d.keys = append(d.keys, key)
	}
	if d.values == nil {
		d.values = map[any]any{}
	}
	d.values[key] = value
}

func plainKey(key any) any {
	if n, ok := key.(int); ok {
		return int64(n)
	}
	return key
}

// All visits keys and values in order. A key is a string or an int64.
func (d *Dict) All() iter.Seq2[any, any] {
	return func(yield func(key, value any) bool) {
		for _, k := range d.keys {
			if !yield(k, d.values[k]) {
				return
			}
		}
	}
}
