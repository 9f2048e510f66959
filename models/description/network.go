package description

import (
	"fmt"
	"slices"
	"strings"
)

// The operations of a [Step].
const (
	// Linear computes f(x·Wᵀ + b): Weight is (Outputs, width of x), Bias (Outputs) or empty, f the Activation.
	Linear = "linear"
	// Conv2d computes f(x ∗ W + b) of pictures: x is one of the given Shape, row by row channel after channel, Weight
	// (Outputs, channels/Groups, Kernel), Bias (Outputs) or empty, f the Activation. The result is a picture of shape
	// [Step.Picture], in the same order.
	Conv2d = "conv2d"
	// Permute puts the dimensions of a row of the given Shape into the order Dims.
	Permute = "permute"
	// Activate applies the Activation.
	Activate = "activation"
	// Softmax divides the exponentials of a row by their sum.
	Softmax = "softmax"
	// Neg, Exp, Abs, Sin and Cos are functions of every value.
	Neg = "neg"
	Exp = "exp"
	Abs = "abs"
	Sin = "sin"
	Cos = "cos"
	// Columns takes the columns from From up to To.
	Columns = "columns"
	// RNN (tanh), GRU and LSTM are a stack of recurrent layers of Outputs values each, PyTorch's formulas; the result
	// is that of the last layer. Weights names four F32 arrays a layer, gates stacked as PyTorch does (GRU r, z, n;
	// LSTM i, f, g, o): weight_ih (gates · Outputs, width of what the layer reads), weight_hh (gates · Outputs,
	// Outputs), bias_ih and bias_hh (gates · Outputs). They keep a state from row to row ([Step.State] values),
	// except with Frames: then the row is so many frames of equal width, oldest first, and the result is that of the
	// last one, from a state of zeros before the first.
	RNN  = "rnn"
	GRU  = "gru"
	LSTM = "lstm"
	// LayerNorm computes (x − mean) / √(variance + 1e-5) · w + b of a row, with its mean and biased variance: Weight
	// and Bias name w and b, as wide as the row (PyTorch's LayerNorm).
	LayerNorm = "layer_norm"
	// OneHot turns indices into zeros and ones; Choices has the number of choices of every column. An index out of
	// range gives zeros.
	OneHot = "one_hot"
	// Concatenate puts its inputs side by side.
	Concatenate = "concatenate"
	// Number is the constant Number, of width 1.
	Number = "number"
	// Add, Sub, Mul and Div combine two inputs of one width, or one of width 1 with one of any.
	Add = "add"
	Sub = "sub"
	Mul = "mul"
	Div = "div"
)

// LayerNormEpsilon is what [LayerNorm] adds to the variance, PyTorch's default.
const LayerNormEpsilon = 1e-5

// Step is one operation of a [Network].
type Step struct {
	// Op is one of the operations above.
	Op string `json:"op"`
	// Inputs are what it computes from: 0 is the row that the network reads, i the result of the i-th step. Without any
	// it is the step before, or for the first the row.
	Inputs []int `json:"inputs,omitempty"`
	// Weight and Bias name F32 arrays; Outputs is the width of the result.
	Weight  string `json:"weight,omitempty"`
	Bias    string `json:"bias,omitempty"`
	Outputs int    `json:"outputs,omitempty"`
	// Weights and Frames are those of the recurrent operations.
	Weights []string `json:"weights,omitempty"`
	Frames  int      `json:"frames,omitempty"`
	// Activation is one of [Activations].
	Activation string `json:"activation,omitempty"`
	// From and To are those of Columns.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
	// Choices are those of OneHot.
	Choices []int `json:"choices,omitempty"`
	// Number is that of Number.
	Number float64 `json:"number,omitempty"`
	// Shape is that of the row that Conv2d (channels, height, width) and Permute read, Dims the order of Permute: its
	// result's dimension i is dimension Dims[i] of Shape.
	Shape []int `json:"shape,omitempty"`
	Dims  []int `json:"dims,omitempty"`
	// Kernel (rows, columns), Stride, Padding (top, left, bottom, right), Dilation and Groups are those of Conv2d, all
	// given.
	Kernel   []int `json:"kernel,omitempty"`
	Stride   []int `json:"stride,omitempty"`
	Padding  []int `json:"padding,omitempty"`
	Dilation []int `json:"dilation,omitempty"`
	Groups   int   `json:"groups,omitempty"`
}

