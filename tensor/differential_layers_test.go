package tensor_test

import (
	"math"
	"slices"

	"github.com/gorl-dev/gorl/tensor"
)

// network draws a perceptron: its operands, two a layer, and its activations. Values are such that no unit is
// near a kink without
// being on it.
func (c *testCase) network(in int64, outputs int64) (params []*input, activations []tensor.Activation,
	rows func() float64) {
	smooth := []tensor.Activation{tensor.Identity, tensor.Elu, tensor.Tanh, tensor.Sigmoid}
	if c.chance(0.2) {
		smooth = append(smooth, tensor.Softplus, tensor.Gelu, tensor.Silu)
	}
	kinds, grid := smooth, c.chance(0.4)
	rows = c.normal
	if grid {
		kinds, rows = []tensor.Activation{tensor.Identity, tensor.Relu, tensor.Relu}, c.grid
	}
	n := 1 + c.IntN(4)
	for k := range n {
		out := c.width()
		f := kinds[c.IntN(len(kinds))]
		if k == n-1 {
			f = smooth[c.IntN(len(smooth))]
			if outputs > 0 {
				out, f = outputs, tensor.Identity
			}
		}
		value := c.grid
		if !grid {
			value = func() float64 { return float64(float32(c.NormFloat64() / math.Sqrt(float64(in)))) }
		}
		b := c.flat(c.array(value, out))
		if c.chance(0.03) {
			b.none = true
		}
		w := c.flat(c.array(value, out, in))
		if c.chance(0.03) { // the engine leaves it to libtorch
			w = c.in(w.values)
		}
		params, activations = append(params, w, b), append(activations, f)
		in = out
	}
	return params, activations, rows
}

// dense is f(x·Wᵀ + b) in plain arithmetic.
func dense(x, w array, b *input, f tensor.Activation) array {
	in, out := w.shape[1], w.shape[0]
	y := array{append(slices.Clone(x.shape[:len(x.shape)-1]), out), nil}
	for i := range elements(y.shape) {
		v := 0.0
		if !b.none {
			v = b.values.x[i%out]
		}
		for k := range in {
			v += x.x[i/out*in+k] * w.x[i%out*in+k]
		}
		y.x = append(y.x, formulas[f](v))
	}
	return y
}

// convolve is Conv2d by its definition.
func convolve(x, k array, b *input, c tensor.Convolution) array {
	shape := []int64{x.shape[0], k.shape[0], 0, 0}
	for i := range c.Stride {
		padded := x.shape[2+i] + c.Padding[i] + c.Padding[2+i]
		shape[2+i] = max(0, (padded-c.Dilation[i]*(k.shape[2+i]-1)-1)/c.Stride[i]+1)
	}
	return build(shape, func(at []int64) (sum float64) {
		if !b.none {
			sum = b.values.x[at[1]]
		}
		for i := range elements(k.shape[1:]) {
			u, v := i/k.shape[3]%k.shape[2], i%k.shape[3]
			channel := at[1]/(k.shape[0]/c.Groups)*k.shape[1] + i/k.shape[3]/k.shape[2]
			row := at[2]*c.Stride[0] - c.Padding[0] + u*c.Dilation[0]
			column := at[3]*c.Stride[1] - c.Padding[1] + v*c.Dilation[1]
			if row >= 0 && row < x.shape[2] && column >= 0 && column < x.shape[3] {
				sum += k.x[at[1]*elements(k.shape[1:])+i] * x.x[x.place([]int64{at[0], channel, row, column})]
			}
		}
		return sum
	})
}

func layersOf(x []tensor.Tensor, f []tensor.Activation) *tensor.Layers {
	net := &tensor.Layers{Activations: f}
	for i := range f {
		net.Weights, net.Biases = append(net.Weights, x[2*i]), append(net.Biases, x[2*i+1])
	}
	return net
}

