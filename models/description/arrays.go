package description

// Array is a trainable array of a network: its name in checkpoints and its shape.
type Array struct {
	// Name is the name that a step gives it, and Shape its sizes, outermost first.
	Name  string
	Shape []int64
	// Fan is the number of inputs that one value of the result sums. For recurrent layers it is their hidden size.
	// PyTorch's initial values are uniform in ±1/√Fan.
	Fan int
}

// Arrays lists the arrays of all steps, in order. The network must be valid, see [Network.Widths].
func (n Network) Arrays() ([]Array, error) {
	widths, err := n.Widths()
	if err != nil {
		return nil, err
	}
	var arrays []Array
	for i, s := range n.Steps {
		arrays = append(arrays, s.Arrays(n.InputWidth(widths, i))...)
	}
	return arrays, nil
}

// InputWidth returns the width of the first input of step i, which counts from 0. It is 0 if the step has no input.
// widths are the result of [Network.Widths].
func (n Network) InputWidth(widths []int, i int) int {
	switch in := n.Sources(i); {
	case len(in) == 0:
		return 0
	case in[0] == StateRow:
		return n.States
	default:
		return widths[in[0]]
	}
}

// Arrays lists the arrays of a step on rows of the given width. Linear and Conv2d have a weight and, unless Bias is
// empty, a bias. LayerNorm has both. A recurrent step has those that Weights names. Other steps have none.
func (s Step) Arrays(width int) []Array {
	switch {
	case s.Recurrent():
		return s.recurrentArrays(width)
	case s.Op == LayerNorm:
		shape := []int64{int64(width)}
		return []Array{{s.Weight, shape, width}, {s.Bias, shape, width}}
	case s.Op != Linear && s.Op != Conv2d:
		return nil
	}
	weight := Array{s.Weight, []int64{int64(s.Outputs), int64(width)}, width}
	if s.Op == Conv2d {
		k := s.KernelShape()
		weight.Shape = []int64{int64(k[0]), int64(k[1]), int64(k[2]), int64(k[3])}
		weight.Fan = k[1] * k[2] * k[3]
	}
	if s.Bias == "" {
		return []Array{weight}
	}
	// The bias has one value for each output, the weight's first dimension.
	return []Array{weight, {s.Bias, weight.Shape[:1:1], weight.Fan}}
}

// recurrentArrays lists four arrays for each layer, see [RNN] for their shapes. width is that of the row; with Frames
// the first layer reads one frame.
func (s Step) recurrentArrays(width int) []Array {
	var arrays []Array
	rows, in := int64(s.Gates()*s.Outputs), int64(width/max(1, s.Frames))
	for i, name := range s.Weights {
		shape := [][]int64{{rows, in}, {rows, int64(s.Outputs)}, {rows}, {rows}}[i%4]
		arrays = append(arrays, Array{name, shape, s.Outputs})
		// Every later layer reads the result of the one before.
		if i%4 == 3 {
			in = int64(s.Outputs)
		}
	}
	return arrays
}