// StateRow stands among a step's Inputs for the row of states, which policies that act alone do not have.
const StateRow = -1

// Network is a sequence of operations on a row. The result of the last one is the network's.
type Network struct {
	// Inputs is the width of the row that the network reads.
	Inputs int
	// States is the width of a second row, of privileged states, that steps read as [StateRow]. Default 0: none.
	States int
	// Steps are the operations, in order.
	Steps []Step
}

// Add appends a step and returns its number, for the Inputs of later ones.
func (n *Network) Add(s Step) int {
	n.Steps = append(n.Steps, s)
	return len(n.Steps)
}

// MLP describes a perceptron whose arrays are named <prefix>net.0.weight, <prefix>net.0.bias, <prefix>net.2.weight,
// ..., as models.Net names them. The activation follows every layer but the last.
func MLP(prefix string, inputs int, hidden []int, outputs int, activation string) Network {
	n := Network{Inputs: inputs}
	for i := 0; i <= len(hidden); i++ {
		s := Step{Op: Linear, Outputs: outputs, Weight: fmt.Sprintf("%snet.%d.weight", prefix, 2*i),
			Bias: fmt.Sprintf("%snet.%d.bias", prefix, 2*i)}
		if i < len(hidden) {
			s.Outputs, s.Activation = hidden[i], activation
		}
		n.Add(s)
	}
	return n
}

// Sources are the inputs of step i (counted from 0), with those that are not written filled in.
func (n Network) Sources(i int) []int {
	switch {
	case n.Steps[i].Op == Number:
		return nil
	case n.Steps[i].Inputs == nil:
		return []int{i}
	}
	return n.Steps[i].Inputs
}

// Named returns the network with a prefix before its arrays' names.
func (n Network) Named(prefix string) Network {
	n.Steps = slices.Clone(n.Steps)
	for i := range n.Steps {
		s := &n.Steps[i]
		if s.Weight != "" {
			s.Weight = prefix + s.Weight
		}
		if s.Bias != "" {
			s.Bias = prefix + s.Bias
		}
		s.Weights = slices.Clone(s.Weights)
		for j := range s.Weights {
			s.Weights[j] = prefix + s.Weights[j]
		}
	}
	return n
}

// Then returns the network that hands n's result to next.
func (n Network) Then(next Network) Network {
	at := len(n.Steps)
	n.Steps = slices.Clone(n.Steps)
	for _, s := range next.Steps {
		s.Inputs = slices.Clone(s.Inputs)
		for i := range s.Inputs {
			if s.Inputs[i] != StateRow {
				s.Inputs[i] += at
			}
		}
		n.Steps = append(n.Steps, s)
	}
	return n
}

// A row, and the results of all steps together, need fewer values than these: a damaged file is refused before memory
// is asked for.
const (
	maxWidth = 1 << 24
	maxTotal = 1 << 26
)

