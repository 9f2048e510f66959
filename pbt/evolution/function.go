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
	n, convolutions := len(m.Hidden), len(m.Convolutions)
	switch kind := w.edit.Kind; {
	case kind == changeActivation:
	case kind == addLatentNode || kind == removeLatentNode:
		w.latent(layers)
	case m.Recurrent.Kind != "" && (kind == addNode || kind == removeNode):
		for k := range m.Recurrent.Layers {
			w.resize(layers, w.recurrent(m, k))
		}
	case kind == addNode || kind == removeNode:
		w.resize(layers, linear(layers, chain[at].Name, m.Hidden[at], reader{chain[at+1].Name + ".weight", 0, 1}))
	case kind == addChannel || kind == removeChannel:
		w.resize(layers, linear(layers, convolution(m, at), m.Convolutions[at].Channels, channels(m, at)))
	case kind == changeKernel:
		w.kernel(layers, m)
	case kind == addLayer && convolutions > 0:
		w.passOn(layers, convolution(m, convolutions), chain[0].Name, convolution(m, convolutions-1),
			m.Pictures[convolutions][0], w.module(w.to).Convolutions[convolutions].Kernel,
			m.Convolutions[convolutions-1].Activation)
	case kind == addLayer:
		out := m.Name + ".out"
		w.passOn(layers, fmt.Sprintf("%s.%d", m.Name, n), out, out, m.Hidden[n-1], 0, m.Activations[n-1])
	case kind == removeLayer && convolutions > 0:
		w.bypass(layers, convolution(m, convolutions-1), chain[0].Name, m.Convolutions[convolutions-1],
			m.Pictures[convolutions-1], m.Pictures[convolutions])
	case kind == removeLayer: // a linear layer is a convolution of one pixel
		last := chain[n-1].Name
		w.bypass(layers, last, m.Name+".out", description.Convolution{Stride: 1, Activation: m.Activations[n-1]},
			[3]int{layers[last+".weight"].cols, 1, 1}, [3]int{m.Hidden[n-1], 1, 1})
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

// nodes are the nodes of a layer, the channels of a convolution or the values of a recurrent layer.
type nodes struct {
	n      int
	rows   []string // the arrays with a row for each node, or in recurrent layers for each node of every gate
	inputs int      // of the layer, for drawing new weights
	by     []reader // the weights that read the nodes
}

// reader is a weight that reads the nodes of a layer: in columns from offset on, so many for each node.
type reader struct {
	weight       string
	offset, each int
}

// linear are the n nodes of a layer with a weight and a bias.
func linear(layers map[string]matrix, name string, n int, by reader) nodes {
	weight := name + ".weight"
	return nodes{n, []string{weight, name + ".bias"}, layers[weight].cols, []reader{by}}
}

// recurrent are the values of layer k of the recurrent layers, which the layer itself and the next one read.
func (w *wiring) recurrent(m description.Module, k int) nodes {
	name := func(part string, k int) string { return fmt.Sprintf("%s.%s_l%d", m.Name, part, k) }
	next := name("weight_ih", k+1)
	if k == m.Recurrent.Layers-1 {
		modules := w.from.Modules()
		next = modules[len(modules)-1].Layers()[0].Name + ".weight"
	}
	hidden := name("weight_hh", k)
	return nodes{m.Recurrent.HiddenSize,
		[]string{name("weight_ih", k), hidden, name("bias_ih", k), name("bias_hh", k)},
		m.Recurrent.HiddenSize + w.edit.Nodes, []reader{{next, 0, 1}, {hidden, 0, 1}}}
}

// resize adds w.edit.Nodes nodes, or drops them.
//
// New nodes come last, in every gate. Their incoming weights and biases are drawn, and what reads the nodes gets
// columns of zeros for them. The new nodes therefore add nothing to what the network computes, at no step of a
// sequence; their outgoing weights have a gradient, and learning makes use of them.
//
// The nodes that go are those whose outgoing weights have the smallest sum of sizes, because without them the network
// changes least. (AgileRL drops the last nodes.) Nodes that were added and that have not learned yet have a sum of
// zero, so dropping undoes adding.
func (w *wiring) resize(layers map[string]matrix, x nodes) {
	switch w.edit.Kind {
	case addNode, addChannel, addLatentNode:
		drawn := w.fresh(x.inputs)
		for _, name := range x.rows {
			before := layers[name]
			for gate := before.rows / x.n; gate > 0; gate-- { // the last first, so that the others stay in place
				layers[name] = layers[name].insertRows(gate*x.n, w.edit.Nodes, w.begin(before, drawn))
			}
		}
		for _, by := range x.by {
			next := layers[by.weight]
			layers[by.weight] = next.insertColumns(by.offset+x.n*by.each, w.edit.Nodes*by.each, w.begin(next, nil))
		}
		return
	}
	drop := w.least(layers, x)
	for _, name := range x.rows {
		var rows []int
		for gate := range layers[name].rows / x.n {
			for _, c := range drop {
				rows = append(rows, gate*x.n+c)
			}
		}
		layers[name] = layers[name].withoutRows(rows)
	}
	for _, by := range x.by {
		layers[by.weight] = layers[by.weight].withoutColumns(by.columns(drop))
	}
}

// least returns which w.edit.Nodes of the nodes have the smallest outgoing weights, of all readers together. Moments
// drop the nodes that the parameters decided on.
func (w *wiring) least(layers map[string]matrix, x nodes) []int {
	name := x.rows[0]
	if w.holds == values {
		sums, order := make([]float64, x.n), make([]int, x.n)
		for c := range x.n {
			order[c] = c
			for _, b := range x.by {
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
		w.resize(layers, linear(layers, m.Name+".out", w.from.Latent, reader{by, i * w.from.Latent, 1}))
	}
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
		shifts := slices.Repeat([]float32{float32(shift)}, layers[out+".weight"].cols)
		layers[out+".bias"] = layers[out+".bias"].plusProduct(-1, layers[out+".weight"], shifts)
	} else {
		weight.fill(w.begin(layers[like+".weight"], nil))
		bias.fill(w.begin(layers[like+".bias"], nil))
	}
	layers[name+".weight"], layers[name+".bias"] = weight, bias
}

// bypass drops the layer last, the convolution c, which turns pictures of size from into pictures of size to. The layer
// out, which read its pixels, then reads what last did, through last as if its activation were the straight line
// slope·x + offset:
//
//	out.weight' = out.weight · slope · last.weight
//	out.bias'   = out.bias + out.weight · (slope · last.bias + offset)
//
// The first product is the convolution's transpose. This undoes passOn. The product's weights are new to the
// optimizer, so their moments start from zero. (AgileRL keeps the weights of out, which then read other inputs than
// they learned on.)
func (w *wiring) bypass(layers map[string]matrix, last, out string, c description.Convolution, from, to [3]int) {
	inner, bias, outer := layers[last+".weight"], layers[last+".bias"], layers[out+".weight"]
	product := zeros(outer.rows, from[0]*from[1]*from[2], form{})
	if w.holds == values {
		slope, offset := float32(1), float32(0)
		f, _ := description.ParseActivation(c.Activation)
		if line, ok := tangents[f]; ok {
			slope, offset = line[0], line[1]
		}
		reaches := make([]float32, outer.cols)
		for i := range reaches {
			reaches[i] = slope*bias.data[i/(to[1]*to[2])] + offset
		}
		layers[out+".bias"] = layers[out+".bias"].plusProduct(1, outer, reaches)
		sums := make([]float64, product.cols)
		for r := range outer.rows {
			clear(sums)
			scatter(sums, outer.data[r*outer.cols:(r+1)*outer.cols], inner, c, from, to)
			for i, x := range sums {
				product.data[r*product.cols+i] = slope * float32(x)
			}
		}
	} else {
		product.fill(w.begin(outer, nil))
	}
	layers[out+".weight"] = product
	delete(layers, last+".weight")
	delete(layers, last+".bias")
}

// tangents are the straight lines, slope and offset, that stand for activations when their layers are dropped: the
// tangent at zero of smooth ones whose tangent is not the identity. The identity stands for all others, which include
// those of added layers.
var tangents = map[string][2]float32{"sigmoid": {0.25, 0.5}, "softplus": {0.5, math.Ln2}, "gelu": {0.5, 0},
	"silu": {0.5, 0}}
