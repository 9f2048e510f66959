package tensor_test

import (
	"slices"

	"github.com/gorl-dev/gorl/tensor"
)

// moving draws an operation of an operand of a shape, and the result by Go where the arguments are right.
type moving = func(c *testCase, shape []int64) (f scopeUnary, want func(a array) array)

func movements() []operation {
	movement := func(name string, least int, draw moving) operation {
		return operation{name, 0, func(c *testCase) {
			in := c.movable(c.shape(least, 4))
			f, want := draw(c, in.values.shape)
			o := options{each: true}
			if want != nil {
				o.want = func() []array { return []array{want(in.values)} }
			}
			c.check([]*input{in}, one(f), o)
		}}
	}
	return []operation{
		movement("Narrow", 1, func(c *testCase, shape []int64) (scopeUnary, func(array) array) {
			dim, d := c.axis(shape)
			start := c.Int64N(shape[d] + 1)
			length := c.Int64N(shape[d] - start + 1)
			at, n := c.perhaps(start), c.perhaps(length)
			c.say("dim %d, from %d, %d", dim, at, n)
			return func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Narrow(a, dim, at, n) },
				func(a array) array {
					return a.pick(resized(shape, d, length), func(i []int64) []int64 { i[d] += start; return i })
				}
		}),
		movement("Select", 1, func(c *testCase, shape []int64) (scopeUnary, func(array) array) {
			dim, d := c.axis(shape)
			index := c.Int64N(max(1, shape[d]))
			at := c.perhaps(index)
			c.say("dim %d, at %d", dim, at)
			f := func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Select(a, dim, at) }
			if shape[d] == 0 {
				return f, nil
			}
			return f, func(a array) array {
				return a.pick(without(shape, d), func(i []int64) []int64 { return within(i, d, index) })
			}
		}),
		movement("Unsqueeze", 0, func(c *testCase, shape []int64) (scopeUnary, func(array) array) {
			dim := c.dim(len(shape) + 1)
			if c.chance(0.5) {
				dim = 0
			}
			c.say("dim %d", dim)
			return func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Unsqueeze(a, dim) },
				func(a array) array { return array{within(shape, from(dim, len(shape)+1), 1), a.x} }
		}),
		movement("Transpose", 1, func(c *testCase, shape []int64) (scopeUnary, func(array) array) {
			p, q := c.dim(len(shape)), c.dim(len(shape))
			c.say("dims %d and %d", p, q)
			return func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Transpose(a, p, q) },
				func(a array) array {
					p, q := from(p, len(shape)), from(q, len(shape))
					swap := func(i []int64) []int64 { i[p], i[q] = i[q], i[p]; return i }
					return a.pick(swap(slices.Clone(shape)), swap)
				}
		}),
		movement("Permute", 1, func(c *testCase, shape []int64) (scopeUnary, func(array) array) {
			var order, to []int64
			for _, d := range c.Perm(len(shape)) {
				order, to = append(order, c.perhaps(int64(d))), append(to, shape[d])
			}
			c.say("order %v", order)
			return func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Permute(a, order...) },
				func(a array) array {
					return a.pick(to, func(i []int64) []int64 {
						from := make([]int64, len(i))
						for k, d := range order {
							from[d] = i[k]
						}
						return from
					})
				}
		}),
		movement("Reshape", 0, func(c *testCase, shape []int64) (scopeUnary, func(array) array) {
			to := slices.Clone(shape)
			c.Shuffle(len(to), func(i, j int) { to[i], to[j] = to[j], to[i] })
			if len(to) > 1 && c.chance(0.5) {
				to = append([]int64{to[0] * to[1]}, to[2:]...)
			}
			asked := slices.Clone(to)
			if len(to) > 0 && elements(to) > 0 && c.chance(0.3) {
				asked[c.IntN(len(to))] = -1
			}
			for i := range asked {
				asked[i] = c.perhaps(asked[i])
			}
			c.say("to %v", asked)
			return func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Reshape(a, asked...) },
				func(a array) array { return array{to, a.x} }
		}),
		{"Expand", 128, drawExpand}, {"IndexSelect", 32, drawIndexSelect}, {"Gather", 32, drawGather},
		{"Cat", 0, drawCat}, {"Stack", 0, drawStack},
	}
}

