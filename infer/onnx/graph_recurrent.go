package onnx

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/models/description"
)

// cells are ONNX's names of recurrent layers, and their gates in its order by their places in PyTorch's.
var cells = map[string]struct {
	op    string
	gates []int
}{
	description.RNN:  {"RNN", []int{0}},
	description.GRU:  {"GRU", []int{1, 0, 2}},     // update, reset, new; PyTorch has reset first
	description.LSTM: {"LSTM", []int{0, 3, 1, 2}}, // input, output, forget, cell
}

// recurrent adds a stack of recurrent layers on rows of the given width. Sequences have one step, or one for each
// frame; then no state is read or kept.
func (g *graph) recurrent(s description.Step, x string, width int) string {
	kind, layers, from := cells[s.Op], len(s.Weights)/4, g.from
	g.from += s.State()
	axis := g.integers(0)
	if s.Frames > 0 {
		width /= s.Frames
		x = g.node("Transpose", "", []string{g.reshape(x, -1, s.Frames, width)}, attribute("perm", []int{1, 0, 2}))
	} else {
		x = g.node("Unsqueeze", "", []string{x, axis})
	}
	var kept, cell []string // the states after the step
	for k := range layers {
		names := s.Weights[4*k : 4*k+4]
		initial := func(part int) string { // of h, or of an LSTM's c
			if s.Frames > 0 {
				return ""
			}
			at := from + (part*layers+k)*s.Outputs
			return g.node("Unsqueeze", "", []string{g.slice("hidden_in", at, at+s.Outputs), axis})
		}
		rows := len(kind.gates) * s.Outputs
		biases := slices.Concat(g.ordered(names[2], kind.gates), g.ordered(names[3], kind.gates))
		in := []string{x,
			g.floats(arrayName(names[0])+"/"+kind.op, g.ordered(names[0], kind.gates), 1, rows, width),
			g.floats(arrayName(names[1])+"/"+kind.op, g.ordered(names[1], kind.gates), 1, rows, s.Outputs),
			g.floats(arrayName(names[2]+"+"+names[3])+"/"+kind.op, biases, 1, 2*rows), "", initial(0)}
		attributes := []message{attribute("hidden_size", s.Outputs)}
		t := fmt.Sprintf("t%d", len(g.nodes))
		out := []string{t + ".all", t + ".h"}
		switch s.Op {
		case description.GRU:
			attributes = append(attributes, attribute("linear_before_reset", 1))
		case description.LSTM:
			in, out = append(in, initial(1)), append(out, t+".c")
		}
		g.operation(kind.op, out, in, attributes...)
		kept = append(kept, g.node("Squeeze", "", []string{t + ".h", axis}))
		if s.Op == description.LSTM && s.Frames == 0 {
			cell = append(cell, g.node("Squeeze", "", []string{t + ".c", axis}))
		}
		if k < layers-1 { // (steps, 1, rows, values)
			x = g.node("Squeeze", "", []string{t + ".all", g.integers(1)})
		}
		width = s.Outputs
	}
	if s.Frames == 0 {
		g.states = slices.Concat(g.states, kept, cell)
	}
	return kept[layers-1]
}

// ordered is an array of the policy whose gates are in ONNX's order.
func (g *graph) ordered(name string, gates []int) []float32 {
	v := g.p.Float32s(name)
	var out []float32
	for _, i := range gates {
		n := len(v) / len(gates)
		out = append(out, v[i*n:(i+1)*n]...)
	}
	return out
}
