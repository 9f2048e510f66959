package description

import "fmt"

// RecurrentLayer is a stack of recurrent layers. models.GRU, models.LSTM and models.RNN make one.
type RecurrentLayer struct {
	// Kind is "gru", "lstm" or "rnn". The empty string means no layers at all.
	Kind string `json:"kind" yaml:"kind"`
	// HiddenSize is the number of values of each layer. Layers is the number of layers.
	HiddenSize int `json:"hidden_size" yaml:"hidden_size"`
	Layers     int `json:"num_layers" yaml:"num_layers"`
	// Frames is the number of frames of equal width in a row, oldest first. The stack reads them in order from a state
	// of zeros. Its result is that of the last frame, and it keeps no state between rows. A discriminator that reads
	// windows of motion has Frames. The default, 0, means that a row is one frame and that the state is kept.
	Frames int `json:"frames,omitempty" yaml:"frames,omitempty"`
}

// OfFrames returns the stack with [RecurrentLayer.Frames] set.
func (l RecurrentLayer) OfFrames(frames int) RecurrentLayer {
	l.Frames = frames
	return l
}

// None reports whether there is no layer.
func (l RecurrentLayer) None() bool { return l == RecurrentLayer{} }

// Validate checks the kind and the sizes. It also checks that rows of the given width divide into the frames.
func (l RecurrentLayer) Validate(width int) error {
	switch {
	case l.Kind != GRU && l.Kind != LSTM && l.Kind != RNN:
		return fmt.Errorf("description: a recurrent layer of the kind %q; want %s, %s or %s", l.Kind, GRU, LSTM, RNN)
	case l.HiddenSize < 1 || l.Layers < 1 || l.HiddenSize > MaxLayerWidth || l.Layers > maxLayers:
		return fmt.Errorf("description: a %s of %d values in %d layers; want 1 to %d values in 1 to %d layers", l.Kind,
			l.HiddenSize, l.Layers, MaxLayerWidth, maxLayers)
	case l.Frames < 0 || l.Frames > 0 && width%l.Frames != 0:
		return fmt.Errorf("description: a %s over %d frames, but the rows have %d values, which do not divide into "+
			"as many frames of equal width", l.Kind, l.Frames, width)
	}
	return nil
}

// Step describes the stack. Its parameters are <name>.weight_ih_l0 and so on, as PyTorch names them, in PyTorch's
// order.
func (l RecurrentLayer) Step(name string) Step {
	s := Step{Op: l.Kind, Outputs: l.HiddenSize, Frames: l.Frames}
	for k := range l.Layers {
		for _, part := range []string{"weight_ih", "weight_hh", "bias_ih", "bias_hh"} {
			s.Weights = append(s.Weights, fmt.Sprintf("%s.%s_l%d", name, part, k))
		}
	}
	return s
}