func drawExpand(c *testCase) {
	shape := c.shape(1, 4)
	in := c.broadcast(c.normal, shape)
	in.views = slices.DeleteFunc(in.views, func(v view) bool { return v.kind == "expand" })
	if c.wild && c.chance(0.3) {
		shape[c.IntN(len(shape))] += c.Int64N(7) - 3
	}
	for i := range shape { // -1 leaves a size as it is
		if k := i - len(shape) + len(in.values.shape); k >= 0 && in.values.shape[k] == shape[i] && c.chance(0.2) {
			shape[i] = -1
		}
	}
	c.say("to %v", shape)
	c.check([]*input{in}, one(func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Expand(a, shape...) }))
}

func drawIndexSelect(c *testCase) {
	in := c.movable(c.shape(1, 4))
	shape := in.values.shape
	dim, d := c.axis(shape)
	index := array{x: []float64{}}
	for range c.size() {
		if shape[d] > 0 {
			index.x = append(index.x, float64(c.perhaps(c.Int64N(shape[d]))))
		}
	}
	index.shape = []int64{int64(len(index.x))}
	c.say("dim %d, %v", dim, index.x)
	c.check([]*input{in, c.sometimes(index).of(tensor.Int64)},
		two(func(s *tensor.Scope, a, i tensor.Tensor) tensor.Tensor { return s.IndexSelect(a, dim, i) }),
		options{each: true, want: func() []array {
			return []array{in.values.pick(resized(shape, d, index.shape[0]),
				func(i []int64) []int64 { i[d] = int64(index.x[i[d]]); return i })}
		}})
}

func drawGather(c *testCase) {
	in := c.movable(c.shape(1, 3))
	shape := in.values.shape
	dim, d := c.axis(shape)
	to := slices.Clone(shape)
	if to[d] > 0 {
		to[d] = c.size()
	}
	index := c.array(func() float64 { return float64(c.perhaps(c.Int64N(max(1, shape[d])))) }, to...)
	c.say("dim %d", dim)
	c.check([]*input{in, c.in(index).of(tensor.Int64)},
		two(func(s *tensor.Scope, a, i tensor.Tensor) tensor.Tensor { return s.Gather(a, dim, i) }),
		options{each: true, want: func() []array {
			return []array{in.values.pick(to,
				func(i []int64) []int64 { i[d] = int64(index.x[index.place(i)]); return i })}
		}})
}

func drawCat(c *testCase) {
	shape := c.shape(1, 4)
	d := c.IntN(len(shape))
	if c.chance(0.5) {
		d = 0
	}
	dim, to, in := int64(d-len(shape)*c.IntN(2)), resized(shape, d, 0), []*input{}
	for range 1 + c.IntN(4) {
		part := c.sometimes(c.array(c.special, resized(shape, d, c.size()%20)...))
		in = append(in, part)
		to[d] += part.values.shape[d]
	}
	if c.wild && c.chance(0.2) {
		dim = c.dim(len(shape))
	}
	c.say("dim %d", dim)
	c.check(in, joined((*tensor.Scope).Cat, dim), options{each: true, want: func() []array {
		return []array{build(to, func(i []int64) float64 {
			k := 0
			for ; i[d] >= in[k].values.shape[d]; k++ {
				i[d] -= in[k].values.shape[d]
			}
			return in[k].values.x[in[k].values.place(i)]
		})}
	}})
}

func drawStack(c *testCase) {
	shape := c.shape(0, 3)
	dim, in := c.dim(len(shape)+1), []*input{}
	for range 1 + c.IntN(4) {
		in = append(in, c.sometimes(c.array(c.special, shape...)))
	}
	c.say("dim %d", dim)
	c.check(in, joined((*tensor.Scope).Stack, dim), options{each: true, want: func() []array {
		d := from(dim, len(shape)+1)
		return []array{build(within(shape, d, int64(len(in))), func(i []int64) float64 {
			a := in[i[d]].values
			return a.x[a.place(without(i, d))]
		})}
	}})
}
