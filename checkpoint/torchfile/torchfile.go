// Package torchfile reads and writes PyTorch's .pt files.
//
// Such a file is a zip archive of a pickle, which says what there is, and of storages, which hold the numbers. In
// Python a pickle is a program that may call anything. Here it is read by a machine that knows how to build plain
// values and tensors and nothing else: a file that asks for more is refused with an [Error] of the kind [Hostile] that
// names what it asked for, and nothing of it is used.
//
// What Read returns and Write takes is one of: nil, bool, int64, float64, string, []byte, [Tuple], *[List], *[Dict],
// *[Tensor], [DType], [Device] and [Size]. NumPy's scalars are read as numbers.
package torchfile

import (
	"fmt"
	"iter"
)

// Tuple is a Python tuple.
type Tuple []any

// List is a Python list. It is a pointer wherever it stands, as in Python.
type List struct {
	Items []any
}

// DType is a torch.dtype by its name in torch, e.g. "float32".
type DType string

// Device is a torch.device, e.g. "cpu" or "cuda:0".
type Device string

// Size is a torch.Size.
type Size []int64

// Dict is a Python dict: it remembers the order of its keys. Keys are strings or int64.
type Dict struct {
	// Ordered says that it is a collections.OrderedDict, as a module's state_dict is.
	Ordered bool
	// Attributes are an OrderedDict's own attributes (PyTorch keeps "_metadata" there), or nil.
	Attributes *Dict

	keys   []any
	values map[any]any
}

// NewDict returns a dict with the given keys and values in turn. It panics where a key is neither a string nor an
// integer.
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

// Len is the number of keys.
func (d *Dict) Len() int { return len(d.keys) }

// Get returns the value of a key, a string or an integer.
func (d *Dict) Get(key any) (value any, ok bool) {
	value, ok = d.values[plainKey(key)]
	return value, ok
}

// Set changes the value of a key, or puts it at the end. It panics where the key is neither a string nor an integer.
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
