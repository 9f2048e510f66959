package tensor_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/tensor"
)

// inPlaceOperations change a copy of their first operand, which is laid out as the operand is.
func inPlaceOperations() []operation {
	// change returns the base of an operand after f has changed the operand.
	change := func(c *testCase, to *input, others []*input, f func(s *tensor.Scope, to tensor.Tensor,
		x []tensor.Tensor)) {
		to.grad = false
		whole := c.flat(to.base).constant()
		if to.dtype != tensor.Float32 {
			whole.of(to.dtype)
		}
		c.wild = c.wild && len(others) > 0
		in := append(others, whole)
		c.check(in, func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
			base := s.Clone(x[len(x)-1])
			f(s, to.view(s, base), x[:len(x)-1])
			return []tensor.Tensor{base}
		})
	}
	return []operation{
		{"Copy", 0, func(c *testCase) {
			to := c.movable(c.shape(0, 3))
			source := c.in(c.array(func() float64 { return float64(c.IntN(2)) }, to.values.shape...))
			if to.dtype != tensor.Float32 {
				source.of(to.dtype)
			}
			change(c, to, []*input{source.constant()},
				func(s *tensor.Scope, to tensor.Tensor, x []tensor.Tensor) { s.Copy(to, x[0]) })
		}},
		{"AddTo", 4, func(c *testCase) {
			shape, alpha := c.shape(0, 3), c.normal()
			change(c, c.in(c.array(c.special, shape...)), []*input{c.broadcast(c.special, shape).constant()},
				func(s *tensor.Scope, to tensor.Tensor, x []tensor.Tensor) { s.AddTo(to, x[0], alpha) })
		}},
		{"Scale", 1, func(c *testCase) {
			x := c.special()
			change(c, c.in(c.array(c.special, c.shape(0, 3)...)), nil,
				func(s *tensor.Scope, to tensor.Tensor, _ []tensor.Tensor) { s.Scale(to, x) })
		}},
		{"Fill", 0, func(c *testCase) {
			x := float64(c.IntN(2))
			change(c, c.movable(c.shape(0, 3)), nil,
				func(s *tensor.Scope, to tensor.Tensor, _ []tensor.Tensor) { s.Fill(to, x) })
		}},
		{"IndexCopy", 0, func(c *testCase) {
			shape := c.shape(1, 3)
			index := array{x: []float64{}}
			for _, k := range c.Perm(int(shape[0]))[:c.Int64N(shape[0]+1)] {
				index.x = append(index.x, float64(c.perhaps(int64(k))))
			}
			index.shape = []int64{int64(len(index.x))}
			from := append([]int64{index.shape[0]}, shape[1:]...)
			change(c, c.in(c.array(c.normal, shape...)), []*input{c.in(index).of(tensor.Int64), c.in(c.array(c.normal,
				from...)).constant()},
				func(s *tensor.Scope, to tensor.Tensor, x []tensor.Tensor) { s.IndexCopy(to, x[0], x[1]) })
		}},
		{"Tally", 2, func(c *testCase) {
			n := 1 + c.Int64N(4)
			var in []*input
			for range n {
				in = append(in, c.sometimes(c.array(c.normal)).constant())
			}
			sums := c.sometimes(c.array(c.normal, c.perhaps(n)&7)).of(tensor.Float64)
			change(c, sums, in, func(s *tensor.Scope, to tensor.Tensor, x []tensor.Tensor) { s.Tally(to, x...) })
		}},
	}
}

// parameter returns a Flat of one parameter of n numbers.
func (c *testCase) parameter(n int64) (flat *tensor.Flat, values []float64, end func()) {
	own := tensor.NoGrad()
	values = c.array(c.normal, n).x
	p := []tensor.Parameter{{Name: "p", Tensor: tensor.From(own, float32s(values), n)}}
	flat, err := tensor.NewFlat(p, tensor.CPU)
	c.must(err)
	return flat, values, func() { flat.Close(); own.Close() }
}

