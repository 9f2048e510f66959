package onnx

import (
	"encoding/binary"
	"fmt"

	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/models/description"
)

// graph is a model's graph in the making.
type graph struct {
	p            *infer.Policy
	d            description.Policy
	nodes        []message
	initializers []message
	outputs      []message
	named        map[string]string // constants by what they are
	taken        map[string]bool   // their names
	widths       []int             // of the row and of every step's result
	results      []string          // their names
	from         int               // how many columns of the states recurrent steps have read
	states       []string          // the states after the step, in order
}

func newGraph(p *infer.Policy) *graph {
	return &graph{p: p, d: p.Describe(), named: map[string]string{}, taken: map[string]bool{}}
}

// encode returns the graph.
func (g *graph) encode(name string) message {
	var m message
	for _, n := range g.nodes {
		m.bytes(graphNode, n)
	}
	m.text(graphName, name)
	for _, t := range g.initializers {
		m.bytes(graphInitializer, t)
	}
	m.bytes(graphInput, value("observations", elementFloat, g.d.Network.Inputs))
	if n := g.p.HiddenSize(); n > 0 {
		m.bytes(graphInput, value("hidden_in", elementFloat, n))
	}
	if g.d.ActionMask {
		m.bytes(graphInput, value("action_mask", elementFloat, g.d.Action.Outputs()))
	}
	for _, v := range g.outputs {
		m.bytes(graphOutput, v)
	}
	return m
}

// node adds an operation with one output and returns the output's name.
func (g *graph) node(op, output string, inputs []string, attributes ...message) string {
	if output == "" {
		output = fmt.Sprintf("t%d", len(g.nodes))
	}
	g.operation(op, []string{output}, inputs, attributes...)
	return output
}

// operation adds an operation with named outputs. An input or output without a name is left out.
func (g *graph) operation(op string, outputs, inputs []string, attributes ...message) {
	var m message
	for _, in := range inputs {
		m.text(nodeInput, in)
	}
	for _, out := range outputs {
		m.text(nodeOutput, out)
	}
	m.text(nodeName, fmt.Sprintf("%s_%d", op, len(g.nodes)))
	m.text(nodeOp, op)
	for _, a := range attributes {
		m.bytes(nodeAttribute, a)
	}
	g.nodes = append(g.nodes, m)
}

// floats adds a constant; without a shape it is a scalar. A name already given is not added again.
func (g *graph) floats(name string, data []float32, shape ...int) string {
	raw, _ := binary.Append(nil, binary.LittleEndian, data) // a slice of numbers always has a form
	return g.constant(name, elementFloat, raw, shape)
}

func (g *graph) integers(data ...int) string {
	raw := make([]byte, 0, 8*len(data))
	for _, x := range data {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(x))
	}
	return g.constant("", elementInt64, raw, []int{len(data)})
}

func (g *graph) constant(name string, element int64, raw []byte, shape []int) string {
	key := fmt.Sprint(name, element, shape)
	if name == "" {
		key += string(raw)
	}
	if known, ok := g.named[key]; ok {
		return known
	}
	switch {
	case name == "":
		name = fmt.Sprintf("c%d", len(g.initializers))
	case g.taken[name]: // an array that is used in two shapes
		name = fmt.Sprint(name, shape)
	}
	g.named[key], g.taken[name] = name, true
	g.initializers = append(g.initializers, constant(name, element, raw, shape...))
	return name
}

func (g *graph) scalar(x float64) string { return g.floats("", []float32{float32(x)}) }

// output declares one of the model's outputs.
func (g *graph) output(name string, element int64, width int) {
	g.outputs = append(g.outputs, value(name, element, width))
}