func layers() []operation {
	const lowBound = 1 << 22 // ½: sums of many roundings to bfloat16, most of which cancel
	mlp := func(low bool) func(c *testCase) {
		return func(c *testCase) {
			in, n := c.width(), c.size()+c.size()
			params, f, value := c.network(in, 0)
			if !low && c.number%80 == 39 { // beyond a block of the kernels in every dimension
				n, in, f, value = 700, 600, []tensor.Activation{tensor.Relu, tensor.Tanh}, c.grid
				params = nil
				for _, shape := range [][]int64{{520, 600}, {520}, {300, 520}, {300}} {
					params = append(params, c.flat(c.array(c.grid, shape...)))
				}
			}
			x := c.flat(c.array(value, n, in))
			if c.chance(0.7) {
				x.grad = false
			}
			if c.chance(0.1) {
				x = c.in(x.values)
			}
			o := options{near: 1e-9, want: func() []array {
				y := x.values
				for k := range f {
					y = dense(y, params[2*k].values, params[2*k+1], f[k])
				}
				return []array{y}
			}}
			if low {
				c.wild = false // operands of every type are converted
				if tensor.BFloat16.Supported(tensor.CPU) == nil {
					o.precision = tensor.BFloat16
				}
			}
			c.say("%v", f)
			c.check(append(params, x), func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
				return []tensor.Tensor{s.MLP(x[len(x)-1], layersOf(x, f))}
			}, o)
		}
	}
	critic := func(c *testCase) {
		in, n := c.width(), c.size()+c.size()
		params, f, value := c.network(in, 1)
		c.say("%v", f)
		x := c.sometimes(c.array(value, n, in)).constant()
		c.check(append(params, x), func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
			y, penalty := s.Critic(x[len(x)-1], layersOf(x, f))
			return []tensor.Tensor{y, penalty}
		}, options{reference: func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
			rows := s.RequireGrad(s.Clone(x[len(x)-1]))
			y := s.MLP(rows, layersOf(x, f))
			return []tensor.Tensor{y, s.Mean(s.Sum(s.Square(s.Grad(y, true, rows)[0]), -1))}
		}})
	}
	linear := func(c *testCase) {
		in, out := c.size(), c.size()
		shape := append(c.shape(0, 2), in)
		x, w, b := c.in(c.array(c.normal, shape...)), c.in(c.array(c.normal, out, in)), c.in(c.array(c.normal, out))
		b.none = c.chance(0.3)
		c.check([]*input{x, w, b}, three((*tensor.Scope).Linear), options{near: 1e-12, want: func() []array {
			return []array{dense(x.values, w.values, b, tensor.Identity)}
		}})
	}
	conv := func(c *testCase) {
		small := func(n int64) int64 { return 1 + c.Int64N(n) }
		g := tensor.Convolution{Stride: [2]int64{small(3), small(3)}, Dilation: [2]int64{small(2), small(2)},
			Groups: small(2)}
		for i := range g.Padding {
			g.Padding[i] = c.Int64N(3)
		}
		in, out := g.Groups*small(3), g.Groups*small(4)
		kh, kw := small(3), small(3)
		if c.wild {
			g.Groups, g.Stride[0] = c.perhaps(g.Groups), max(-1, min(9, c.perhaps(g.Stride[0])))
			g.Padding[0] = max(-9, min(9, c.perhaps(g.Padding[0])))
			g.Dilation[1] = max(-1, min(9, c.perhaps(g.Dilation[1])))
		}
		b := c.in(c.array(c.normal, out))
		b.none = c.chance(0.3)
		c.say("%+v", g)
		x := c.in(c.array(c.normal, c.Int64N(4), in, small(12), small(12)))
		k := c.in(c.array(c.normal, out, in/max(1, min(2, g.Groups)), kh, kw))
		c.check([]*input{x, k, b}, three(func(s *tensor.Scope, x, k, b tensor.Tensor) tensor.Tensor {
			return s.Conv2d(x, k, b, g)
		}), options{near: 1e-12, want: func() []array { return []array{convolve(x.values, k.values, b, g)} }})
	}
	all := []operation{{"MLP", 64, mlp(false)}, {"MLP-bfloat16", lowBound, mlp(true)}, {"Critic", 128, critic},
		{"Linear", 64, linear}, {"Conv2d", 64, conv}}
	for kind, name := range map[tensor.RecurrentKind]string{tensor.RNN: "RNN", tensor.GRU: "GRU", tensor.LSTM: "LSTM"} {
		all = append(all, operation{name, 256, func(c *testCase) { drawRecurrent(c, kind) }})
	}
	return all
}

func drawRecurrent(c *testCase, kind tensor.RecurrentKind) {
	small := func() int64 { return 1 + c.Int64N(20) }
	r := recurrentCase{kind: kind, layers: 1 + c.Int64N(2), inputs: small(), hidden: small(),
		length: 1 + c.Int64N(6), sequences: c.Int64N(7)}
	rows := r.length * r.sequences
	var in []*input
	for _, shape := range r.shapes() {
		half := func() float64 { return float64(float32(c.NormFloat64() / 2)) } // larger ones amplify rounding
		in = append(in, c.flat(c.array(half, shape...)))
		in[len(in)-1].grad = c.chance(0.95) // some parameters are fixed
	}
	x := c.sometimes(c.array(c.normal, rows, r.inputs))
	if c.chance(0.5) {
		x.grad = false
	}
	state := c.sometimes(c.array(c.normal, r.sequences, int64(kind.States())*r.layers*r.hidden)).constant()
	ended := c.sometimes(c.array(func() float64 { return number(c.chance(0.3)) }, rows, 1)).constant()
	state.none, ended.none = c.chance(0.3), c.chance(0.3)
	length := c.perhaps(r.length)
	c.say("%d layers, %d steps", r.layers, length)
	n := len(in)
	c.check(append(in, x, state, ended), func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
		out, last := s.Recurrent(x[n], x[n+1], x[n+2], int(length), &tensor.RecurrentLayers{Kind: kind, Weights: x[:n]})
		c.not(s.Err() == nil && tensor.RequiresGrad(last), "the last state has a gradient")
		return []tensor.Tensor{out, last}
	}, options{reference: func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
		out, last := r.byHand(s, x[n], x[n+1], x[n+2], x[:n])
		return []tensor.Tensor{out, s.Detach(last)}
	}})
}
