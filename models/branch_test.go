package models

import (
	"slices"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// A branch computes its outputs from the hidden layers of a perceptron or of a network of pictures, has parameters of
// its output layer alone, and adds its gradients to those of the layers that it shares.
func TestBranch(t *testing.T) {
	mlp := tensortest.Opened[*Net](t)(NewMLP(MLPConfig{Inputs: 3, Outputs: 1, Hidden: []int{5, 4}, Activation: "tanh"},
		1))
	cnn := tensortest.Opened[*Net](t)(NewCNN(CNNConfig{Space: spaces.NewPicture(4, 4, 1), Outputs: 1, Features: 4,
		Activation:   "tanh",
		Convolutions: []Convolution{{Channels: 2, Kernel: 2, Stride: 1}}}, 1))
	for _, of := range []Network{mlp, cnn} {
		b := tensortest.Opened[Network](t)(Branch(of, 2, 3))
		own, shared := b.Parameters(), of.Parameters()
		tensortest.Opened[*tensor.Flat](t)(tensor.NewFlat(slices.Concat(shared, own), tensor.CPU))
		if len(own) != 2 || own[0].Name != BranchWeight || own[1].Name != BranchBias || !IsBranch(b) || IsBranch(of) ||
			!Own(b) {
			t.Errorf("%T: the branch has %d parameters", of, len(own))
		}
		s := tensortest.WithGrad(t, tensor.CPU)
		width := int64(3)
		if of == Network(cnn) {
			width = 16
		}
		in := Inputs{Observations: s.Ones(6, width)}
		// With its parameters in the place of the other network's last, that network computes a part of the same.
		out := tensortest.Float32s(t, s, b.Forward(s, in))
		last := shared[len(shared)-2:]
		s.Backward(s.Mean(s.Square(b.Forward(s, in))))
		for i, p := range shared {
			moved := tensortest.Float64s(t, s, s.MaxOf(s.Abs(s.GradOf(p.Tensor))))[0] > 0
			check.Is(t, moved, i < len(shared)-2, "%T: %s has a gradient", of, p.Name)
		}
		none := tensortest.NoGrad(t, tensor.CPU)
		none.Copy(last[0].Tensor, none.Narrow(own[0].Tensor, 0, 1, 1))
		none.Copy(last[1].Tensor, none.Narrow(own[1].Tensor, 0, 1, 1))
		for i, x := range tensortest.Float32s(t, s, of.Forward(none, in)) {
			check.Near(t, float64(x), float64(out[2*i+1]), 1e-6, "%T: row %d", of, i)
		}
	}
}
