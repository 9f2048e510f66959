package models

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/internal/capacity"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// Net is a [Network] that computes a description. All constructors of this package make one. It implements [Recurrent],
// [Critic], [Linears] and [Described].
type Net struct {
	net          description.Network
	states       bool                      // the row is one of states instead of observations
	architecture *description.Architecture // nil unless NewEvolvable made the network
	branch       bool                      // Branch made the network
	smooth       bool                      // the result has a gradient by the row
	pictures     bool                      // some results may be pictures, see rows
	chains       map[int]*chain            // by the index of their first step
	kernels      map[int]kernel            // of convolutions, by the index of the step
	norms        map[int][2]tensor.Tensor  // weight and bias of layer normalisations, likewise
	stacks       map[int]*memory           // the recurrent steps, likewise
	whole        *tensor.Layers            // all steps, if they are one chain
	hidden       int                       // the width of the state that the recurrent steps keep
	outputs      int                       // the width of the result
	params       []tensor.Parameter
	weights      []tensor.Tensor
	scope        *tensor.Scope
}

// plan says what a network computes and how its parameters start.
type plan struct {
	description.Network
	states         bool  // the row is one of states instead of observations
	hidden, output start // how layers start, and how the step last does
	last           int   // the index of the output layer, -1 if all layers are hidden ones
}