// segments cuts [0, n) into some ranges side by side, and leaves some elements out.
func (c *testCase) segments(n int64) (out [][2]int64) {
	for at := c.Int64N(3); at < n; {
		end := min(n, at+c.width()*(1+99*c.Int64N(2)))
		out = append(out, [2]int64{at, end})
		at = end + c.Int64N(2)*c.Int64N(3)
	}
	if len(out) == 0 {
		out = [][2]int64{{0, n}}
	}
	return out
}

// drawOptimizer clips the gradients' norms and steps, with ranges of their own for either.
func drawOptimizer(c *testCase) {
	n := c.width() * (1 + c.Int64N(2)*400) // several threads share long ones
	flat, p, end := c.parameter(n)
	defer end()
	cfg := tensor.OptimizerConfig{Kind: []string{"adam", "adamw", "sgd"}[c.IntN(3)],
		WeightDecay: 0.1 * float64(c.IntN(2))}
	if cfg.Kind == "sgd" {
		cfg.Momentum = 0.9 * float64(c.IntN(2))
		cfg.Nesterov = cfg.Momentum > 0 && c.chance(0.5)
	} else if c.chance(0.5) {
		cfg.Betas, cfg.Eps = []float64{0.8, 0.99}, 1e-5
	}
	var groups []tensor.Group
	for _, s := range c.segments(n) {
		groups = append(groups, tensor.Group{Begin: s[0], End: s[1], LearningRate: []float64{1e-3, 1e-2}[c.IntN(2)]})
	}
	var clips []tensor.Clip
	for _, s := range c.segments(n) {
		clips = append(clips, tensor.Clip{Begin: s[0], End: s[1], MaxNorm: []float64{0, 0.5, 10, 1e9}[c.IntN(4)]})
	}
	c.say("%d parameters, %+v, %d groups, clips %v", n, cfg, len(groups), clips)
	o, err := tensor.NewOptimizer(flat, cfg, groups, clips)
	c.must(err)
	defer o.Close()
	r := newReference(o.Config(), n)
	s := tensor.NoGrad()
	defer s.Close()
	graph, err := tensor.NewGraph(tensor.CPU)
	c.must(err)
	defer graph.Close()
	recorded := c.chance(0.3)
	change := func() error { o.ClipGrad(s); o.Step(s); return s.Err() }
	for step := range 3 {
		if step == 1 {
			o.Groups[0].LearningRate, groups[0].LearningRate = 5e-3, 5e-3
		}
		rates := slices.Repeat([]float64{-1}, int(n))
		for _, group := range groups {
			copy(rates[group.Begin:], slices.Repeat([]float64{group.LearningRate}, int(group.End-group.Begin)))
		}
		g, norms := c.array(c.normal, n).x, array{[]int64{int64(len(clips))}, nil}
		c.must(tensor.Write(flat.Grads, g))
		for _, clip := range clips {
			length := norm(g[clip.Begin:clip.End])
			norms.x = append(norms.x, length)
			for i := clip.Begin; i < clip.End && clip.MaxNorm > 0; i++ {
				g[i] *= min(1, clip.MaxNorm/(length+1e-6))
			}
		}
		if recorded {
			o.Advance(s)
		}
		switch {
		case !recorded:
			err = change()
		case graph.Recorded():
			err = graph.Replay()
		default:
			err = graph.Capture(s, change)
		}
		c.must(err)
		r.step(p, g, func(i int) float64 { return rates[i] })
		for what, x := range map[string]struct {
			got   tensor.Tensor
			want  array
			bound float64
		}{"norms": {o.Norms, norms, 8}, "gradients": {flat.Grads, array{[]int64{n}, g}, 8},
			"parameters":     {flat.Values, array{[]int64{n}, p}, 32},
			"first moments":  {o.ExpAvg, array{[]int64{n}, r.m}, 32},
			"second moments": {o.ExpAvgSq, array{[]int64{n}, r.v}, 32}} {
			if c.op.bound = x.bound; cfg.Kind != "sgd" || !strings.HasSuffix(what, "moments") {
				c.compare(fmt.Sprintf("%s after step %d", what, step+1), c.arrayOf(x.got), x.want, false)
			}
		}
	}
	c.worst.values += 15
}
