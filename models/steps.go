package models

import (
	"slices"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// network computes the steps of its own description. It is the inside of an [MLP] and of an [Evolvable], and what a
// [Spec] compiles to where it is more than an MLP.
type network struct {
	net      description.Network
	states   bool                     // the steps read rows of states in the place of observations
	chains   map[int]*chain           // by the index of their first step
	kernels  map[int]kernel           // of convolutions, by the index of the step
	norms    map[int][2]tensor.Tensor // weight and bias of layer normalisations, likewise
	pictures bool                     // some results may be pictures, see below
	whole    *tensor.Layers           // all steps, where they are one chain
	stacks   map[int]*memory          // the recurrent steps, by index
	hidden   int                      // the width of the state that they keep
	params   []tensor.Parameter
	weights  []tensor.Tensor
	scope    *tensor.Scope
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

// statesInput stands among a step's inputs for the rows of states, which descriptions do not have.
const statesInput = -1

// parameters makes the parameters of a linear step, or of a convolution, upon rows of the given width.
func (n *network) parameters(gen *tensor.Generator, s description.Step, width int, from start) {
	var w, b tensor.Tensor
	if s.Op == description.Conv2d {
		w, b = newConv(n.scope, gen, s.KernelShape(), from)
	} else {
		w, b = newLinear(n.scope, gen, width, s.Outputs, from)
		n.weights = append(n.weights, w)
	}
	n.params = append(n.params, tensor.Parameter{Name: s.Weight, Tensor: w})
	if s.Bias != "" {
		n.params = append(n.params, tensor.Parameter{Name: s.Bias, Tensor: b})
	}
}

// layer adds a linear step, or a convolution, with its parameters and returns which result it is.
func (n *network) layer(gen *tensor.Generator, s description.Step, width int, from start) int {
	n.parameters(gen, s, width, from)
	return n.net.Add(s)
}

// norm adds a layer normalisation of rows of the given width, which starts as PyTorch's: weights 1, biases 0.
func (n *network) norm(s description.Step, width int) int {
	w, b := n.scope.RequireGrad(n.scope.Ones(int64(width))), n.scope.RequireGrad(n.scope.Zeros(int64(width)))
	n.params = append(n.params, tensor.Parameter{Name: s.Weight, Tensor: w}, tensor.Parameter{Name: s.Bias, Tensor: b})
	return n.net.Add(s)
}

// compile joins linear steps whose results nothing but the next one reads.
func (n *network) compile() {
	named := map[string]tensor.Tensor{}
	for _, p := range n.params {
		named[p.Name] = p.Tensor
	}
	readers := map[int]int{}
	for i := range n.net.Steps {
		for _, j := range n.net.Sources(i) {
			readers[j]++
		}
	}
	n.chains, n.kernels, n.stacks, n.hidden = map[int]*chain{}, map[int]kernel{}, map[int]*memory{}, 0
	n.norms = map[int][2]tensor.Tensor{}
	var c *chain
	for i, s := range n.net.Steps {
		n.pictures = n.pictures || s.Op == description.Conv2d || s.Op == description.Permute
		if s.Op == description.Conv2d {
			f, _ := tensor.ParseActivation(s.Activation) // a canonical name
			n.kernels[i] = kernel{named[s.Weight], named[s.Bias], f, convolution(s)}
		}
		if s.Op == description.LayerNorm {
			n.norms[i] = [2]tensor.Tensor{named[s.Weight], named[s.Bias]}
		}
		if s.Recurrent() {
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
		f, _ := tensor.ParseActivation(s.Activation) // a canonical name
		l := &c.layers
		l.Weights, l.Biases = append(l.Weights, named[s.Weight]), append(l.Biases, named[s.Bias])
		l.Activations = append(l.Activations, f)
		c.last = i + 1
	}
	if first := n.chains[0]; first != nil && first.last == len(n.net.Steps) {
		n.whole = &first.layers
	}
}

// convolution is the geometry of a Conv2d.
func convolution(s description.Step) tensor.Convolution {
	c := tensor.Convolution{Groups: int64(s.Groups)}
	for i := range 2 {
		c.Stride[i], c.Dilation[i] = int64(s.Stride[i]), int64(s.Dilation[i])
	}
	for i := range c.Padding {
		c.Padding[i] = int64(s.Padding[i])
	}
	return c
}

// Results are rows, (n, width), except those of permutations and convolutions and of what is done value by value upon
// them: these stay pictures, (n, channels, height, width), as they lie in memory, until a step needs rows. A picture that
// was permuted is never copied between the camera and the last convolution.

// rows makes rows of a result.
func (n *network) rows(s *tensor.Scope, x tensor.Tensor) tensor.Tensor {
	if !n.pictures || s.Err() != nil || x.T == nil || len(tensor.Shape(x)) <= 2 {
		return x
	}
	return s.Reshape(x, tensor.Size(x, 0), -1)
}

// shaped gives a result the shape that a step reads.
func shaped(s *tensor.Scope, x tensor.Tensor, shape []int) tensor.Tensor {
	if s.Err() != nil {
		return x
	}
	sizes := []int64{tensor.Size(x, 0)}
	for _, d := range shape {
		sizes = append(sizes, int64(d))
	}
	if slices.Equal(sizes, tensor.Shape(x)) {
		return x
	}
	return s.Reshape(x, sizes...)
}

// Forward implements [Network].
func (n *network) Forward(s *tensor.Scope, in Inputs) tensor.Tensor { return n.forward(s, in, nil) }

// forward computes the network. Where states is not nil it receives the states of the recurrent steps, in order.
func (n *network) forward(s *tensor.Scope, in Inputs, states *[]tensor.Tensor) tensor.Tensor {
	if n.whole != nil {
		return s.MLP(in.rows(n.states), n.whole)
	}
	steps := n.net.Steps
	results := make([]tensor.Tensor, len(steps)+1)
	results[0] = in.rows(n.states)
	for i := 0; i < len(steps); i++ {
		var x []tensor.Tensor
		for _, j := range n.net.Sources(i) {
			if j == statesInput {
				x = append(x, in.States)
			} else {
				x = append(x, results[j])
			}
		}
		if c := n.chains[i]; c != nil {
			results[c.last] = s.MLP(n.rows(s, x[0]), &c.layers)
			i = c.last - 1
		} else if m := n.stacks[i]; m != nil {
			var state tensor.Tensor
			if results[i+1], state = m.remember(s, n.rows(s, x[0]), in.Hidden); states != nil && state.T != nil {
				*states = append(*states, state)
			}
		} else {
			results[i+1] = n.step(s, i, x)
		}
		if s.Err() != nil {
			return tensor.Tensor{}
		}
	}
	return n.rows(s, results[len(steps)])
}

// step computes step i, which is not linear, upon its inputs. The result of a number is no tensor: who reads it looks
// at the step.
func (n *network) step(s *tensor.Scope, i int, x []tensor.Tensor) tensor.Tensor {
	switch st := n.net.Steps[i]; st.Op {
	case description.Number:
		return tensor.Tensor{}
	case description.Activate:
		f, _ := tensor.ParseActivation(st.Activation) // a canonical name
		return s.Activate(f, x[0])
	case description.Neg:
		return s.Neg(x[0])
	case description.Conv2d:
		k := n.kernels[i]
		return s.Activate(k.activation, s.Conv2d(shaped(s, x[0], st.Shape), k.weight, k.bias, k.Convolution))
	case description.LayerNorm:
		rows := n.rows(s, x[0])
		d := s.Sub(rows, s.MeanKeep(rows, -1))
		d = s.Div(d, s.Sqrt(s.AddScalar(s.MeanKeep(s.Square(d), -1), description.LayerNormEpsilon)))
		return s.Add(s.Mul(d, n.norms[i][0]), n.norms[i][1])
	case description.Permute:
		dims := []int64{0}
		for _, d := range st.Dims {
			dims = append(dims, int64(d)+1)
		}
		return s.Permute(shaped(s, x[0], st.Shape), dims...)
	case description.Columns:
		return s.Narrow(n.rows(s, x[0]), -1, int64(st.From), int64(st.To-st.From))
	case description.OneHot:
		return oneHot(s, n.rows(s, x[0]), st.Choices)
	case description.Concatenate:
		for k := range x {
			x[k] = n.rows(s, x[k])
		}
		return s.Cat(-1, x...)
	case description.Add, description.Sub, description.Mul, description.Div:
		return n.arithmetic(s, i, x[0], x[1])
	case description.Softmax:
		return s.Softmax(n.rows(s, x[0]), -1)
	default:
		return functions[st.Op](s, x[0])
	}
}

// oneHot turns columns of indices into columns of zeros and ones.
func oneHot(s *tensor.Scope, rows tensor.Tensor, choices []int) tensor.Tensor {
	parts := make([]tensor.Tensor, len(choices))
	for i, k := range choices {
		indices := s.As(s.Arange(int64(k)), tensor.Float32)
		parts[i] = s.As(s.Eq(s.Narrow(rows, -1, int64(i), 1), indices), tensor.Float32)
	}
	if s.Err() != nil {
		return tensor.Tensor{}
	}
	return s.Cat(-1, parts...)
}

// arithmetic combines rows with rows or with a number.
func (n *network) arithmetic(s *tensor.Scope, i int, a, b tensor.Tensor) tensor.Tensor {
	number := func(input int) (x float64, is bool) {
		j := n.net.Steps[i].Inputs[input]
		if j < 1 || n.net.Steps[j-1].Op != description.Number {
			return 0, false
		}
		return n.net.Steps[j-1].Number, true
	}
	left, first := number(0)
	right, second := number(1)
	switch op := n.net.Steps[i].Op; {
	case second && op == description.Add:
		return s.AddScalar(a, right)
	case second && op == description.Sub:
		return s.AddScalar(a, -right)
	case second && op == description.Mul:
		return s.MulScalar(a, right)
	case second:
		return s.Div(a, s.Scalar(right))
	case first && op == description.Add:
		return s.AddScalar(b, left)
	case first && op == description.Sub:
		return s.ScalarSub(left, b)
	case first && op == description.Mul:
		return s.MulScalar(b, left)
	case first:
		return s.Div(s.Scalar(left), b)
	}
	a, b = n.rows(s, a), n.rows(s, b)
	switch op := n.net.Steps[i].Op; op {
	case description.Add:
		return s.Add(a, b)
	case description.Sub:
		return s.Sub(a, b)
	case description.Mul:
		return s.Mul(a, b)
	}
	return s.Div(a, b)
}

// Describe implements [Described].
func (n *network) Describe() (description.Network, error) {
	readsStates := func(s description.Step) bool { return slices.Contains(s.Inputs, statesInput) }
	if n.states || slices.ContainsFunc(n.net.Steps, readsStates) {
		return n.net, errStates
	}
	return n.net, nil
}

// Parameters implements [Network].
func (n *network) Parameters() []tensor.Parameter { return n.params }

// LinearWeights implements [Linears].
func (n *network) LinearWeights() []tensor.Tensor { return n.weights }

// Close implements [Network].
func (n *network) Close() { n.scope.Close() }
