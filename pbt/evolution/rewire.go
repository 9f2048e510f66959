package evolution

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/models"
)

// Preserve says how weights are carried over an edit of the architecture.
type Preserve string

const (
	// PreserveFunction, the default, makes a network that computes what the old one did: new nodes begin without outgoing
	// weights, new layers as the identity. What shrinks loses the nodes that matter least. Optimizer moments go with
	// the weights they belong to; those of new weights begin at zero.
	PreserveFunction Preserve = "function"
	// PreserveOverlap copies the leading block that old and new weights of a name have in common and draws the rest
	// anew, and begins with fresh optimizers: AgileRL's way.
	PreserveOverlap Preserve = "overlap"
)

// Rewire returns the arrays of a snapshot after an edit of one network's architecture. prefix is the network's in the
// snapshot, with a slash ("policy/"); from is its architecture before, done what Apply said was done. Arrays of other
// networks are shared with the snapshot given, which is not changed. rng draws the initial values of new weights.
func Rewire(arrays map[string]checkpoint.Array, prefix string, from, to models.Architecture, done models.Edit, how Preserve, rng *rand.Rand) (map[string]checkpoint.Array, error) {
	out := make(map[string]checkpoint.Array, len(arrays))
	for name, a := range arrays {
		out[name] = a
	}
	// Parameters first: which nodes go is decided by them, and the moments follow.
	scopes := scopesOf(arrays, prefix)
	if len(scopes) == 0 || scopes[0] != prefix {
		return nil, fmt.Errorf("evolution: the snapshot has no parameters of %q", prefix)
	}
	w := wiring{from: from, to: to, edit: done, rng: rng}
	for _, scope := range scopes {
		layers, err := load(arrays, scope, from)
		if err != nil {
			return nil, err
		}
		for name := range layers {
			delete(out, scope+name)
		}
		moments := scope != prefix
		var next map[string]matrix
		if how == PreserveOverlap {
			next = w.overlap(layers, moments)
		} else if next, err = w.function(layers, moments); err != nil {
			return nil, err
		}
		for name, m := range next {
			out[scope+name] = m.array()
		}
	}
	return out, nil
}

