package models

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/tensor"
)

// Initialization says how the weights and biases of linear layers and convolutions start. The zero value is PyTorch's
// Linear and Conv2d, with the policy's output layer a hundred times smaller.
type Initialization struct {
	// Kind is "uniform" (default), PyTorch's for Linear: weights and biases uniform in ±1/√fan_in; or "orthogonal"
	// (Saxe et al. 2014): the columns or rows of a weight are orthogonal and of length 1, and biases are 0. CleanRL and
	// Stable-Baselines3 begin PPO orthogonally.
	Kind string `yaml:"initialization" config:"oneof=|uniform|orthogonal"`
	// Bias is how biases start: "zero", or empty for what Kind says. With the weights of "uniform", zero biases are
	// rl_games' default. Recurrent layers start as Kind says in any case.
	Bias string `yaml:"initial_bias" config:"oneof=|zero"`
	// HiddenGain multiplies the weights of hidden layers. 0 is the default: 1, with orthogonal weights √2.
	HiddenGain float64 `yaml:"hidden_gain" config:"min=0"`
	// PolicyOutputGain multiplies the weights of the policy's output layer. 0 is the default: 0.01.
	//
	// A small gain makes the first actions lie near the middle, whatever the observation (Andrychowicz et al. 2021).
	PolicyOutputGain float64 `yaml:"policy_output_gain" config:"min=0"`
	// ValueOutputGain multiplies the weights of the output layer of the value network. 0 is
	// the default: 1.
	ValueOutputGain float64 `yaml:"value_output_gain" config:"min=0"`
}

// Validate returns an error that names the setting that makes no sense.
func (i Initialization) Validate() error { return config.Check(i, "models") }

// orthogonal reports whether weights are initialised orthogonally.
func (i Initialization) orthogonal() bool { return i.Kind == "orthogonal" }

// hidden returns how hidden layers start. The gain √2 keeps the variance of activations with ReLU (He et al. 2015).
// CleanRL and Stable-Baselines3 use it for PPO.
func (i Initialization) hidden() start {
	if i.HiddenGain == 0 && i.orthogonal() {
		return i.start(math.Sqrt2)
	}
	return i.start(i.HiddenGain)
}

// start returns how a layer with the given gain starts. A gain of 0 means 1.
func (i Initialization) start(gain float64) start {
	return start{i.orthogonal(), i.Bias == "zero", gain}
}

// start says how one linear layer or convolution starts. The zero value is PyTorch's default.
type start struct {
	// orthogonal chooses orthogonal weights and biases of 0, instead of uniform ones.
	orthogonal bool
	// zeroBias sets the biases to 0.
	zeroBias bool
	// gain multiplies the weights, not the biases. 0 means 1.
	gain float64
}

// newLinear returns the initial weight (out, in) and bias (out) of a layer, both leaves that require gradients.
func newLinear(s *tensor.Scope, gen *tensor.Generator, in, out int, from start) (w, b tensor.Tensor) {
	gain := cmp.Or(from.gain, 1)
	if from.orthogonal {
		return s.RequireGrad(orthogonal(s, gen, in, out, gain)), s.RequireGrad(s.Zeros(int64(out)))
	}
	bound := 1 / math.Sqrt(float64(in))
	uniform := func(scale float64, shape ...int64) tensor.Tensor {
		x := s.Rand(gen, shape...)
		s.Scale(x, 2*bound*scale)
		return s.RequireGrad(s.AddScalar(x, -bound*scale))
	}
	w, b = uniform(gain, int64(out), int64(in)), uniform(1, int64(out))
	// The bias has been drawn all the same. The layers after this one therefore get the same weights with and without
	// zeroBias.
	if from.zeroBias {
		s.Fill(b, 0)
	}
	return w, b
}

// newConv returns the initial weight and bias (outputs) of a convolution. shape is (outputs, channels of a group, rows,
// columns). The kernels start like the rows of a linear layer that reads as many values (PyTorch: kaiming_uniform_ with
// a = √5, and orthogonal_ on the flattened kernels).
func newConv(s *tensor.Scope, gen *tensor.Generator, shape [4]int, from start) (w, b tensor.Tensor) {
	w, b = newLinear(s, gen, shape[1]*shape[2]*shape[3], shape[0], from)
	w = s.Reshape(w, int64(shape[0]), int64(shape[1]), int64(shape[2]), int64(shape[3]))
	if s.Err() != nil {
		return w, b
	}
	// The clone has memory of its own: a parameter must be a leaf, not a view of the rows.
	return s.RequireGrad(s.Clone(w)), b
}

// orthogonal returns a weight (out, in) whose rows are orthogonal and of length gain. If there are more rows than
// columns, the columns are. The weight is the Q of the QR decomposition of normal numbers. Its columns are flipped to
// the signs of R's diagonal, which makes every orthogonal matrix equally likely (Saxe et al. 2014; PyTorch's
// orthogonal_).
func orthogonal(s *tensor.Scope, gen *tensor.Generator, in, out int, gain float64) tensor.Tensor {
	long, short := max(in, out), min(in, out)
	drawn, err := tensor.Float32s(s.Randn(gen, int64(long), int64(short)))
	if s.Err() != nil || err != nil {
		s.Fail(err)
		return tensor.Tensor{}
	}
	a := mat.NewDense(long, short, nil)
	for i, x := range drawn {
		a.Set(i/short, i%short, float64(x))
	}
	var qr mat.QR
	qr.Factorize(a)
	var q, r mat.Dense
	qr.QTo(&q)
	qr.RTo(&r)
	weight := make([]float32, out*in)
	for i := range out {
		for j := range in {
			// row and column are of q, which is long × short.
			row, column := i, j
			if out < in {
				row, column = j, i
			}
			weight[i*in+j] = float32(gain * math.Copysign(q.At(row, column), q.At(row, column)*r.At(column, column)))
		}
	}
	return tensor.From(s, weight, int64(out), int64(in))
}
