package evolution

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/models/description"
)

// function changes layers, which hold one group of arrays, as [PreserveFunction] says. It is called for the parameters
// first, then for each group of moments. A new activation changes no arrays.
func (w *wiring) function(layers map[string]matrix) error {
	m := w.module(w.from)
	chain, at := m.Layers(), w.edit.Layer
	convolutions := len(m.Convolutions) > 0
	switch kind := w.edit.Kind; {
	case kind == ChangeActivation:
	case m.Recurrent.Kind != "" && kind == AddNode:
		w.remember(layers, m)
	case m.Recurrent.Kind != "" && kind == RemoveNode:
		w.forget(layers, m)
	case kind == AddNode:
		w.widen(layers, chain[at].Name, reader{chain[at+1].Name + ".weight", 0, 1}, m.Hidden[at])
	case kind == RemoveNode:
		w.narrow(layers, chain[at].Name, reader{chain[at+1].Name + ".weight", 0, 1})
	case kind == AddChannel:
		w.widen(layers, convolution(m, at), channels(m, at), m.Convolutions[at].Channels)
	case kind == RemoveChannel:
		w.narrow(layers, convolution(m, at), channels(m, at))
	case kind == ChangeKernel:
		w.kernel(layers, m)
	case kind == AddLatentNode || kind == RemoveLatentNode:
		w.latent(layers)
	case kind == AddLayer && convolutions:
		w.convolve(layers, m)
	case kind == RemoveLayer && convolutions:
		w.deconvolve(layers, m)
	case kind == AddLayer:
		w.identity(layers, m)
	case kind == RemoveLayer:
		w.compose(layers, m)
	default:
		return fmt.Errorf("evolution: no weights follow an edit of kind %q", w.edit.Kind)
	}
	return nil
}

// module returns the edited module of an architecture. It is empty for the latent and for activations, which belong to
// no module.
func (w *wiring) module(of description.Architecture) (m description.Module) {
	for _, each := range of.Modules() {
		if each.Name == w.edit.Module {
			m = each
		}
	}
	return m
}

// reader is a weight that reads the nodes of a layer: in columns from offset on, so many for each node.
type reader struct {
	weight       string
	offset, each int
}

// widen adds w.edit.Nodes nodes at the end of the layer name, which has n. Their incoming weights and biases are drawn.
// The layer that reads them gets columns of zeros for them. The new nodes therefore add nothing to what the network
// computes; their outgoing weights have a gradient, and learning makes use of them.
func (w *wiring) widen(layers map[string]matrix, name string, by reader, n int) {
	weight, bias := layers[name+".weight"], layers[name+".bias"]
	drawn := w.fresh(weight.cols)
	layers[name+".weight"] = weight.insertRows(weight.rows, w.edit.Nodes, w.begin(weight, drawn))
	layers[name+".bias"] = bias.insertRows(bias.rows, w.edit.Nodes, w.begin(bias, drawn))
	w.unread(layers, by, n)
}

// unread gives the weight that reads a layer of n nodes columns of zeros for w.edit.Nodes more.
func (w *wiring) unread(layers map[string]matrix, by reader, n int) {
	next := layers[by.weight]
	layers[by.weight] = next.insertColumns(by.offset+n*by.each, w.edit.Nodes*by.each, w.begin(next, nil))
}

// narrow drops w.edit.Nodes nodes of the layer name: those whose outgoing weights have the smallest sum of sizes,
// because without them the network changes least. (AgileRL drops the last nodes.) Nodes that widen added and that have
// not learned yet have a sum of zero, so narrow undoes widen.
func (w *wiring) narrow(layers map[string]matrix, name string, by reader) {
	bias := layers[name+".bias"]
	drop := w.least(layers, name, bias.rows, by)
	layers[name+".weight"] = layers[name+".weight"].withoutRows(drop)
	layers[name+".bias"] = bias.withoutRows(drop)
	layers[by.weight] = layers[by.weight].withoutColumns(by.columns(drop))
}

// least returns which w.edit.Nodes of a layer's n nodes have the smallest outgoing weights, of all readers together.
// Moments drop the nodes that the parameters decided on.
func (w *wiring) least(layers map[string]matrix, name string, n int, by ...reader) []int {
	if w.holds == values {
		sums, order := make([]float64, n), make([]int, n)
		for c := range n {
			order[c] = c
			for _, b := range by {
				next := layers[b.weight]
				for r := range next.rows {
					for _, column := range b.columns([]int{c}) {
						sums[c] += math.Abs(float64(next.at(r, column)))
					}
				}
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sums[a], sums[b]) })
		w.dropped[name] = order[:w.edit.Nodes]
	}
	return w.dropped[name]
}

// columns are those that read the given nodes.
func (r reader) columns(nodes []int) []int {
	var columns []int
	for _, c := range nodes {
		for k := range r.each {
			columns = append(columns, r.offset+c*r.each+k)
		}
	}
	return columns
}