// Widths checks the steps and returns the width of the row and of every step's result. With an error it returns those
// before the step that is wrong.
func (n Network) Widths() ([]int, error) {
	if n.Inputs < 1 || n.Inputs > maxWidth {
		return nil, fmt.Errorf("description: a network of rows with %d values", n.Inputs)
	}
	if len(n.Steps) == 0 {
		return nil, fmt.Errorf("description: the network has no steps")
	}
	widths, total := []int{n.Inputs}, int64(0)
	for i, s := range n.Steps {
		var in []int
		for _, j := range n.Sources(i) {
			if j == StateRow && n.States > 0 {
				in = append(in, n.States)
				continue
			}
			if j < 0 || j > i {
				return widths, fmt.Errorf("description: step %d (%s) reads the result of step %d; there are 0 (the "+
					"row) to %d", i+1, s.Op, j, i)
			}
			in = append(in, widths[j])
		}
		w, err := s.width(in)
		if total += int64(w) + s.states(); err == nil && total > maxTotal {
			err = fmt.Errorf("the steps' results and states have more than %d values", maxTotal)
		}
		if err != nil {
			return widths, fmt.Errorf("description: step %d (%s): %w", i+1, s.Op, err)
		}
		widths = append(widths, w)
	}
	return widths, nil
}

// width is that of the step's result, of inputs with the given widths.
func (s Step) width(in []int) (int, error) {
	want := 1
	switch s.Op {
	case Number:
		want = 0
	case Add, Sub, Mul, Div:
		want = 2
	case Concatenate:
		want = max(1, len(in))
	}
	if len(in) != want {
		return 0, fmt.Errorf("%d inputs, want %d", len(in), want)
	}
	if s.Activation != "" && !slices.Contains(Activations(), s.Activation) {
		return 0, fmt.Errorf("unknown activation %q: want one of %s", s.Activation, strings.Join(Activations(), ", "))
	}
	switch s.Op {
	case Linear:
		if s.Weight == "" || s.Outputs < 1 || s.Outputs > maxWidth {
			return 0, fmt.Errorf("want the name of a weight and a positive number of outputs, got %q and %d", s.Weight,
				s.Outputs)
		}
		if int64(s.Outputs)*int64(in[0]) > 1<<31-1 {
			return 0, fmt.Errorf("%d inputs and %d outputs, which is more than 2³¹ weights", in[0], s.Outputs)
		}
		return s.Outputs, nil
	case LayerNorm:
		if s.Weight == "" || s.Bias == "" {
			return 0, fmt.Errorf("want the names of a weight and a bias, got %q and %q", s.Weight, s.Bias)
		}
		return in[0], nil
	case Conv2d:
		return s.convWidth(in[0])
	case Permute:
		return in[0], s.checkPermute(in[0])
	case RNN, GRU, LSTM:
		return s.recurrentWidth(in[0])
	case Activate, Softmax, Neg, Exp, Abs, Sin, Cos:
		return in[0], nil
	case Columns:
		if s.From < 0 || s.To > in[0] || s.From >= s.To {
			return 0, fmt.Errorf("columns %d up to %d of %d", s.From, s.To, in[0])
		}
		return s.To - s.From, nil
	case OneHot:
		return s.oneHotWidth(in[0])
	case Concatenate:
		sum := 0
		for _, w := range in {
			if sum += w; sum > maxTotal { // before it overflows
				return 0, fmt.Errorf("more than %d values side by side", maxTotal)
			}
		}
		return sum, nil
	case Number:
		if s.Number-s.Number != 0 {
			return 0, fmt.Errorf("%g is not finite", s.Number)
		}
		return 1, nil
	case Add, Sub, Mul, Div:
		if in[0] != in[1] && in[0] != 1 && in[1] != 1 {
			return 0, fmt.Errorf("rows of widths %d and %d do not combine", in[0], in[1])
		}
		return max(in[0], in[1]), nil
	}
	return 0, fmt.Errorf("unknown operation; this version of gorl does not know it")
}

func (s Step) oneHotWidth(in int) (int, error) {
	if len(s.Choices) != in {
		return 0, fmt.Errorf("choices of %d columns, but the rows have %d", len(s.Choices), in)
	}
	sum := 0
	for _, k := range s.Choices {
		if k < 1 || k > maxWidth {
			return 0, fmt.Errorf("%d choices", k)
		}
		if sum += k; sum > maxWidth {
			return 0, fmt.Errorf("%d values are too many", sum)
		}
	}
	return sum, nil
}
