package description

import (
	"fmt"
	"slices"
	"strings"
)

// The operations of a [Step].
const (
	// Linear computes f(x·Wᵀ + b). Weight is (Outputs, width of x), Bias (Outputs) or empty, f the Activation.
	Linear = "linear"
	// Conv2d computes f(x ∗ W + b) of pictures. x has the given Shape, channel after channel, each row by row. Weight
	// is (Outputs, channels/Groups, Kernel), Bias (Outputs) or empty, f the Activation. The result is a picture of
	// shape [Step.Picture], in the same order.
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
	// RNN (tanh), GRU and LSTM are a stack of recurrent layers of Outputs values each, with PyTorch's formulas. The
	// result is that of the last layer. Weights names four F32 arrays for each layer: weight_ih (gates · Outputs, width
	// of what the layer reads), weight_hh (gates · Outputs, Outputs), bias_ih and bias_hh (gates · Outputs). The gates
	// are stacked as in PyTorch: r, z, n of a GRU and i, f, g, o of an LSTM.
	//
	// The layers keep a state of [Step.State] values from row to row. With Frames they keep none: the row is that many
	// frames of equal width, oldest first. The state is zero before the first frame, and the result is that of the last
	// one.
	RNN  = "rnn"
	GRU  = "gru"
	LSTM = "lstm"
	// LayerNorm computes (x − mean) / √(variance + 1e-5) · w + b of a row, with the row's mean and biased variance.
	// Weight and Bias name w and b, which are as wide as the row (PyTorch's LayerNorm).
	LayerNorm = "layer_norm"
	// OneHot turns indices into zeros and ones. Choices has the number of choices of every column. An index out of
	// range gives zeros.
	OneHot = "one_hot"
	// Concatenate puts its inputs side by side.
	Concatenate = "concatenate"
	// Number is the constant Number, of width 1.
	Number = "number"
	// Add, Sub, Mul and Div combine two inputs of equal width, or one of width 1 with one of any width.
	Add = "add"
	Sub = "sub"
	Mul = "mul"
	Div = "div"
)

// LayerNormEpsilon is added to the variance by [LayerNorm]. It is PyTorch's default.
const LayerNormEpsilon = 1e-5

// Step is one operation of a [Network].
type Step struct {
	// Op is one of the operations above.
	Op string `json:"op"`
	// Inputs are the results that the step reads: 0 is the row that the network reads, i the result of the i-th step.
	// Without Inputs the step reads the step before it, and the first step reads the row.
	Inputs []int `json:"inputs,omitempty"`
	// Weight and Bias name F32 arrays. Outputs is the width of the result, of a Conv2d its channels.
	Weight  string `json:"weight,omitempty"`
	Bias    string `json:"bias,omitempty"`
	Outputs int    `json:"outputs,omitempty"`
	// Weights and Frames belong to the recurrent operations.
	Weights []string `json:"weights,omitempty"`
	Frames  int      `json:"frames,omitempty"`
	// Activation is one of [Activations].
	Activation string `json:"activation,omitempty"`
	// From and To belong to Columns. To is exclusive.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
	// Choices belongs to OneHot.
	Choices []int `json:"choices,omitempty"`
	// Number is the constant of the operation Number.
	Number float64 `json:"number,omitempty"`
	// Shape is the shape of the elements that Conv2d (channels, height, width) and Permute read. Dims is the order of
	// Permute: the result's dimension i is dimension Dims[i] of Shape.
	Shape []int `json:"shape,omitempty"`
	Dims  []int `json:"dims,omitempty"`
	// Kernel (rows, columns), Stride, Padding (top, left, bottom, right), Dilation and Groups belong to Conv2d. None
	// has a default.
	Kernel   []int `json:"kernel,omitempty"`
	Stride   []int `json:"stride,omitempty"`
	Padding  []int `json:"padding,omitempty"`
	Dilation []int `json:"dilation,omitempty"`
	Groups   int   `json:"groups,omitempty"`
}

// StateRow is the number of the row of states among a step's Inputs. Policies that act alone have no such row.
const StateRow = -1

// Network is a sequence of operations on a row. The result of the last operation is the network's.
type Network struct {
	// Inputs is the width of the row that the network reads.
	Inputs int
	// States is the width of a second row, of privileged states, that steps read as [StateRow]. Default (0): none.
	States int
	// Steps are the operations, in order.
	Steps []Step
}

// Add appends a step and returns the number of its result, for the Inputs of later steps.
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

// Sources returns the inputs of step i, which counts from 0. It fills in the step before if Inputs is nil. A Number has
// no inputs.
func (n Network) Sources(i int) []int {
	switch {
	case n.Steps[i].Op == Number:
		return nil
	case n.Steps[i].Inputs == nil:
		return []int{i}
	}
	return n.Steps[i].Inputs
}

// Named returns a copy of the network with a prefix before its arrays' names.
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

// Then returns the network that computes next on n's result: next's row is n's last result.
func (n Network) Then(next Network) Network {
	at := len(n.Steps)
	n.Steps = slices.Clone(n.Steps)
	for _, s := range next.Steps {
		s.Inputs = slices.Clone(s.Inputs)
		for i := range s.Inputs {
			if s.Inputs[i] != StateRow {
				// Result 0 of next is result at of n, and every other result moves on by as much. Nil stays nil: next's
				// first step then reads the step before it, n's last.
				s.Inputs[i] += at
			}
		}
		n.Steps = append(n.Steps, s)
	}
	return n
}

// maxWidth limits a row, and maxTotal the results and states of all steps together. A damaged file is thus refused
// before memory is allocated.
const (
	maxWidth = 1 << 24
	maxTotal = 1 << 26
)

// Widths checks the steps and returns the width of the row and of every step's result. With an error it returns the
// widths before the wrong step.
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

// width checks the step and returns the width of its result. in are the widths of its inputs.
func (s Step) width(in []int) (int, error) {
	// want is the number of inputs of the operation.
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
		// Each width may be small enough and their product still too large to allocate.
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
		// NaN and infinities give NaN here.
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

// oneHotWidth returns the sum of the choices, which must be given for each of the in columns.
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
