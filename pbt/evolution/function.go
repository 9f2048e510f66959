package evolution

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// function changes layers, which hold one group of arrays, as [PreserveFunction] says. It is called for the parameters
// first, then for each group of moments. A new activation changes no arrays.
func (w *wiring) function(layers map[string]matrix) error {
	var m models.Module // stays empty for the latent and for activations, which belong to no module
	for _, each := range w.from.Modules() {
		if each.Name == w.edit.Module {
			m = each
		}
	}
	chain, at := m.Layers(), w.edit.Layer
	switch w.edit.Kind {
	case models.SetActivation:
	case models.AddNode:
		w.widen(layers, chain[at].Name, chain[at+1].Name, m.Hidden[at])
	case models.RemoveNode:
		w.narrow(layers, chain[at].Name, chain[at+1].Name, 0)
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

// widen adds w.edit.Nodes nodes at the end of the layer name. Their incoming weights and biases are drawn. The layer
// reader, which reads them, gets columns of zeros for them before column at. The new nodes therefore add nothing to
// what the network computes; their outgoing weights have a gradient, and learning makes use of them.
func (w *wiring) widen(layers map[string]matrix, name, reader string, at int) {
	n, weight, bias, next := w.edit.Nodes, layers[name+".weight"], layers[name+".bias"], layers[reader+".weight"]
	drawn := w.fresh(weight.cols)
	layers[name+".weight"] = weight.insertRows(weight.rows, n, w.begin(weight, drawn))
	layers[name+".bias"] = bias.insertRows(bias.rows, n, w.begin(bias, drawn))
	layers[reader+".weight"] = next.insertColumns(at, n, w.begin(next, nil))
}

// narrow drops w.edit.Nodes nodes of the layer name: those whose outgoing weights, in the columns of the layer reader
// from offset on, have the smallest sum of sizes, because without them the network changes least. (AgileRL drops the
// last nodes.) Nodes that widen added and that have not learned yet have a sum of zero, so narrow undoes widen.
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

// latent widens or narrows the encoding of every part, and with it the input of the head's first layer, which reads
// the encodings side by side. It goes from the last part to the first, so that the columns of parts yet to come stay
// in place.
func (w *wiring) latent(layers map[string]matrix) {
	modules := w.from.Modules() // the encoder of every part, then the head
	encoders := len(modules) - 1
	head := modules[encoders].Layers()[0].Name
	for i, m := range slices.Backward(modules[:encoders]) {
		name := m.Name + ".out"
		if w.edit.Kind == models.AddLatentNode {
			w.widen(layers, name, head, (i+1)*w.from.Latent)
		} else {
			w.narrow(layers, name, head, i*w.from.Latent)
		}
	}
}

// identity adds a hidden layer before the output of module m that passes on what it reads: its weight is the identity
// matrix, and its bias lifts all inputs by a shift to where its activation is the identity (models.IdentityAfter).
// The output layer's bias takes the shift back: out.bias − out.weight·shift. The output layer keeps its weights, so
// that its moments stay right, too.
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
		weight.fill(w.begin(out, nil))
		bias.fill(w.begin(layers[m.Name+".out.bias"], nil))
	}
	name := fmt.Sprintf("%s.%d", m.Name, n)
	layers[name+".weight"], layers[name+".bias"] = weight, bias
}

// compose drops the last hidden layer of module m. The output layer then reads the layer before it, through the dropped
// layer as if its activation were the straight line slope·x + offset:
//
//	out.weight' = out.weight · slope · inner.weight
//	out.bias'   = out.bias + out.weight · (slope · inner.bias + offset)
//
// This undoes identity. The product's weights are new to the optimizer, so their moments begin anew. (AgileRL keeps the
// output layer's weights, which then read other inputs than they learned on.)
func (w *wiring) compose(layers map[string]matrix, m models.Module) {
	n := len(m.Hidden) - 1
	last, out := m.Layers()[n].Name, m.Name+".out"
	inner, bias, outer := layers[last+".weight"], layers[last+".bias"], layers[out+".weight"]
	if w.holds == values {
		slope, offset := tangent(m.Activations[n])
		reaches := zeros(bias.rows, 1, true)
		for i, b := range bias.data {
			reaches.data[i] = slope*b + offset
		}
		layers[out+".bias"] = layers[out+".bias"].plus(outer.times(reaches), 1)
		layers[out+".weight"] = outer.times(inner).scaled(slope)
	} else {
		fresh := zeros(outer.rows, inner.cols, false)
		fresh.fill(w.begin(outer, nil))
		layers[out+".weight"] = fresh
	}
	delete(layers, last+".weight")
	delete(layers, last+".bias")
}

// tangent returns the straight line that stands for an activation when its layer is dropped: the tangent at zero for
// smooth ones whose tangent is not the identity, and the identity for all others, which include those of added layers.
func tangent(activation string) (slope, offset float32) {
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
