package models

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Values is the architecture as a tree of plain values with the names of its JSON form, as snapshots hold it.
func (a Architecture) Values() map[string]any {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // texts and numbers only
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		panic(err)
	}
	return integers(tree).(map[string]any)
}

// integers turns numbers as JSON writes them into int64, and leaves out what is null.
func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if v[k] = integers(x); x == nil { // no hidden layers
				delete(v, k)
			}
		}
	case []any:
		for i, x := range v {
			v[i] = integers(x)
		}
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			panic(err) // widths are whole numbers
		}
		return n
	}
	return v
}

// ArchitectureOfValues reads what [Architecture.Values] returned, also after it has been through a file. Unknown names
// and whatever Validate refuses are errors.
func ArchitectureOfValues(v any) (Architecture, error) {
	var a Architecture
	text, err := json.Marshal(v)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&a)
	}
	if err != nil {
		return a, fmt.Errorf("models: an architecture in a snapshot: %w", err)
	}
	return a, a.Validate()
}

// Shaped is implemented by networks that have an [Architecture].
type Shaped interface {
	Architecture() Architecture
}

// ArchitectureOf returns the architecture of a network, or of the network of a [Stochastic] policy, and whether it has one.
func ArchitectureOf(x any) (a Architecture, ok bool) {
	if p, is := x.(*Stochastic); is {
		x = p.Net
	}
	s, ok := x.(Shaped)
	if !ok {
		return a, false
	}
	return s.Architecture(), true
}
