package description

import (
	"fmt"
	"slices"
)

// maxLayers limits the layers of a stack in a file. No useful stack has as many.
const maxLayers = 1 << 10

// Recurrent reports whether the step is a stack of recurrent layers.
func (s Step) Recurrent() bool { return s.Op == RNN || s.Op == GRU || s.Op == LSTM }

// State returns the number of values that the step keeps from row to row. For a recurrent step these are the h of all
// layers, then for an LSTM the c of all layers. It is 0 for other steps, and with Frames.
func (s Step) State() int {
	if !s.Recurrent() || s.Frames > 0 {
		return 0
	}
	// Weights has four names for each layer.
	n := len(s.Weights) / 4 * s.Outputs
	if s.Op == LSTM {
		n *= 2
	}
	return n
}

// states returns an upper bound of the values that a recurrent step needs for its states, even if it does not keep
// them. Widths counts them towards maxTotal.
func (s Step) states() int64 {
	if !s.Recurrent() {
		return 0
	}
	return int64(len(s.Weights)/4) * int64(s.Outputs) * 2
}

// HiddenSize returns the width of the state that the network keeps from row to row. The states of its steps lie side by
// side, in the order of the steps.
func (n Network) HiddenSize() int {
	sum := 0
	for _, s := range n.Steps {
		sum += s.State()
	}
	return sum
}

// recurrentWidth checks a recurrent step on rows of width in and returns the width of its result.
func (s Step) recurrentWidth(in int) (int, error) {
	if n := len(s.Weights); n == 0 || n%4 != 0 || slices.Contains(s.Weights, "") {
		return 0, fmt.Errorf("%d names of weights; want four a layer", n)
	}
	if s.Frames < 0 || s.Frames > 0 && in%s.Frames != 0 {
		return 0, fmt.Errorf("%d frames of a row of %d values", s.Frames, in)
	}
	if s.Outputs < 1 || s.Outputs > maxWidth || len(s.Weights) > 4*maxLayers ||
		4*int64(s.Outputs)*int64(max(in, s.Outputs)) > 1<<31-1 {
		return 0, fmt.Errorf("%d layers of %d values upon %d", len(s.Weights)/4, s.Outputs, in)
	}
	return s.Outputs, nil
}

// Gates returns the number of gates of a recurrent step: 3 of a GRU, 4 of an LSTM, 1 of an RNN. The weights have a
// block of Outputs rows for each.
func (s Step) Gates() int {
	switch s.Op {
	case GRU:
		return 3
	case LSTM:
		return 4
	}
	return 1
}