// scopesOf lists the prefixes under which the snapshot has arrays of the network's parameters: the parameters', then
// those of optimizer moments, sorted.
func scopesOf(arrays map[string]checkpoint.Array, prefix string) []string {
	var scopes []string
	for name := range arrays {
		i := strings.LastIndex(name, prefix)
		if i < 0 || i > 0 && !strings.Contains(name[:i], "exp_avg") {
			continue
		}
		if scope := name[:i] + prefix; !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	slices.SortFunc(scopes, func(a, b string) int {
		if a == prefix || b == prefix {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return scopes
}

// load reads weights and biases of all layers of an architecture, by parameter name.
func load(arrays map[string]checkpoint.Array, scope string, a models.Architecture) (map[string]matrix, error) {
	layers := map[string]matrix{}
	for _, m := range a.Modules() {
		for i := 0; i <= len(m.Hidden); i++ {
			for _, kind := range []string{".weight", ".bias"} {
				name := layer(m, i) + kind
				array, ok := arrays[scope+name]
				if !ok {
					return nil, fmt.Errorf("evolution: the snapshot has no %s%s, which the architecture %v has", scope, name, a)
				}
				var err error
				if layers[name], err = read(array); err != nil {
					return nil, fmt.Errorf("evolution: %s%s: %w", scope, name, err)
				}
			}
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
	dropped  map[string][]int // the nodes that the parameters said to drop, by layer
}

func none() float32 { return 0 }

// fresh draws as a new layer's weights are drawn: uniform in ±1/√inputs.
func (w *wiring) fresh(inputs int) func() float32 {
	bound := 1 / math.Sqrt(float64(inputs))
	return func() float32 { return float32((2*w.rng.Float64() - 1) * bound) }
}

func module(a models.Architecture, name string) models.Module {
	for _, m := range a.Modules() {
		if m.Name == name {
			return m
		}
	}
	return models.Module{}
}

// function changes layers such that the network computes the same where it grew. Moments are zero where weights are new.
func (w *wiring) function(layers map[string]matrix, moments bool) (map[string]matrix, error) {
	m := module(w.from, w.edit.Module)
	switch w.edit.Kind {
	case models.SetActivation:
	case models.AddNode:
		at := m.Hidden[w.edit.Layer]
		w.widen(layers, layer(m, w.edit.Layer), w.edit.Nodes, moments, columns{layer(m, w.edit.Layer+1), []int{at}})
	case models.RemoveNode:
		w.narrow(layers, layer(m, w.edit.Layer), layer(m, w.edit.Layer+1), 0, m.Hidden[w.edit.Layer], w.edit.Nodes)
	case models.AddLatentNode, models.RemoveLatentNode:
		w.latent(layers, moments)
	case models.AddLayer:
		w.identity(layers, m, moments)
	case models.RemoveLayer:
		w.compose(layers, m, moments)
	default:
		return nil, fmt.Errorf("evolution: no weights follow an edit of kind %q", w.edit.Kind)
	}
	return layers, nil
}

// columns are places in a layer's weight where columns are inserted.
type columns struct {
	layer string
	at    []int
}

// widen adds n nodes at the end of a layer; the layer that reads them gets columns of zeros.
func (w *wiring) widen(layers map[string]matrix, name string, n int, moments bool, reads columns) {
	weight, bias := layers[name+".weight"], layers[name+".bias"]
	value := w.fresh(weight.cols)
	if moments {
		value = none
	}
	layers[name+".weight"] = weight.insertRows(weight.rows, n, value)
	layers[name+".bias"] = bias.insertRows(bias.rows, n, value)
	next := layers[reads.layer+".weight"]
	for _, at := range slices.Backward(reads.at) { // from behind, so that places stay where they are
		next = next.insertColumns(at, n, none)
	}
	layers[reads.layer+".weight"] = next
}

// narrow drops the n nodes of a layer that matter least: whose outgoing weights, in columns from offset on, are smallest
// in sum.
func (w *wiring) narrow(layers map[string]matrix, name, reader string, offset, width, n int) {
	next := layers[reader+".weight"]
	drop, known := w.dropped[name]
	if !known { // the parameters, which come first
		sums := make([]float64, width)
		order := make([]int, width)
		for c := range width {
			order[c] = c
			for r := range next.rows {
				sums[c] += math.Abs(float64(next.at(r, offset+c)))
			}
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case sums[a] < sums[b]:
				return -1
			case sums[a] > sums[b]:
				return 1
			}
			return 0
		})
		drop = order[:n]
		if w.dropped == nil {
			w.dropped = map[string][]int{}
		}
		w.dropped[name] = drop
	}
	layers[name+".weight"] = layers[name+".weight"].withoutRows(drop)
	layers[name+".bias"] = layers[name+".bias"].withoutRows(drop)
	read := make([]int, len(drop))
	for i, c := range drop {
		read[i] = offset + c
	}
	layers[reader+".weight"] = next.withoutColumns(read)
}

// latent changes the width of every part's encoding, and the head's first layer with it.
func (w *wiring) latent(layers map[string]matrix, moments bool) {
	head := layer(module(w.from, "head"), 0)
	for i, p := range slices.Backward(w.from.Parts) { // from behind, so that offsets stay true
		m := module(w.from, "encoder."+p.Name)
		name := layer(m, len(m.Hidden))
		if w.edit.Kind == models.AddLatentNode {
			w.widen(layers, name, w.edit.Nodes, moments, columns{head, []int{(i + 1) * w.from.Latent}})
		} else {
			w.narrow(layers, name, head, i*w.from.Latent, w.from.Latent, w.edit.Nodes)
		}
	}
}

// shift is what an inserted layer adds to its inputs, so that its activation is the identity on them.
func shift(inserted, before string) float32 {
	switch strings.ToLower(inserted) {
	case "relu", "identity", "none", "":
		return 0
	case "leaky_relu": // outputs of a leaky layer reach below zero, a hundredth as far as its inputs
		return 10
	}
	if strings.EqualFold(before, "selu") { // which is above −1.76
		return 2
	}
	return 1 // outputs of elu, tanh, sigmoid, softsign, softplus, gelu and silu are above −1
}

// identity inserts a hidden layer before the output that passes its inputs on; what it adds to them the output layer
// subtracts.
func (w *wiring) identity(layers map[string]matrix, m models.Module, moments bool) {
	after := module(w.to, m.Name)
	n := len(after.Hidden) - 1
	width := after.Hidden[n]
	weight, bias := zeros(width, width, false), zeros(width, 1, true)
	if !moments {
		s := shift(after.Activations[n], m.Activations[n-1])
		for i := range width {
			weight.data[i*width+i], bias.data[i] = 1, s
		}
		out := m.Name + ".out"
		layers[out+".bias"] = layers[out+".bias"].plus(layers[out+".weight"].times(bias), -1)
	}
	layers[layer(after, n)+".weight"], layers[layer(after, n)+".bias"] = weight, bias
}

// compose drops the last hidden layer: the output layer reads the layer before it through the dropped one's weights, as
// if that had been linear, which undoes identity exactly.
func (w *wiring) compose(layers map[string]matrix, m models.Module, moments bool) {
	last, out := layer(m, len(m.Hidden)-1), m.Name+".out"
	weight, bias := layers[last+".weight"], layers[last+".bias"]
	if moments {
		layers[out+".weight"] = zeros(layers[out+".weight"].rows, weight.cols, false)
	} else {
		layers[out+".bias"] = layers[out+".bias"].plus(layers[out+".weight"].times(bias), 1)
		layers[out+".weight"] = layers[out+".weight"].times(weight)
	}
	delete(layers, last+".weight")
	delete(layers, last+".bias")
}

// overlap copies leading blocks.
func (w *wiring) overlap(layers map[string]matrix, moments bool) map[string]matrix {
	next := map[string]matrix{}
	for _, m := range w.to.Modules() {
		in := m.Inputs
		for i := 0; i <= len(m.Hidden); i++ {
			name := layer(m, i)
			out := m.Outputs
			if i < len(m.Hidden) {
				out = m.Hidden[i]
			} else if out == 0 { // the head's outputs are not part of the architecture
				out = layers[name+".bias"].rows
			}
			for _, kind := range []string{".weight", ".bias"} {
				cols, vector := in, kind == ".bias"
				if vector {
					cols = 1
				}
				made := zeros(out, cols, vector)
				if !moments {
					value := w.fresh(in)
					for j := range made.data {
						made.data[j] = value()
					}
					old := layers[name+kind]
					for r := range min(old.rows, made.rows) {
						copy(made.data[r*cols:r*cols+min(old.cols, cols)], old.data[r*old.cols:])
					}
				}
				next[name+kind] = made
			}
			in = out
		}
	}
	return next
}