// build makes transforms, normalizer, network and distribution.
func (g *graph) build() (err error) {
	if g.widths, err = g.d.Network.Widths(); err != nil {
		return fmt.Errorf("onnx: %w", err)
	}
	row := "observations"
	for i, t := range g.p.Transforms() {
		if n := len(t.Mean); n > 0 {
			mean, deviation := number.Float32s(nil, t.Mean), number.Float32s(nil, t.Deviation)
			row = g.node("Sub", "", []string{row, g.floats(fmt.Sprintf("transform%d.mean", i), mean, n)})
			row = g.node("Div", "", []string{row, g.floats(fmt.Sprintf("transform%d.deviation", i),
				deviation, n)})
		}
		if t.Low < t.High {
			row = g.node("Clip", "", []string{row, g.scalar(float64(t.Low)), g.scalar(float64(t.High))})
		}
	}
	if mean, deviation, clip := g.p.Normalizer(); mean != nil {
		row = g.node("Sub", "", []string{row, g.floats("normalizer.mean", mean, len(mean))})
		row = g.node("Div", "", []string{row, g.floats("normalizer.deviation", deviation, len(deviation))})
		row = g.node("Clip", "", []string{row, g.scalar(-float64(clip)), g.scalar(float64(clip))})
	}
	g.results = []string{row}
	for i := range g.d.Network.Steps {
		name, err := g.step(i)
		if err != nil {
			return fmt.Errorf("onnx: step %d: %w", i+1, err)
		}
		g.results = append(g.results, name)
	}
	if len(g.states) > 0 {
		g.node("Concat", "hidden_out", g.states, attribute("axis", 1))
		defer g.output("hidden_out", elementFloat, g.p.HiddenSize())
	}
	out := g.results[len(g.results)-1]
	if g.d.Distribution.Kind == description.Categorical {
		g.choose(out)
		return nil
	}
	g.move(out)
	return nil
}

// move ends the graph of a Box action space.
func (g *graph) move(out string) {
	d, n := g.d.Distribution, g.d.Action.Width()
	all := out
	if d.StateDependentLogStd {
		out = g.slice(all, 0, n)
	}
	mean := out
	if d.ClipMean {
		mean = g.limit(out, "")
	}
	g.output("actions", elementFloat, n)
	if d.ClipActions {
		g.limit(out, "actions")
	} else {
		g.node("Identity", "actions", []string{mean})
	}
	if d.Kind != description.Gaussian {
		return
	}
	g.node("Identity", "mean", []string{mean})
	switch {
	case !d.StateDependentLogStd:
		shape := g.node("Shape", "", []string{"mean"})
		g.node("Expand", "log_std", []string{g.floats("log_std_parameter", g.p.LogStd(), n), shape})
	case d.ClipLogStd:
		g.node("Clip", "log_std", []string{g.slice(all, n, 2*n), g.scalar(d.MinLogStd), g.scalar(d.MaxLogStd)})
	default:
		g.node("Identity", "log_std", []string{g.slice(all, n, 2*n)})
	}
	g.output("mean", elementFloat, n)
	g.output("log_std", elementFloat, n)
}

// limit keeps rows within the action space.
func (g *graph) limit(x, output string) string {
	a := g.d.Action
	x = g.node("Max", "", []string{x, g.floats("action_space.low", a.Low, len(a.Low))})
	return g.node("Min", output, []string{x, g.floats("action_space.high", a.High, len(a.High))})
}

// choose ends the graph of a discrete action space.
func (g *graph) choose(out string) {
	nvec := g.d.Action.NVec
	axis := attribute("axis", 1)
	g.node("Identity", "logits", []string{out})
	if g.d.ActionMask {
		allowed := g.node("Greater", "", []string{"action_mask", g.scalar(0.5)})
		out = g.node("Where", "", []string{allowed, out, g.scalar(description.MaskedLogit)})
	}
	var choices, probabilities []string
	at := 0
	for _, n := range nvec {
		part := out
		if len(nvec) > 1 {
			part = g.slice(out, at, at+n)
		}
		at += n
		choices = append(choices, g.node("ArgMax", "", []string{part}, axis, attribute("keepdims", 1)))
		probabilities = append(probabilities, g.node("Softmax", "", []string{part}, axis))
	}
	g.node("Concat", "actions", choices, axis)
	g.node("Concat", "probabilities", probabilities, axis)
	g.output("actions", elementInt64, len(nvec))
	g.output("logits", elementFloat, at)
	g.output("probabilities", elementFloat, at)
}

// slice takes columns.
func (g *graph) slice(x string, from, to int) string {
	return g.node("Slice", "", []string{x, g.integers(from), g.integers(to), g.integers(1)})
}