// latent widens or narrows the encoding of every part, and with it the input of the recurrent layers or of the head's
// first layer, which read the encodings side by side. It goes from the last part to the first, so that the columns of
// parts yet to come stay in place.
func (w *wiring) latent(layers map[string]matrix) {
	modules := w.from.Modules() // the encoder of every part, then what reads them
	encoders := len(w.from.Parts)
	by := "memory.weight_ih_l0"
	if next := modules[encoders].Layers(); len(next) > 0 {
		by = next[0].Name + ".weight"
	}
	for i, m := range slices.Backward(modules[:encoders]) {
		name, columns := m.Name+".out", reader{by, i * w.from.Latent, 1}
		if w.edit.Kind == AddLatentNode {
			w.widen(layers, name, columns, w.from.Latent)
		} else {
			w.narrow(layers, name, columns)
		}
	}
}

// identity adds a hidden layer before the output of module m that passes on what it reads, see passOn.
func (w *wiring) identity(layers map[string]matrix, m description.Module) {
	n, out := len(m.Hidden), m.Name+".out"
	w.passOn(layers, fmt.Sprintf("%s.%d", m.Name, n), out, out, m.Hidden[n-1], 0, m.Activations[n-1])
}

// passOn adds a layer called name between one of so many outputs, whose activation is before, and the layer out. It
// passes on what it reads: its weight is the identity matrix, or every kernel 1 in its middle for its own channel and 0
// elsewhere, and its bias lifts all inputs by a shift to where its activation is the identity (identityAfter). The bias
// of out takes the shift back: out.bias − out.weight·shift. out keeps its weights, so that its moments stay right, too.
// The moments of the new layer begin as those of the layer like.
func (w *wiring) passOn(layers map[string]matrix, name, out, like string, outputs, kernel int, before string) {
	side := max(kernel, 1)
	weight, bias := zeros(outputs, outputs*side*side, form{kernel: kernel}), zeros(outputs, 1, form{vector: true})
	if w.holds == values {
		_, shift := identityAfter(before)
		for i := range outputs {
			weight.data[i*weight.cols+(i*side+side/2)*side+side/2], bias.data[i] = 1, float32(shift)
		}
		shifts := zeros(layers[out+".weight"].cols, 1, form{vector: true})
		shifts.fill(func() float32 { return float32(shift) })
		layers[out+".bias"] = layers[out+".bias"].plus(layers[out+".weight"].times(shifts), -1)
	} else {
		weight.fill(w.begin(layers[like+".weight"], nil))
		bias.fill(w.begin(layers[like+".bias"], nil))
	}
	layers[name+".weight"], layers[name+".bias"] = weight, bias
}

// compose drops the last hidden layer of module m, see bypass. (AgileRL keeps the output layer's weights, which then
// read other inputs than they learned on.)
func (w *wiring) compose(layers map[string]matrix, m description.Module) {
	n := len(m.Hidden) - 1
	last := m.Layers()[n].Name
	w.bypass(layers, last, m.Name+".out", m.Activations[n], 1, layers[last+".weight"].cols, matrix.times)
}

// bypass drops the layer last, each of whose outputs are so many pixels. The layer out, which read them, then reads
// what last did, so many columns, through last as if its activation were the straight line slope·x + offset:
//
//	out.weight' = out.weight · slope · last.weight
//	out.bias'   = out.bias + out.weight · (slope · last.bias + offset)
//
// product is the first of these products. This undoes passOn. The product's weights are new to the optimizer, so their
// moments start from zero.
func (w *wiring) bypass(layers map[string]matrix, last, out, activation string, pixels, columns int,
	product func(outer, inner matrix) matrix) {
	inner, bias, outer := layers[last+".weight"], layers[last+".bias"], layers[out+".weight"]
	if w.holds == values {
		slope, offset := tangent(activation)
		reaches := zeros(outer.cols, 1, form{vector: true})
		for i := range reaches.data {
			reaches.data[i] = slope*bias.data[i/pixels] + offset
		}
		layers[out+".bias"] = layers[out+".bias"].plus(outer.times(reaches), 1)
		layers[out+".weight"] = product(outer, inner).scaled(slope)
	} else {
		fresh := zeros(outer.rows, columns, form{})
		fresh.fill(w.begin(outer, nil))
		layers[out+".weight"] = fresh
	}
	delete(layers, last+".weight")
	delete(layers, last+".bias")
}

// tangent returns the straight line that stands for an activation when its layer is dropped: the tangent at zero for
// smooth ones whose tangent is not the identity, and the identity for all others, which include those of added layers.
func tangent(activation string) (slope, offset float32) {
	f, _ := description.ParseActivation(activation)
	switch f {
	case "sigmoid":
		return 0.25, 0.5
	case "softplus":
		return 0.5, math.Ln2
	case "gelu", "silu":
		return 0.5, 0
	}
	return 1, 0
}
