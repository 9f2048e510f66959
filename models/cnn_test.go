package models

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// small is a network for pictures of a few pixels.
func small(space spaces.Space) CNNConfig {
	return CNNConfig{Space: space, Outputs: 1, Convolutions: []Convolution{{Channels: 3, Kernel: 3, Padding: 1},
		{Channels: 2, Kernel: 2, Stride: 2}}, Features: 5, Hidden: []int{4}, Activation: "tanh"}
}

// A CNN computes what its parts say: every picture by layers of its own, the other parts beside it.
func TestCNN(t *testing.T) {
	space := spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(5, 6, 3), "mode": spaces.NewDiscrete(3),
		"an arm": spaces.NewTuple(spaces.Unbounded(2))})
	n := tensortest.Opened[*Net](t)(NewCNN(small(space), 3))
	p := byName(n.Parameters())
	s := tensortest.NoGrad(t, tensor.CPU)
	rows := sampled(s, space, 4)
	conv := func(x, w, b tensor.Tensor, stride, padding int64) tensor.Tensor {
		return s.Tanh(s.Conv2d(x, w, b, tensor.Convolution{Stride: [2]int64{stride, stride}, Dilation: [2]int64{1, 1},
			Groups: 1, Padding: [4]int64{padding, padding, padding, padding}}))
	}
	picture := s.Permute(s.Reshape(s.Narrow(rows, 1, 2, 90), 4, 5, 6, 3), 0, 3, 1, 2)
	x := conv(s.MulScalar(picture, 1./255), p["picture_camera.0.weight"], p["picture_camera.0.bias"], 1, 1)
	x = s.Reshape(conv(x, p["picture_camera.2.weight"], p["picture_camera.2.bias"], 2, 0), 4, 12)
	x = s.Tanh(s.Linear(x, p["picture_camera.5.weight"], p["picture_camera.5.bias"]))
	x = s.Cat(1, s.Narrow(rows, 1, 0, 2), x, oneHot(s, s.Narrow(rows, 1, 92, 1), []int{3}))
	x = s.Linear(s.Tanh(s.Linear(x, p["net.0.weight"], p["net.0.bias"])), p["net.2.weight"], p["net.2.bias"])
	alike(t, s, "outputs", n.Forward(s, Inputs{Observations: rows}), x, 5e-6)
}
