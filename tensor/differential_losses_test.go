package tensor_test

import (
	"math"
	"slices"

	"github.com/gorl-dev/gorl/tensor"
)

func drawGaussianLogProb(c *testCase) {
	shape := c.shape(1, 3)
	logStd := c.broadcast(func() float64 { return float64(float32(c.NormFloat64() / 4)) }, shape)
	c.check([]*input{c.broadcast(c.normal, shape).constant(), c.broadcast(c.normal, shape), logStd},
		three((*tensor.Scope).GaussianLogProb))
}

// logRatios returns n log-probabilities and old ones, of whose ratios none is near the limits of a clip, which
// float32 and float64
// might find on either side of them.
func (c *testCase) logRatios(n int64, clip float64) (now, old array) {
	now, old = c.array(c.normal, n, 1), c.array(c.normal, n, 1)
	for i := range now.x {
		// The loss is also compared where all operands are halved.
		near := func(k float64) bool {
			return math.Abs(math.Abs(math.Exp(k*(now.x[i]-old.x[i]))-1)-clip) <= 1e-4
		}
		for again := true; again; again = near(1) || near(0.5) {
			now.x[i] = float64(float32(old.x[i] + 0.4*c.NormFloat64()))
			if c.chance(0.1) {
				now.x[i] = old.x[i]
			}
		}
	}
	return now, old
}

func losses() []operation {
	all := []operation{
		{"Surrogate", 64, func(c *testCase) {
			clip := 0.05 + 0.4*c.Float64()
			now, old := c.logRatios(c.size()+c.size(), clip)
			a := c.array([]func() float64{c.normal, c.grid}[c.IntN(2)], now.shape...)
			in := []*input{c.sometimes(now), c.sometimes(old).constant(), c.sometimes(a).constant()}
			if c.chance(0.1) {
				in[2].grad = true
			}
			c.check(in, func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
				loss, kl, fraction := s.Surrogate(x[0], x[1], x[2], clip)
				return []tensor.Tensor{loss, s.Detach(kl), s.Detach(fraction)}
			})
		}},
		{"CrossEntropy", 32, func(c *testCase) {
			value := func() float64 { return float64(float32(5 * c.NormFloat64())) }
			c.check([]*input{c.sometimes(c.array(value, c.size(), 1)), c.sometimes(c.array(value, c.size(), 1))},
				two((*tensor.Scope).CrossEntropy))
		}},
		{"GaussianLogProbSum", 64, func(c *testCase) {
			n, width := c.size(), c.size()
			in := []*input{c.sometimes(c.array(c.normal, n, width)), c.sometimes(c.array(c.normal, n, width)),
				c.sometimes(c.array(func() float64 { return float64(float32(c.NormFloat64() / 4)) }, width))}
			in[0].grad = c.chance(0.1)
			c.check(in, three((*tensor.Scope).GaussianLogProbSum))
		}},
		{"Categorical", 64, func(c *testCase) {
			n, width, counts := c.size(), int64(0), []int64{}
			for range 1 + c.IntN(4) {
				counts = append(counts, c.width()%20+1)
				width += counts[len(counts)-1]
			}
			choices := c.array(func() float64 { return 0 }, n, int64(len(counts)))
			for i := range choices.x {
				k := counts[i%len(counts)]
				choices.x[i] = float64(c.Int64N(k))
				if c.wild && c.chance(0.02) {
					choices.x[i] = []float64{-1, float64(k), math.NaN(), math.Inf(1), math.Inf(-1), 1e30}[c.IntN(6)]
				}
			}
			for i := range counts {
				counts[i] = c.perhaps(counts[i])
			}
			c.say("counts %v", counts)
			c.check([]*input{c.sometimes(c.array(c.normal, n, width)), c.sometimes(choices).constant()},
				pair(func(s *tensor.Scope, a, b tensor.Tensor) (x, y tensor.Tensor) {
					return s.Categorical(a, b, counts...)
				}))
		}},
		{"SumSquares", 256, func(c *testCase) {
			var in []*input
			var scales []float64
			for range 1 + c.IntN(3) {
				in = append(in, c.sometimes(c.array(c.normal, c.shape(1, 2)...)))
				scales = append(scales, c.NormFloat64())
			}
			c.check(in, func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
				return []tensor.Tensor{s.SumSquares(scales, x...)}
			}, options{near: 1e-9, want: func() []array {
				total := 0.0
				for i, x := range in {
					total += scales[i] * math.Pow(norm(x.values.x), 2)
				}
				return []array{{[]int64{}, []float64{total}}}
			}})
		}},
		{"PositiveShare", 8, func(c *testCase) {
			c.check([]*input{c.sometimes(c.array(c.values(), c.shape(0, 2)...)).constant()},
				pair(func(s *tensor.Scope, a, _ tensor.Tensor) (x, y tensor.Tensor) { return s.PositiveShare(a) }))
		}},
	}
	for kind, name := range map[tensor.ValueClip]string{tensor.NoValueClip: "free", tensor.ClippedOnly: "clipped",
		tensor.Pessimistic: "pessimistic"} {
		all = append(all, operation{"ValueLoss-" + name, 64, func(c *testCase) {
			clip := float64(float32(0.1 + c.Float64()))
			n := c.size() + c.size()
			value, old, returns := c.array(c.normal, n, 1), c.array(c.normal, n, 1), c.array(c.normal, n, 1)
			for i := range value.x {
				// float32 and float64 must find the same of two losses larger, also of half the operands
				near := func(k float64) bool {
					d := k * (value.x[i] - old.x[i])
					held := k*old.x[i] + max(-clip, min(clip, d))
					return math.Abs(math.Abs(d)-clip) < 1e-4 || math.Abs(d) > clip &&
						math.Abs(math.Abs(k*returns.x[i]-held)-math.Abs(k*(returns.x[i]-value.x[i]))) < 1e-4
				}
				for try := 0; try < 100 && (near(1) || near(0.5)); try++ {
					value.x[i] = c.normal()
				}
			}
			c.check([]*input{c.sometimes(value), c.sometimes(old).constant(), c.sometimes(returns).constant()},
				three(func(s *tensor.Scope, a, b, c tensor.Tensor) tensor.Tensor {
					return s.ValueLoss(a, b, c, clip, kind)
				}))
		}})
	}
	return all
}