// build returns the network of a plan. Parameters are drawn in the order of the steps.
func (p plan) build(seed int64) (*Net, error) {
	widths, err := p.Widths()
	for i, s := range p.Steps[:min(len(widths), len(p.Steps))] { // a layer that is too large makes Widths fail, too
		if err := checkSize(s, p.InputWidth(widths, i)); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	gen, err := tensor.NewGenerator(seed, tensor.CPU)
	if err != nil {
		return nil, err
	}
	defer gen.Close()
	n := &Net{net: p.Network, states: p.states, outputs: widths[len(widths)-1], scope: tensor.NoGrad()}
	for i, s := range p.Steps {
		from := p.hidden
		if i == p.last {
			from = p.output
		}
		n.addParameters(gen, s, p.InputWidth(widths, i), from)
	}
	n.compile()
	if err := n.scope.Err(); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// addParameters makes the parameters of a step on rows of the given width.
func (n *Net) addParameters(gen *tensor.Generator, s description.Step, width int, from start) {
	arrays := s.Arrays(width)
	if len(arrays) == 0 || n.scope.Err() != nil {
		return
	}
	var made []tensor.Tensor
	switch {
	case s.Recurrent():
		made = newRecurrent(n.scope, gen, s, arrays, from)
	case s.Op == description.LayerNorm: // starts as PyTorch's
		made = []tensor.Tensor{n.scope.RequireGrad(n.scope.Ones(int64(width))),
			n.scope.RequireGrad(n.scope.Zeros(int64(width)))}
	case s.Op == description.Conv2d:
		w, b := newConv(n.scope, gen, s.KernelShape(), from)
		made = []tensor.Tensor{w, b}
	default:
		w, b := newLinear(n.scope, gen, width, s.Outputs, from)
		n.weights, made = append(n.weights, w), []tensor.Tensor{w, b}
	}
	for i, a := range arrays {
		if n.scope.Err() == nil {
			n.params = append(n.params, tensor.Parameter{Name: a.Name, Tensor: made[i]})
		}
	}
}

// chain is a run of linear steps that one native call applies.
type chain struct {
	layers tensor.Layers
	last   int // the result that the last step of the run computes
}

// kernel is a convolution ready to be applied.
type kernel struct {
	weight, bias tensor.Tensor
	activation   tensor.Activation
	tensor.Convolution
}

// compile prepares the steps: it joins linear steps whose results only the next one reads.
func (n *Net) compile() {
	named := map[string]tensor.Tensor{}
	for _, p := range n.params {
		named[p.Name] = p.Tensor
	}
	readers, gradient := map[int]int{}, map[int]bool{0: true}
	for i, s := range n.net.Steps {
		for _, j := range n.net.Sources(i) {
			readers[j]++
			gradient[i+1] = gradient[i+1] || gradient[j] && s.Op != description.OneHot
		}
	}
	n.smooth = gradient[len(n.net.Steps)]
	n.chains, n.kernels, n.stacks, n.hidden = map[int]*chain{}, map[int]kernel{}, map[int]*memory{}, 0
	n.norms = map[int][2]tensor.Tensor{}
	var c *chain
	for i, s := range n.net.Steps {
		n.pictures = n.pictures || s.Op == description.Conv2d || s.Op == description.Permute
		switch {
		case s.Op == description.Conv2d:
			n.kernels[i] = kernel{named[s.Weight], named[s.Bias], activationOf(s), convolutionOf(s)}
		case s.Op == description.LayerNorm:
			n.norms[i] = [2]tensor.Tensor{named[s.Weight], named[s.Bias]}
		case s.Recurrent():
			m := &memory{from: int64(n.hidden), width: int64(s.State()), frames: int64(s.Frames)}
			m.layers.Kind = recurrentKinds[s.Op]
			for _, name := range s.Weights {
				m.layers.Weights = append(m.layers.Weights, named[name])
			}
			n.stacks[i], n.hidden = m, n.hidden+s.State()
		}
		if s.Op != description.Linear {
			c = nil
			continue
		}
		if c == nil || n.net.Sources(i)[0] != i || readers[i] != 1 {
			c = &chain{}
			n.chains[i] = c
		}
		l := &c.layers
		l.Weights, l.Biases = append(l.Weights, named[s.Weight]), append(l.Biases, named[s.Bias])
		l.Activations = append(l.Activations, activationOf(s))
		c.last = i + 1
	}
	if first := n.chains[0]; first != nil && first.last == len(n.net.Steps) {
		n.whole = &first.layers
	}
}

// activationOf returns a step's activation, whose name is canonical.
func activationOf(s description.Step) tensor.Activation {
	f, _ := tensor.ParseActivation(s.Activation)
	return f
}

// convolutionOf returns the geometry of a Conv2d.
func convolutionOf(s description.Step) tensor.Convolution {
	c := tensor.Convolution{Groups: int64(s.Groups)}
	for i := range 2 {
		c.Stride[i], c.Dilation[i] = int64(s.Stride[i]), int64(s.Dilation[i])
	}
	for i := range c.Padding {
		c.Padding[i] = int64(s.Padding[i])
	}
	return c
}

// Describe implements [Described].
func (n *Net) Describe() (description.Network, error) {
	if n.states || n.net.States > 0 {
		return n.net, errStates
	}
	return n.net, nil
}

// readsStateRow reports whether a step reads the row of states.
func readsStateRow(s description.Step) bool { return slices.Contains(s.Inputs, description.StateRow) }

// Parameters implements [Network].
func (n *Net) Parameters() []tensor.Parameter { return n.params }

// LinearWeights implements [Linears].
func (n *Net) LinearWeights() []tensor.Tensor { return n.weights }

// HiddenSize implements [Recurrent]. A network without recurrent layers has 0.
func (n *Net) HiddenSize() int { return n.hidden }

// Close implements [Network]. It may be called on nil.
func (n *Net) Close() {
	if n != nil {
		n.scope.Close()
	}
}

// ForwardPenalty implements [Critic]. Only a plain perceptron is faster than by differentiating twice. Choices have no
// gradient.
func (n *Net) ForwardPenalty(s *tensor.Scope, in Inputs) (out, penalty tensor.Tensor) {
	if n.whole != nil {
		return s.Critic(in.rows(n.states), n.whole)
	}
	if !n.smooth {
		return n.Forward(s, in), s.Scalar(0)
	}
	x := s.RequireGrad(s.Detach(in.rows(n.states)))
	in.Observations, in.States = x, x
	out = n.Forward(s, in)
	return out, s.Mean(s.Sum(s.Square(s.Grad(s.Sum(out), true, x)[0]), -1))
}

// ArchitectureOf returns the architecture of a network that [NewEvolvable] made, or of a [Stochastic] policy with such
// a network, and whether there is one.
func ArchitectureOf(x any) (a description.Architecture, ok bool) {
	if p, is := x.(*Stochastic); is {
		x = p.Net
	}
	if n, is := x.(*Net); is && n.architecture != nil {
		return n.architecture.Clone(), true
	}
	return a, false
}

// checkSize refuses a layer on rows of the given width that cannot be trained in the machine's memory: its weights,
// their gradients, the copy that undoes an update, and Adam's two moments.
func checkSize(s description.Step, width int) error {
	what := fmt.Sprintf("a %s of %d values in %d layers upon %d inputs", s.Op, s.Outputs, len(s.Weights)/4, width/max(1,
		s.Frames))
	switch {
	case s.Op == description.Conv2d && len(s.Shape) == 3 && s.Groups > 0:
		shape := s.KernelShape()
		width = shape[1] * shape[2] * shape[3]
		fallthrough
	case s.Op == description.Linear:
		what = fmt.Sprintf("a layer of %d inputs and %d outputs", width, s.Outputs)
	case !s.Recurrent():
		return nil
	}
	values := 0.0
	for _, a := range s.Arrays(width) {
		count := 1.0
		for _, d := range a.Shape {
			count *= float64(d)
		}
		values += count
	}
	return capacity.Check("models: "+what, 5*4*values)
}
