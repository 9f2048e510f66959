package onnx

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/models/description"
)

// combines are the operations that broadcast.
var combines = map[string]bool{description.Add: true, description.Sub: true, description.Mul: true,
	description.Div: true}

// simple are the operations that ONNX has, too.
var simple = map[string]string{
	description.Neg: "Neg", description.Exp: "Exp", description.Abs: "Abs", description.Sin: "Sin",
	description.Cos: "Cos",
	description.Add: "Add", description.Sub: "Sub", description.Mul: "Mul", description.Div: "Div",
}

// step adds the nodes of step i and returns the name of its result.
func (g *graph) step(i int) (string, error) {
	s := g.d.Network.Steps[i]
	var in []string
	for _, j := range g.d.Network.Sources(i) {
		in = append(in, g.results[j])
	}
	switch s.Op {
	case description.Linear:
		return g.linear(s, in[0], g.widths[g.d.Network.Sources(i)[0]])
	case description.Conv2d:
		return g.conv(s, in[0])
	case description.LayerNorm:
		return g.layerNorm(s, in[0], g.widths[i+1]), nil
	case description.Permute:
		order := []int{0}
		for _, d := range s.Dims {
			order = append(order, 1+d)
		}
		x := g.node("Transpose", "", []string{g.reshape(in[0], append([]int{-1}, s.Shape...)...)},
			attribute("perm", order))
		return g.reshape(x, -1, g.widths[i+1]), nil
	case description.RNN, description.GRU, description.LSTM:
		return g.recurrent(s, in[0], g.widths[g.d.Network.Sources(i)[0]]), nil
	case description.Activate:
		return g.activate(in[0], s.Activation)
	case description.Softmax:
		return g.node("Softmax", "", in, attribute("axis", 1)), nil
	case description.Columns:
		return g.slice(in[0], s.From, s.To), nil
	case description.OneHot:
		return g.oneHot(in[0], s.Choices), nil
	case description.Concatenate:
		return g.node("Concat", "", in, attribute("axis", 1)), nil
	case description.Number:
		return g.number(i), nil
	}
	op, ok := simple[s.Op]
	if !ok {
		return "", fmt.Errorf("the operation %q has no form in ONNX here", s.Op)
	}
	return g.node(op, "", in), nil
}

// number is a constant, as one row where that will do, which is beside rows of numbers that are none.
func (g *graph) number(i int) string {
	c := g.floats("", []float32{float32(g.d.Network.Steps[i].Number)}, 1, 1)
	enough := i < len(g.d.Network.Steps)-1
	for k, s := range g.d.Network.Steps {
		sources := g.d.Network.Sources(k)
		if !slices.Contains(sources, i+1) {
			continue
		}
		others := 0
		for _, j := range sources {
			if j == 0 || g.d.Network.Steps[j-1].Op != description.Number {
				others++
			}
		}
		enough = enough && combines[s.Op] && others == 1
	}
	if enough {
		return c
	}
	rows := g.node("Slice", "",
		[]string{g.node("Shape", "", []string{"observations"}), g.integers(0), g.integers(1), g.integers(0)})
	return g.node("Expand", "",
		[]string{c, g.node("Concat", "", []string{rows, g.integers(1)}, attribute("axis", 0))})
}

func (g *graph) linear(s description.Step, x string, width int) (string, error) {
	in := []string{x, g.floats(arrayName(s.Weight), g.p.Float32s(s.Weight), s.Outputs, width)}
	if s.Bias != "" {
		in = append(in, g.floats(arrayName(s.Bias), g.p.Float32s(s.Bias), s.Outputs))
	}
	return g.activate(g.node("Gemm", "", in, attribute("transB", 1)), s.Activation)
}

// layerNorm standardises rows by their own mean and variance. ONNX has an operation for it only later.
func (g *graph) layerNorm(s description.Step, x string, width int) string {
	mean := func(x string) string { return g.node("ReduceMean", "", []string{x}, attribute("axes", []int{1})) }
	d := g.node("Sub", "", []string{x, mean(x)})
	variance := g.node("Add", "", []string{mean(g.node("Mul", "", []string{d, d})),
		g.scalar(description.LayerNormEpsilon)})
	d = g.node("Div", "", []string{d, g.node("Sqrt", "", []string{variance})})
	d = g.node("Mul", "", []string{d, g.floats(arrayName(s.Weight), g.p.Float32s(s.Weight), width)})
	return g.node("Add", "", []string{d, g.floats(arrayName(s.Bias), g.p.Float32s(s.Bias), width)})
}

// reshape gives x another shape.
func (g *graph) reshape(x string, shape ...int) string {
	return g.node("Reshape", "", []string{x, g.integers(shape...)})
}

func (g *graph) conv(s description.Step, x string) (string, error) {
	shape, picture := s.KernelShape(), s.Picture()
	in := []string{g.reshape(x, append([]int{-1}, s.Shape...)...), g.floats(arrayName(s.Weight), g.p.Float32s(s.Weight),
		shape[:]...)}
	if s.Bias != "" {
		in = append(in, g.floats(arrayName(s.Bias), g.p.Float32s(s.Bias), s.Outputs))
	}
	y := g.node("Conv", "", in, attribute("kernel_shape", s.Kernel), attribute("strides", s.Stride),
		attribute("pads", s.Padding), attribute("dilations", s.Dilation), attribute("group", s.Groups))
	return g.activate(g.reshape(y, -1, picture[0]*picture[1]*picture[2]), s.Activation)
}

// arrayName keeps the policy's names apart from those given here, which have no slash.
func arrayName(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "policy/" + name
}

// oneHot compares every column with the numbers of its choices.
func (g *graph) oneHot(x string, choices []int) string {
	var parts []string
	for i, n := range choices {
		column := x
		if len(choices) > 1 {
			column = g.slice(x, i, i+1)
		}
		numbers := make([]float32, n)
		for k := range numbers {
			numbers[k] = float32(k)
		}
		is := g.node("Equal", "", []string{column, g.floats("", numbers, 1, n)})
		parts = append(parts, g.node("Cast", "", []string{is}, attribute("to", elementFloat)))
	}
	return g.node("Concat", "", parts, attribute("axis", 1))
}

// activations are PyTorch's that ONNX has, too, without attributes.
var activations = map[string]string{
	"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "softplus": "Softplus", "softsign": "Softsign",
}

// activate adds an activation of PyTorch's.
func (g *graph) activate(x, name string) (string, error) {
	one := func(op string, attributes ...message) string { return g.node(op, "", []string{x}, attributes...) }
	switch name {
	case "", "identity":
		return x, nil
	case "elu":
		return one("Elu", attribute("alpha", float32(1))), nil
	case "leaky_relu":
		return one("LeakyRelu", attribute("alpha", float32(0.01))), nil
	case "selu":
		return one("Selu", attribute("alpha", float32(1.6732632)), attribute("gamma", float32(1.050701))), nil
	case "silu":
		return g.node("Mul", "", []string{x, one("Sigmoid")}), nil
	case "gelu": // x/2 · (1 + erf(x/√2))
		erf := g.node("Erf", "", []string{g.node("Mul", "", []string{x, g.scalar(1 / math.Sqrt2)})})
		half := g.node("Mul", "", []string{x, g.scalar(0.5)})
		return g.node("Mul", "", []string{half, g.node("Add", "", []string{erf, g.scalar(1)})}), nil
	}
	op, ok := activations[name]
	if !ok {
		return "", fmt.Errorf("the activation %q has no form in ONNX here", name)
	}
	return one(op), nil
}
