package description

// Array is one of the arrays that a network's steps name.
type Array struct {
	// Name and Shape are the array's.
	Name  string
	Shape []int64
	// Fan is the number of values that one value of the step's result sums, for recurrent layers the number of their
	// values. PyTorch's initial values are uniform in ±1/√Fan.
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

// InputWidth returns the width of what step i (counted from 0) reads first, 0 if the step reads nothing. widths are
// those of [Network.Widths].
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

// Arrays lists the arrays of a step on rows of the given width. Linear, Conv2d and LayerNorm have a weight and perhaps
// a bias. A recurrent step has those that Weights names. Other steps have none.
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
	return []Array{weight, {s.Bias, weight.Shape[:1:1], weight.Fan}}
}

func (s Step) recurrentArrays(width int) []Array {
	var arrays []Array
	rows, in := int64(s.Gates()*s.Outputs), int64(width/max(1, s.Frames))
	for i, name := range s.Weights {
		shape := [][]int64{{rows, in}, {rows, int64(s.Outputs)}, {rows}, {rows}}[i%4]
		arrays = append(arrays, Array{name, shape, s.Outputs})
		if i%4 == 3 {
			in = int64(s.Outputs)
		}
	}
	return arrays
}
