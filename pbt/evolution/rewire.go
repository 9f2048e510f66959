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
	"github.com/gorl-dev/gorl/models"
)

// Preserve says how weights are carried over an edit of the architecture.
type Preserve string

const (
	// PreserveFunction is the default. It makes a network that computes what the old one did: new nodes begin without outgoing
	// weights, new layers as the identity. What shrinks loses the nodes that matter least, and of a layer that goes the
	// first-order part stays. Optimizer moments go with the weights they belong to. First moments of new weights are
	// zero; second ones begin at the mean of their layer's, because zeros would make the first steps several times too
	// long: Adam's correction for young moments counts all steps of the optimizer.
	PreserveFunction Preserve = "function"
	// PreserveOverlap copies the leading block that old and new weights of a name have in common and draws the rest
	// anew, and begins with fresh optimizers: AgileRL's way. Rewire makes the moments of its network zero; [Edit] resets
	// all optimizers.
	PreserveOverlap Preserve = "overlap"
)

// Rewire returns the arrays of a snapshot after an edit of one network's architecture. prefix is the network's in the
// snapshot, with a slash ("policy/"); from is its architecture before, to and done what [models.Architecture.Apply]
// returned. Arrays of other networks are shared with the snapshot given, which is not changed. rng draws the initial
// values of new weights.
func Rewire(arrays map[string]checkpoint.Array, prefix string, from, to models.Architecture, done models.Edit, how Preserve, rng *rand.Rand) (map[string]checkpoint.Array, error) {
	if how != PreserveFunction && how != PreserveOverlap {
		return nil, fmt.Errorf("evolution: there is no way %q to preserve weights; want %q or %q", how, PreserveFunction, PreserveOverlap)
	}
	out := maps.Clone(arrays)
	w := wiring{from: from, to: to, edit: done, rng: rng, dropped: map[string][]int{}}
	// Parameters first: which nodes go is decided by them, and the moments follow.
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
			layers = w.overlap(layers)
		} else if err := w.function(layers); err != nil {
			return nil, err
		}
		for name, m := range layers {
			out[s.prefix+name] = m.array()
		}
	}
	return out, nil
}

// holding is what arrays under a prefix are of a network's parameters.
type holding int

const (
	values  holding = iota
	firsts          // first moments
	seconds         // second moments
)

type scope struct {
	prefix string
	holds  holding
}

// scopesOf lists where a snapshot has arrays of a network's parameters: the parameters themselves, then the moments of
// optimizers.
func scopesOf(arrays map[string]checkpoint.Array, prefix string) []scope {
	scopes := []scope{{prefix, values}}
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		for infix, holds := range map[string]holding{layout.ExpAvg("", ""): firsts, layout.ExpAvgSq("", ""): seconds} {
			if i := strings.Index(name, infix+prefix); i >= 0 {
				if s := (scope{name[:i] + infix + prefix, holds}); !slices.Contains(scopes, s) {
					scopes = append(scopes, s)
				}
			}
		}
	}
	return scopes
}

// load reads weights and biases of all layers of an architecture, by parameter name.
func load(arrays map[string]checkpoint.Array, scope string, a models.Architecture) (map[string]matrix, error) {
	layers := map[string]matrix{}
	for _, m := range a.Modules() {
		in := m.Inputs
		for i := 0; i <= len(m.Hidden); i++ {
			out := m.Outputs
			if i < len(m.Hidden) {
				out = m.Hidden[i]
			}
			for _, kind := range []string{".weight", ".bias"} {
				name := layer(m, i) + kind
				array, ok := arrays[scope+name]
				if !ok {
					return nil, fmt.Errorf("evolution: the snapshot has no %s%s, which the architecture %v has", scope, name, a)
				}
				x, err := read(array)
				if err != nil {
					return nil, fmt.Errorf("evolution: %s%s: %w", scope, name, err)
				}
				if out == 0 { // the head's outputs are not part of the architecture
					out = x.rows
				}
				if x.rows != out || x.vector != (kind == ".bias") || !x.vector && x.cols != in {
					return nil, fmt.Errorf("evolution: %s%s has shape %v, which is not that of the architecture %v", scope, name, array.Shape, a)
				}
				layers[name] = x
			}
			in = out
		}
	}
	return layers, nil
}

// layer names the i-th linear layer of a module; the one after the last hidden layer is its output.
func layer(m models.Module, i int) string {
	if i == len(m.Hidden) {
		return m.Name + ".out"
	}
	return fmt.Sprintf("%s.%d", m.Name, i)
}

// wiring carries out one edit.
type wiring struct {
	from, to models.Architecture
	edit     models.Edit
	rng      *rand.Rand
	holds    holding
	dropped  map[string][]int // the nodes that the parameters said to drop, by layer
}

// fresh draws as a new layer's weights are drawn: uniform in ±1/√inputs.
func (w *wiring) fresh(inputs int) func() float32 {
	bound := 1 / math.Sqrt(float64(inputs))
	return func() float32 { return float32((2*w.rng.Float64() - 1) * bound) }
}

// begin is what new entries beside those of m begin as: drawn, or zero, and second moments as the mean of m's.
func (w *wiring) begin(m matrix, drawn func() float32) func() float32 {
	x := float32(0)
	switch w.holds {
	case values:
		return drawn
	case seconds:
		x = m.mean()
	}
	return func() float32 { return x }
}

func none() float32 { return 0 }

func module(a models.Architecture, name string) models.Module {
	for _, m := range a.Modules() {
		if m.Name == name {
			return m
		}
	}
	return models.Module{}
}

// overlap returns what the new architecture has: leading blocks copied, the rest drawn, moments zero.
func (w *wiring) overlap(layers map[string]matrix) map[string]matrix {
	next := map[string]matrix{}
	for _, m := range w.to.Modules() {
		in := m.Inputs
		for i := 0; i <= len(m.Hidden); i++ {
			name := layer(m, i)
			out := m.Outputs
			if i < len(m.Hidden) {
				out = m.Hidden[i]
			} else if out == 0 {
				out = layers[name+".bias"].rows
			}
			for _, kind := range []string{".weight", ".bias"} {
				made := zeros(out, in, false)
				if kind == ".bias" {
					made = zeros(out, 1, true)
				}
				if w.holds == values {
					made.fill(w.fresh(in))
					made.overlay(layers[name+kind])
				}
				next[name+kind] = made
			}
			in = out
		}
	}
	return next
}
