package evolution

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/models/description"
)

// Preserve says how weights are carried over an edit of the architecture.
type Preserve string

const (
	// PreserveFunction is the default. A network that grows computes what it did before: new nodes begin without
	// outgoing weights, a new layer begins as the identity. A network that shrinks changes as little as possible: the
	// nodes with the smallest outgoing weights go, and a dropped layer is replaced by its linear part.
	//
	// The optimizer's moments move with the weights that they belong to. New weights have first moments of zero, as
	// their gradients have no history. Their second moments begin at the mean of their layer's: zeros would make Adam
	// divide by almost nothing, as its correction for young moments counts the optimizer's steps, not the weight's.
	PreserveFunction Preserve = "function"
	// PreserveOverlap is AgileRL's way: it copies the leading rows and columns that old and new weights have in
	// common, draws the rest again, and begins with fresh optimizers. The network computes something else afterwards.
	// rewire makes the moments of the edited network zero; apply resets all optimizers.
	PreserveOverlap Preserve = "overlap"
)

// rewire returns the arrays of a snapshot after an edit of one network's architecture: its weights and biases, and
// the moments that belong to them. prefix is the network's name with a slash ("policy/"). from is its architecture
// before; to and done are what edit.apply returned. rng draws the values of new weights, uniformly in ±1/√inputs as a
// new layer's are drawn, of recurrent layers in ±1/√values. arrays is not changed, and arrays of other networks are
// shared with it.
//
// Arrays that are missing or do not have the shapes of from are errors that name them.
func rewire(arrays map[string]checkpoint.Array, prefix string, from, to description.Architecture, done edit,
	how Preserve, rng *rand.Rand) (map[string]checkpoint.Array, error) {
	out := maps.Clone(arrays)
	w := wiring{from: from, to: to, edit: done, rng: rng, dropped: map[string][]int{}}
	// Parameters come first: they decide which nodes are dropped, and the moments drop the same.
	for _, s := range scopesOf(arrays, prefix) {
		layers, err := load(arrays, s.prefix, from)
		if err != nil {
			return nil, err
		}
		for name := range layers {
			delete(out, s.prefix+name)
		}
		w.holds = s.holds
		if how == PreserveOverlap {
			if layers, err = w.overlap(layers); err != nil {
				return nil, err
			}
		} else if err := w.function(layers); err != nil {
			return nil, err
		}
		for name, m := range layers {
			out[s.prefix+name] = m.array()
		}
	}
	return out, nil
}

// holding is what a group of arrays holds for each of a network's parameters.
type holding int

const (
	values  holding = iota // the parameter itself
	firsts                 // its first moment in an optimizer
	seconds                // its second moment
)

// scope is a group of arrays with the same prefix before the names of a network's parameters.
type scope struct {
	prefix string
	holds  holding
}

// scopesOf lists the groups of a network's arrays in a snapshot: first the parameters, then the moments of each
// optimizer that trains it.
func scopesOf(arrays map[string]checkpoint.Array, prefix string) []scope {
	scopes := []scope{{prefix, values}}
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		optimizer, moment, parameter, ok := layout.CutMoment(name)
		if !ok || !strings.HasPrefix(parameter, prefix) {
			continue
		}
		s := scope{moment + prefix, firsts}
		if moment == layout.ExpAvgSq(optimizer, "") {
			s.holds = seconds
		}
		if !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// load reads the weights and biases of all layers of an architecture, or their moments, by parameter name.
func load(arrays map[string]checkpoint.Array, scope string, a description.Architecture) (map[string]matrix, error) {
	outputs := 1 // those of the network are not part of the architecture
	if bias := arrays[scope+"head.out.bias"]; len(bias.Shape) == 1 {
		outputs = int(bias.Shape[0])
	}
	wanted, err := a.Network(outputs, "").Arrays()
	if err != nil {
		return nil, fmt.Errorf("evolution: %s: %w", scope, err)
	}
	layers := map[string]matrix{}
	for _, want := range wanted {
		array, ok := arrays[scope+want.Name]
		if !ok {
			return nil, fmt.Errorf("evolution: the snapshot has no %s%s, which the architecture %v has", scope,
				want.Name, a)
		}
		if !slices.Equal(array.Shape, want.Shape) {
			return nil, fmt.Errorf("evolution: %s%s has shape %v, which is not that of the architecture %v", scope,
				want.Name, array.Shape, a)
		}
		if layers[want.Name], err = read(array); err != nil {
			return nil, fmt.Errorf("evolution: %s%s: %w", scope, want.Name, err)
		}
	}
	return layers, nil
}

// wiring applies one edit to the groups of arrays of a network, one after the other.
type wiring struct {
	from, to description.Architecture
	edit     edit
	rng      *rand.Rand
	holds    holding          // what the present group holds
	dropped  map[string][]int // the nodes to drop, by layer, as the parameters decided
}

// fresh returns a function that draws as a new layer's weights are drawn: uniformly in ±1/√inputs.
func (w *wiring) fresh(inputs int) func() float32 {
	bound := 1 / math.Sqrt(float64(inputs))
	return func() float32 { return float32((2*w.rng.Float64() - 1) * bound) }
}

// begin returns a function for the values of new entries of m: parameters as drawn says (nil means zero),
// first moments zero, second moments the mean of m's. See [PreserveFunction] for the reason.
func (w *wiring) begin(m matrix, drawn func() float32) func() float32 {
	if w.holds == values && drawn != nil {
		return drawn
	}
	x := float32(0)
	if w.holds == seconds {
		x = m.mean()
	}
	return func() float32 { return x }
}

// overlap returns the layers of the new architecture as [PreserveOverlap] says.
func (w *wiring) overlap(layers map[string]matrix) (map[string]matrix, error) {
	next := map[string]matrix{}
	arrays, err := w.to.Network(layers["head.out.bias"].rows, "").Arrays()
	if err != nil {
		return nil, fmt.Errorf("evolution: %w", err)
	}
	for _, a := range arrays {
		m := shaped(a.Shape, make([]float32, checkpoint.Array{Shape: a.Shape}.Len()))
		if old := layers[a.Name]; w.holds == values {
			m.fill(w.fresh(a.Fan))
			m.overlay(old, m.grid(), old.grid())
		}
		next[a.Name] = m
	}
	return next, nil
}
