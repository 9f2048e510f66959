package models

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/gorl-dev/gorl/models/description"
)

// Values is the architecture as a tree of plain values with the names of its JSON form, as snapshots hold it.
func (a Architecture) Values() map[string]any { return description.Tree(a) }

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

// ArchitectureOf returns the architecture of a network, or of the network of a [Stochastic] policy, and whether it has
// one.
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