// advantages sums γλ-weighted temporal differences forwards, from every step to where its chain ends.
func advantages(r, v, next, bootstrap, chain []float64, steps, envs int, gamma, lambda float64) []float64 {
	out := make([]float64, len(r))
	for t := range steps {
		for e := range envs {
			weight := 1.0
			for k := t; k < steps; k++ {
				i := k*envs + e
				out[t*envs+e] += weight * (r[i] - v[i] + gamma*bootstrap[i]*next[i])
				weight *= gamma * lambda * chain[i]
			}
		}
	}
	return out
}

func drawGAE(c *testCase) {
	shape := []int64{c.size(), c.size(), 1}
	flags := func() float64 { return number(c.chance(0.8)) }
	var in []*input
	for _, value := range []func() float64{c.normal, c.normal, c.normal, flags, flags} {
		in = append(in, c.sometimes(c.array(value, shape...)).constant())
	}
	c.check(in, func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
		return []tensor.Tensor{s.GAE(x[0], x[1], x[2], x[3], x[4], 0.9, 0.8)}
	}, options{near: 1e-12, want: func() []array {
		return []array{{shape, advantages(in[0].values.x, in[1].values.x, in[2].values.x, in[3].values.x,
			in[4].values.x, int(shape[0]), int(shape[1]), 0.9, 0.8)}}
	}})
}

// scaled returns an operand, and a mean and a variance of its width, float64 as scalers keep them.
func (c *testCase) scaled(value func() float64) (x, mean, variance *input) {
	x = c.sometimes(c.array(value, c.shape(1, 3)...)).constant()
	width := x.values.shape[len(x.values.shape)-1]
	mean, variance = c.flat(c.array(c.normal, width)), c.flat(c.array(c.positive, width))
	return x, mean.of(tensor.Float64), variance.of(tensor.Float64)
}

// columns returns options with results f of every element and its column.
func (in *input) columns(f func(x float64, column int) float64) options {
	a := in.values
	return options{near: 1e-6, want: func() []array {
		y := slices.Clone(a.x)
		for i := range y {
			y[i] = f(y[i], i%int(a.shape[len(a.shape)-1]))
		}
		return []array{{a.shape, y}}
	}}
}

func drawScalerForward(c *testCase) {
	x, mean, variance := c.scaled(c.special)
	clip := []float64{5, 0.5, 1e9}[c.IntN(3)]
	c.check([]*input{x, mean, variance}, three(func(s *tensor.Scope, x, m, v tensor.Tensor) tensor.Tensor {
		return s.ScalerForward(x, m, v, 1e-2, clip)
	}), x.columns(func(x float64, k int) float64 {
		return max(-clip, min(clip, (x-mean.values.x[k])/(math.Sqrt(variance.values.x[k])+1e-2)))
	}))
}

func drawScalerInverse(c *testCase) {
	x, mean, variance := c.scaled(c.normal)
	c.check([]*input{x, mean, variance}, three(func(s *tensor.Scope, x, m, v tensor.Tensor) tensor.Tensor {
		return s.ScalerInverse(x, m, v, 2)
	}), x.columns(func(x float64, k int) float64 {
		return math.Sqrt(variance.values.x[k])*max(-2, min(2, x)) + mean.values.x[k]
	}))
}

func drawScalerUpdate(c *testCase) {
	x, mean, variance := c.scaled(c.normal)
	width := mean.values.shape[0]
	count := float64(c.IntN(100))
	bessel, freeze := c.chance(0.5), []float64{0, 50}[c.IntN(2)]
	c.say("count %g, bessel %v, freeze after %g", count, bessel, freeze)
	update := func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
		m, v, n := s.Clone(x[1]), s.Clone(x[2]), s.Clone(x[3])
		s.ScalerUpdate(x[0], m, v, n, bessel, freeze)
		return []tensor.Tensor{m, v, n}
	}
	byHand := func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
		rows := s.Reshape(s.As(x[0], tensor.Float64), -1, width)
		n := float64(tensor.Size(rows, 0))
		if freeze > 0 && count > freeze {
			return []tensor.Tensor{x[1], x[2], x[3]}
		}
		batch := s.Mean(rows, 0)
		squares := s.Sum(s.Square(s.Sub(rows, batch)), 0)
		divisor := n
		if bessel {
			divisor--
		}
		delta := s.Sub(batch, x[1])
		v := s.Add(s.MulScalar(x[2], count/(count+n)), s.MulScalar(squares, n/divisor/(count+n)))
		v = s.Add(v, s.MulScalar(s.Square(delta), count*n/(count+n)/(count+n)))
		return []tensor.Tensor{s.Add(x[1], s.MulScalar(delta, n/(count+n))), v, s.AddScalar(x[3], n)}
	}
	o := options{reference: byHand}
	if n := elements(x.values.shape); n == 0 || bessel && n == width {
		o.reference = nil
	}
	c.check([]*input{x, mean, variance, c.flat(array{[]int64{1}, []float64{count}}).of(tensor.Float64)}, update, o)
}
