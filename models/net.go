package models

import (
	"fmt"

	"github.com/gorl-dev/gorl/internal/capacity"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// Net is a [Network] that computes a description. Every constructor of this package makes one. It implements
// [Recurrent], [Critic], [Linears] and [Described].
//
// compile derives the maps and whole from net once, so that Forward looks up no parameter by name.
type Net struct {
	// net describes the steps and names the parameters.
	net description.Network
	// states says that the row is one of states instead of observations.
	states bool
	// architecture is nil unless NewEvolvable made the network. It belongs to the Net alone.
	architecture *description.Architecture
	// branch says that Branch made the network.
	branch bool
	// smooth says that the result has a gradient by the row. It has none if every path passes through a one-hot
	// encoding.
	smooth bool
	// pictures says that some results may be pictures (n, channels, height, width), see rows.
	pictures bool
	// chains maps the index of a run's first linear step to the run.
	chains map[int]*chain
	// kernels maps the index of each Conv2d step to its convolution.
	kernels map[int]kernel
	// norms maps the index of each LayerNorm step to its weight and bias, both as wide as the row.
	norms map[int][2]tensor.Tensor
	// stacks maps the index of each recurrent step to its layers.
	stacks map[int]*memory
	// whole is the only chain if it covers all steps, otherwise nil. One native call then computes the network.
	whole *tensor.Layers
	// hidden is the width of a row of the recurrent steps' state, 0 without recurrent steps.
	hidden int
	// outputs is the width of the result.
	outputs int
	// params are the parameters in the order of the steps. A branch has only its own, see Branch.
	params []tensor.Parameter
	// weights are the weights (out, in) of the linear steps among params, in order.
	weights []tensor.Tensor
	// scope owns the parameters. Close releases them through it.
	scope *tensor.Scope
}

// plan is what a constructor hands to build: what a network computes, and how its parameters start.
type plan struct {
	description.Network
	// states says that the row is one of states instead of observations.
	states bool
	// output is how the layer of step last starts; hidden is how all other layers start.
	hidden, output start
	// last is the index of the output layer in Steps. It is -1 if all layers are hidden ones.
	last int
}

// build returns the network of a plan. It draws the parameters in the order of the steps, so equal seeds give equal
// networks. They are drawn on the CPU: agents move them to their device afterwards.
func (p plan) build(seed int64) (*Net, error) {
	widths, err := p.Widths()
	if err != nil {
		return nil, err
	}
	values := 0.0
	for i, s := range p.Steps {
		for _, a := range s.Arrays(p.InputWidth(widths, i)) {
			count := int64(1) // Widths has limited it
			for _, n := range a.Shape {
				count *= n
			}
			values += float64(count)
		}
	}
	// A trained parameter takes five float32: itself, its gradient, the copy that undoes an update, and Adam's moments.
	if err := capacity.Check(fmt.Sprintf("models: a network of %g parameters", values), 5*4*values); err != nil {
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

// addParameters makes the parameters of a step that reads rows of the given width, and appends them to params. Steps
// without arrays add nothing.
func (n *Net) addParameters(gen *tensor.Generator, s description.Step, width int, from start) {
	arrays := s.Arrays(width)
	if len(arrays) == 0 || n.scope.Err() != nil {
		return
	}
	var made []tensor.Tensor
	switch {
	case s.Recurrent():
		made = newRecurrent(n.scope, gen, s, arrays, from)
	// PyTorch's start: weights of 1, biases of 0.
	case s.Op == description.LayerNorm:
		made = []tensor.Tensor{n.scope.RequireGrad(n.scope.Ones(int64(width))),
			n.scope.RequireGrad(n.scope.Zeros(int64(width)))}
	case s.Op == description.Conv2d:
		w, b := newConv(n.scope, gen, s.KernelShape(), from)
		made = []tensor.Tensor{w, b}
	default:
		w, b := newLinear(n.scope, gen, width, s.Outputs, from)
		n.weights, made = append(n.weights, w), []tensor.Tensor{w, b}
	}
	// A layer without a bias has one array fewer than made: its bias is drawn all the same and then not listed. The
	// layers after it thus get the same weights with and without a bias.
	for i, a := range arrays {
		if n.scope.Err() == nil {
			n.params = append(n.params, tensor.Parameter{Name: a.Name, Tensor: made[i]})
		}
	}
}

// chain is a run of linear steps that one native call applies.
type chain struct {
	// layers are the run's weights, biases and activations.
	layers tensor.Layers
	// last is the number of the result that the run's last step computes. Result 0 is the row, so last is its index
	// plus 1.
	last int
}

// kernel is a Conv2d step with its tensors looked up.
type kernel struct {
	// weight is (outputs, channels/groups, rows, columns), bias (outputs) or a zero Tensor.
	weight, bias tensor.Tensor
	// activation follows the convolution.
	activation tensor.Activation
	tensor.Convolution
}

// compile looks up the parameters of the steps and joins linear steps into chains. A linear step continues a chain if
// it is the only reader of the step before.
func (n *Net) compile() {
	named := map[string]tensor.Tensor{}
	for _, p := range n.params {
		named[p.Name] = p.Tensor
	}
	// readers counts the readers of each result, and gradient says which results have a gradient by the row.
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
			// The states of the recurrent steps lie side by side in the network's state, in the order of the steps.
			m := &memory{from: int64(n.hidden), width: int64(s.State()), frames: int64(s.Frames)}
			m.layers.Kind = recurrentKinds[s.Op]
			for _, name := range s.Weights {
				m.layers.Weights = append(m.layers.Weights, named[name])
			}
			n.stacks[i], n.hidden = m, n.hidden+s.State()
		}
		// Any other step ends the chain.
		if s.Op != description.Linear {
			c = nil
			continue
		}
		// A new chain begins if the step reads another result than the one before it, or if others read that result,
		// too: a chain keeps no results within.
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

// activationOf returns a step's activation. The names of steps are canonical, so ParseActivation cannot fail.
func activationOf(s description.Step) tensor.Activation {
	f, _ := tensor.ParseActivation(s.Activation)
	return f
}

// convolutionOf returns the geometry of a Conv2d step in the types of package tensor.
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

// Describe implements [Described]. A network that reads states has no description, because a policy that acts alone
// gets only observations.
func (n *Net) Describe() (description.Network, error) {
	if n.states || n.net.States > 0 {
		return n.net, errStates
	}
	return n.net, nil
}

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

// ForwardPenalty implements [Critic]. Only a plain perceptron uses the fast native operation. Other networks
// differentiate twice. Indices have no gradient, so a network that reads only indices has a penalty of 0.
func (n *Net) ForwardPenalty(s *tensor.Scope, in Inputs) (out, penalty tensor.Tensor) {
	if n.whole != nil {
		return s.Critic(in.rows(n.states), n.whole)
	}
	if !n.smooth {
		return n.Forward(s, in), s.Scalar(0)
	}
	// The gradient is by this copy of the row. Whichever row the network reads, it reads the copy.
	x := s.RequireGrad(s.Detach(in.rows(n.states)))
	in.Observations, in.States = x, x
	out = n.Forward(s, in)
	// The rows are independent of each other. The gradient of the sum of all outputs therefore has each row's gradient
	// in its row. true keeps the graph, as the penalty is differentiated again.
	return out, s.Mean(s.Sum(s.Square(s.Grad(s.Sum(out), true, x)[0]), -1))
}

// ArchitectureOf returns a copy of the architecture of a network that [NewEvolvable] made, or of a [Stochastic] policy
// with such a network. ok is false for other networks.
func ArchitectureOf(x any) (a description.Architecture, ok bool) {
	if p, is := x.(*Stochastic); is {
		x = p.Net
	}
	if n, is := x.(*Net); is && n.architecture != nil {
		return n.architecture.Clone(), true
	}
	return a, false
}
