package evolution

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// function changes layers such that the network computes the same where it grew.
func (w *wiring) function(layers map[string]matrix) error {
	m := module(w.from, w.edit.Module)
	switch w.edit.Kind {
	case models.SetActivation:
	case models.AddNode:
		w.widen(layers, layer(m, w.edit.Layer), layer(m, w.edit.Layer+1), m.Hidden[w.edit.Layer])
	case models.RemoveNode:
		w.narrow(layers, layer(m, w.edit.Layer), layer(m, w.edit.Layer+1), 0)
	case models.AddLatentNode, models.RemoveLatentNode:
		w.latent(layers)
	case models.AddLayer:
		w.identity(layers, m)
	case models.RemoveLayer:
		w.compose(layers, m)
	default:
		return fmt.Errorf("evolution: no weights follow an edit of kind %q", w.edit.Kind)
	}
	return nil
}

// widen adds nodes at the end of a layer; the layer that reads them gets columns of zeros at the place given.
func (w *wiring) widen(layers map[string]matrix, name, reader string, at int) {
	n, weight, bias, next := w.edit.Nodes, layers[name+".weight"], layers[name+".bias"], layers[reader+".weight"]
	drawn := w.fresh(weight.cols)
	layers[name+".weight"] = weight.insertRows(weight.rows, n, w.begin(weight, drawn))
	layers[name+".bias"] = bias.insertRows(bias.rows, n, w.begin(bias, drawn))
	layers[reader+".weight"] = next.insertColumns(at, n, w.begin(next, none))
}

// narrow drops the nodes of a layer that matter least: whose outgoing weights, in columns from offset on, are smallest
// in sum.
func (w *wiring) narrow(layers map[string]matrix, name, reader string, offset int) {
	next, bias := layers[reader+".weight"], layers[name+".bias"]
	if w.holds == values {
		sums, order := make([]float64, bias.rows), make([]int, bias.rows)
		for c := range bias.rows {
			order[c] = c
			for r := range next.rows {
				sums[c] += math.Abs(float64(next.at(r, offset+c)))
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sums[a], sums[b]) })
		w.dropped[name] = order[:w.edit.Nodes]
	}
	drop := w.dropped[name]
	layers[name+".weight"] = layers[name+".weight"].withoutRows(drop)
	layers[name+".bias"] = bias.withoutRows(drop)
	columns := make([]int, len(drop))
	for i, c := range drop {
		columns[i] = offset + c
	}
	layers[reader+".weight"] = next.withoutColumns(columns)
}

// latent changes the width of every part's encoding, and the head's first layer with it.
func (w *wiring) latent(layers map[string]matrix) {
	head := layer(module(w.from, "head"), 0)
	for i, p := range slices.Backward(w.from.Parts) { // from behind, so that offsets stay true
		m := module(w.from, "encoder."+p.Name)
		name := layer(m, len(m.Hidden))
		if w.edit.Kind == models.AddLatentNode {
			w.widen(layers, name, head, (i+1)*w.from.Latent)
		} else {
			w.narrow(layers, name, head, i*w.from.Latent)
		}
	}
}

// identity inserts a hidden layer before the output that passes its inputs on; what it adds to them the output layer
// subtracts.
func (w *wiring) identity(layers map[string]matrix, m models.Module) {
	n := len(m.Hidden)
	width, out := m.Hidden[n-1], layers[m.Name+".out.weight"]
	weight, bias := zeros(width, width, false), zeros(width, 1, true)
	if w.holds == values {
		_, shift := models.IdentityAfter(m.Activations[n-1])
		for i := range width {
			weight.data[i*width+i], bias.data[i] = 1, float32(shift)
		}
		layers[m.Name+".out.bias"] = layers[m.Name+".out.bias"].plus(out.times(bias), -1)
	} else {
		weight.fill(w.begin(out, none))
		bias.fill(w.begin(layers[m.Name+".out.bias"], none))
	}
	name := layer(module(w.to, m.Name), n)
	layers[name+".weight"], layers[name+".bias"] = weight, bias
}

// compose drops the last hidden layer: the output layer reads the layer before it through the dropped one's weights, as
// if that had been linear, which undoes identity.
func (w *wiring) compose(layers map[string]matrix, m models.Module) {
	n := len(m.Hidden) - 1
	last, out := layer(m, n), m.Name+".out"
	inner, bias, outer := layers[last+".weight"], layers[last+".bias"], layers[out+".weight"]
	if w.holds == values {
		slope, offset := linear(m.Activations[n])
		reaches := zeros(bias.rows, 1, true) // what is left of the bias behind the activation
		for i, b := range bias.data {
			reaches.data[i] = slope*b + offset
		}
		layers[out+".bias"] = layers[out+".bias"].plus(outer.times(reaches), 1)
		layers[out+".weight"] = outer.times(inner).scaled(slope)
	} else {
		made := zeros(outer.rows, inner.cols, false)
		made.fill(w.begin(outer, none))
		layers[out+".weight"] = made
	}
	delete(layers, last+".weight")
	delete(layers, last+".bias")
}

// linear is the best straight line for an activation: the tangent at zero of smooth ones, and the identity for those
// that inserted layers have.
func linear(activation string) (slope, offset float32) {
	f, _ := tensor.ParseActivation(activation)
	switch f {
	case tensor.Sigmoid:
		return 0.25, 0.5
	case tensor.Softplus:
		return 0.5, math.Ln2
	case tensor.Gelu, tensor.Silu:
		return 0.5, 0
	}
	return 1, 0
}
