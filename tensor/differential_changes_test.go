package tensor_test

import (
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// inPlaceOperations change a copy of their first operand, which is laid out as the operand is.
func inPlaceOperations() []operation {
	// change returns the base of an operand after f has changed the operand.
	change := func(c *testCase, to *input, others []*input, f func(s *tensor.Scope, to tensor.Tensor,
		x []tensor.Tensor)) {
		to.grad = false
		whole := c.flat(to.base).constant()
		whole.dtype = to.dtype
		if whole.dtype != tensor.Float32 {
			whole.of(whole.dtype)
		}
		wild := c.wild
		c.wild = wild && len(others) > 0
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
			if source.dtype = to.dtype; source.dtype != tensor.Float32 {
				source.of(source.dtype)
			}
			change(c, to, []*input{source.constant()}, func(s *tensor.Scope, to tensor.Tensor,
				x []tensor.Tensor) {
				s.Copy(to, x[0])
			})
		}},
		{"AddTo", 4, func(c *testCase) {
			shape, alpha := c.shape(0, 3), c.normal()
			change(c, c.in(c.array(c.special, shape...)), []*input{c.broadcast(c.special, shape).constant()},
				func(s *tensor.Scope, to tensor.Tensor, x []tensor.Tensor) { s.AddTo(to, x[0], alpha) })
		}},
		{"Scale", 1, func(c *testCase) {
			x := c.special()
			change(c, c.in(c.array(c.special, c.shape(0, 3)...)), nil, func(s *tensor.Scope, to tensor.Tensor,
				_ []tensor.Tensor) {
				s.Scale(to, x)
			})
		}},
		{"Fill", 0, func(c *testCase) {
			x := float64(c.IntN(2))
			change(c, c.movable(c.shape(0, 3)), nil, func(s *tensor.Scope, to tensor.Tensor,
				_ []tensor.Tensor) {
				s.Fill(to, x)
			})
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

// parameter returns a Flat of one parameter of n numbers, with gradients.
func (c *testCase) parameter(n int64, behind int64) (flat *tensor.Flat, values, grads []float64, end func()) {
	own := tensor.NoGrad()
	values, grads = c.array(c.normal, n).x, c.array(c.normal, n).x
	p := []tensor.Parameter{{Name: "p", Tensor: tensor.From(own, float32s(values), n)}}
	flat, err := tensor.NewSharedFlat(p, tensor.CPU, behind, "a test")
	if err == nil {
		err = tensor.Write(flat.Grads, grads)
	}
	if err != nil {
		c.fatalf("%v", err)
	}
	return flat, values, grads, func() { flat.Close(); own.Close() }
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

func drawOptimizer(c *testCase) {
	n := c.width() * (1 + c.Int64N(2)*400) // several threads share long ones
	flat, p, _, end := c.parameter(n, 0)
	defer end()
	cfg := tensor.OptimizerConfig{Kind: []string{"adam", "adamw", "sgd"}[c.IntN(3)],
		WeightDecay: 0.1 * float64(c.IntN(2))}
	if cfg.Kind == "sgd" {
		cfg.Momentum = 0.9 * float64(c.IntN(2))
		cfg.Nesterov = cfg.Momentum > 0 && c.chance(0.5)
	} else if c.chance(0.5) {
		cfg.Betas, cfg.Eps = []float64{0.8, 0.99}, 1e-5
	}
	rates := make([]float64, n)
	for i := range rates {
		rates[i] = -1
	}
	var groups []tensor.Group
	for _, s := range c.segments(n) {
		g := tensor.Group{Begin: s[0], End: s[1], LearningRate: []float64{1e-3, 1e-2}[c.IntN(2)]}
		groups = append(groups, g)
		for i := g.Begin; i < g.End; i++ {
			rates[i] = g.LearningRate
		}
	}
	c.say("%d parameters, %+v, %d groups", n, cfg, len(groups))
	o, err := tensor.NewOptimizer(flat, cfg, groups, nil)
	if err != nil {
		c.fatalf("%v", err)
	}
	defer o.Close()
	r := newReference(o.Config(), n)
	s := tensor.NoGrad()
	defer s.Close()
	graph, err := tensor.NewGraph(tensor.CPU)
	if err != nil {
		c.fatalf("%v", err)
	}
	defer graph.Close()
	recorded := c.chance(0.3)
	for step := range 3 {
		g := c.array(c.normal, n).x
		if err := tensor.Write(flat.Grads, g); err != nil {
			c.fatalf("%v", err)
		}
		if err := func() error {
			if !recorded {
				o.Step(s)
				return s.Err()
			}
			o.Advance(s)
			if graph.Recorded() {
				return graph.Replay()
			}
			return graph.Capture(s, func() error { o.Step(s); return nil })
		}(); err != nil {
			c.fatalf("%v", err)
		}
		r.step(p, g, func(i int) float64 { return rates[i] })
		for what, pair := range map[string]struct {
			got  tensor.Tensor
			want []float64
		}{"parameters": {flat.Values, p}, "first moments": {o.ExpAvg, r.m}, "second moments": {o.ExpAvgSq, r.v}} {
			if what == "parameters" || cfg.Kind != "sgd" {
				c.compare(fmt.Sprintf("%s after step %d", what, step+1), c.arrayOf(pair.got),
					array{[]int64{n}, pair.want}, false)
			}
		}
	}
	c.worst.values += 9
}

func drawClipGrad(c *testCase) {
	n := c.width() * (1 + c.Int64N(2)*50)
	flat, _, g, end := c.parameter(n, 0)
	defer end()
	var clips []tensor.Clip
	want := array{[]int64{0}, nil}
	for _, s := range c.segments(n) {
		clip := tensor.Clip{Begin: s[0], End: s[1], MaxNorm: []float64{0, 0.5, 10, 1e9}[c.IntN(4)]}
		clips = append(clips, clip)
		length := norm(g[s[0]:s[1]])
		want.x, want.shape[0] = append(want.x, length), want.shape[0]+1
		for i := s[0]; i < s[1] && clip.MaxNorm > 0; i++ {
			g[i] *= min(1, clip.MaxNorm/(length+1e-6))
		}
	}
	o, err := tensor.NewOptimizer(flat, tensor.OptimizerConfig{}, []tensor.Group{{End: n}}, clips)
	if err != nil {
		c.fatalf("%v", err)
	}
	defer o.Close()
	s := tensor.NoGrad()
	defer s.Close()
	o.ClipGrad(s)
	if err := s.Err(); err != nil {
		c.fatalf("%v", err)
	}
	c.compare("norms", c.arrayOf(o.Norms), want, false)
	c.compare("gradients", c.arrayOf(flat.Grads), array{[]int64{n}, g}, false)
	c.worst.values += 2
}

func drawPack(c *testCase) {
	n, figures, ranks := c.width(), c.Int64N(4), 1+c.Int64N(4)
	flat, _, g, end := c.parameter(n, 1+figures+ranks)
	defer end()
	s := tensor.NoGrad()
	defer s.Close()
	rank, asked, rows := c.perhaps(c.Int64N(ranks)), c.perhaps(figures), 1+c.Int64N(50)
	want := array{[]int64{n + 1 + figures + ranks}, nil}
	for _, x := range g {
		want.x = append(want.x, x*float64(rows))
	}
	want.x = append(want.x, float64(rows))
	var list []tensor.Tensor
	finite := true
	for range figures {
		x := c.special()
		finite = finite && !math.IsNaN(x) && !math.IsInf(x, 0)
		list = append(list, tensor.From(s, []float32{float32(x)}))
		want.x = append(want.x, x*float64(rows))
	}
	c.say("%d gradients, %d figures of which %d are asked for, rank %d of %d", n, figures, asked, rank, ranks)
	valid := rank >= 0 && rank < ranks
	for i := range ranks {
		want.x = append(want.x, number(i == rank && !finite))
	}
	flat.Pack(s, rows, int(rank), list...)
	if (s.Err() == nil) != valid {
		c.fatalf("Pack's error is %v", s.Err())
	}
	if !valid {
		c.worst.refusals++
		return
	}
	c.compare("packed", c.arrayOf(flat.Shared), want, false)
	if asked < 0 || asked > figures+ranks {
		if _, _ = flat.Unpack(s, int(asked)); s.Err() == nil {
			c.fatalf("Unpack of %d figures is no error", asked)
		}
		c.worst.refusals++
		return
	}
	got, flags := flat.Unpack(s, int(asked))
	if s.Err() != nil || int64(len(got)) != asked {
		c.fatalf("Unpack gives %d figures and %v", len(got), s.Err())
	}
	for i := range got {
		c.compare("a figure", c.arrayOf(got[i]), array{nil, []float64{want.x[n+1+int64(i)] / float64(rows)}}, false)
	}
	c.compare("flags", c.arrayOf(flags), array{[]int64{figures + ranks - asked}, want.x[n+1+asked:]}, false)
	c.compare("gradients", c.arrayOf(flat.Grads), array{[]int64{n}, g}, false)
	c.worst.values += 4
}

// A part of a transfer with what it should hold.
type sentPart struct {
	part  tensor.Part
	want  array
	dtype tensor.DType
}

func put[T tensor.Element](c *testCase, to *tensor.Transfer, d tensor.DType, a array) sentPart {
	data := make([]T, len(a.x))
	for i, x := range a.x {
		var v any
		switch any(data[i]).(type) {
		case uint8:
			v = uint8(x)
		case int64:
			v = int64(x)
		case float32:
			v = float32(x)
		case float64:
			v = x
		case bool:
			v = x != 0
		}
		data[i] = v.(T)
	}
	part, err := tensor.Put(to, data, a.shape...)
	if err != nil {
		c.fatalf("%v", err)
	}
	return sentPart{part, a, d}
}

func drawTransfer(c *testCase) {
	to := tensor.NewTransfer(tensor.CPU)
	defer to.Close()
	s := tensor.NoGrad()
	defer s.Close()
	for range 2 {
		to.Begin()
		var parts []sentPart
		for range 1 + c.IntN(6) {
			a := c.array(func() float64 { return float64(c.IntN(2)) }, c.shape(1, 4)...)
			switch c.IntN(5) {
			case 0:
				parts = append(parts, put[uint8](c, to, tensor.Uint8, a))
			case 1:
				parts = append(parts, put[int64](c, to, tensor.Int64, a))
			case 2:
				parts = append(parts, put[float32](c, to, tensor.Float32, a))
			case 3:
				parts = append(parts, put[float64](c, to, tensor.Float64, a))
			default:
				parts = append(parts, put[bool](c, to, tensor.Bool, a))
			}
		}
		to.Send(s)
		for _, p := range parts {
			got := p.part.Tensor(s)
			if s.Err() != nil || tensor.TypeOf(got) != p.dtype {
				c.fatalf("a part is %v, want %v; %v", tensor.TypeOf(got), p.dtype, s.Err())
			}
			c.compare("a part", c.arrayOf(got), p.want, true)
			c.worst.values++
		}
		shape := []int64{-1 - c.Int64N(5), c.Int64N(5) - 2, math.MaxInt64, 1 << 40}[:1+c.IntN(4)]
		if _, _, err := tensor.Reserve[float32](to, shape...); err == nil {
			c.fatalf("a part of the shape %v is no error", shape)
		}
		c.worst.refusals++
	}
}

// drawRandInt compares with libtorch, which draws the numbers where their range is too large for the engine.
func drawRandInt(c *testCase) {
	s := tensor.NoGrad()
	defer s.Close()
	g, err := tensor.NewGenerator(c.Int64(), tensor.CPU)
	if err != nil {
		c.fatalf("%v", err)
	}
	defer g.Close()
	shape := c.shape(0, 3)
	for i := range shape {
		shape[i] = c.perhaps(shape[i])
	}
	low := c.Int64N(100) - 50
	high := low + c.perhaps(1+c.Int64N(1000))
	c.say("[%d, %d) %v", low, high, shape)
	valid := low < high && high <= 1<<53
	n := 1.0
	for _, d := range shape {
		valid = valid && d >= 0
		n *= float64(max(1, d))
	}
	got := s.RandInt(g, low, high, shape...)
	if valid = valid && n <= 1<<48; (s.Err() == nil) != valid {
		c.fatalf("the error is %v", s.Err())
	} else if !valid {
		c.worst.refusals++
		return
	}
	for _, x := range tensortest.Float64s(c.t, s, got) {
		if !(x >= float64(low) && x < float64(high)) {
			c.fatalf("%g is not in [%d, %d)", x, low, high)
		}
	}
	if !slices.Equal(tensor.Shape(got), shape) {
		c.fatalf("the shape is %v", tensor.Shape(got))
	}
	c.worst.values++
}
