package tensor_test

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

type (
	scopeUnary  = func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor
	scopeBinary = func(s *tensor.Scope, a, b tensor.Tensor) tensor.Tensor
)

// operations are all operations that TestDifferential draws cases of.
var operations = slices.Concat(unaryOperations(), binaryOperations(), scalarOperations(), reductions(),
	movements(), layers(),
	losses(), inPlaceOperations(), []operation{
		{"Where", 32, drawWhere}, {"Clamp", 2, drawClamp}, {"GaussianLogProb", 512, drawGaussianLogProb},
		{"GAE", 64, drawGAE}, {"ScalerForward", 32, drawScalerForward}, {"ScalerInverse", 8, drawScalerInverse},
		{"ScalerUpdate", 8, drawScalerUpdate}, {"Optimizer", 32, drawOptimizer}, {"ClipGrad", 8, drawClipGrad},
		{"Pack", 8, drawPack}, {"Transfer", 0, drawTransfer}, {"RandInt", 0, drawRandInt},
	})

func one(f scopeUnary) computation {
	return func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{f(s, x[0])} }
}

func three(f func(s *tensor.Scope, a, b, c tensor.Tensor) tensor.Tensor) computation {
	return func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
		return []tensor.Tensor{f(s, x[0], x[1], x[2])}
	}
}

func two(f scopeBinary) computation {
	return func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{f(s, x[0], x[1])} }
}

func joined(f func(s *tensor.Scope, dim int64, x ...tensor.Tensor) tensor.Tensor, dim int64) computation {
	return func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{f(s, dim, x...)} }
}

// values returns one of the generators of numbers.
func (c *testCase) values() func() float64 {
	return []func() float64{c.normal, c.normal, c.grid, c.special}[c.IntN(4)]
}

// sometimes is flat memory in half of the cases, which the engine knows, and any layout in the others.
func (c *testCase) sometimes(a array) *input {
	if c.chance(0.5) {
		return c.flat(a)
	}
	return c.in(a)
}

// each returns the values of f of every element.
func each(f func(float64) float64, a array) []array { return []array{{a.shape, apply(f, a.x)}} }

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// The activations by their definitions.
var formulas = map[tensor.Activation]func(float64) float64{
	tensor.Identity: func(x float64) float64 { return x },
	tensor.Relu:     func(x float64) float64 { return max(x, 0) },
	tensor.Tanh:     math.Tanh,
	tensor.Sigmoid:  sigmoid,
	tensor.Softplus: softplus,
	tensor.Elu: func(x float64) float64 {
		if x > 0 {
			return x
		}
		return math.Expm1(x)
	},
	tensor.LeakyRelu: func(x float64) float64 { return max(x, 0.01*x) },
	tensor.Softsign:  func(x float64) float64 { return x / (1 + math.Abs(x)) },
	tensor.Gelu:      func(x float64) float64 { return x * 0.5 * (1 + math.Erf(x/math.Sqrt2)) },
	tensor.Silu:      func(x float64) float64 { return x * sigmoid(x) },
	tensor.Selu: func(x float64) float64 {
		const alpha, scale = 1.6732632423543772, 1.0507009873554805
		return scale * (max(x, 0) + min(0, alpha*math.Expm1(x)))
	},
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// softplus is linear from 20 on, as libtorch's is.
func softplus(x float64) float64 {
	if x > 20 {
		return x
	}
	return math.Log1p(math.Exp(x))
}

func unaryOperations() (all []operation) {
	add := func(name string, bound float64, relative bool, f scopeUnary, formula func(float64) float64,
		value func(c *testCase) func() float64) {
		all = append(all, operation{name, bound, func(c *testCase) {
			a := c.array(value(c), c.shape(0, 4)...)
			c.check([]*input{c.sometimes(a)}, one(f),
				options{each: relative, want: func() []array { return each(formula, a) }, near: 1e-12})
		}})
	}
	anything := (*testCase).values
	positive := func(c *testCase) func() float64 { return c.positive }
	same := func(x float64) float64 { return x }
	add("Neg", 0, true, (*tensor.Scope).Neg, func(x float64) float64 { return -x }, anything)
	add("Exp", 4, true, (*tensor.Scope).Exp, math.Exp, anything)
	add("Log", 4, false, (*tensor.Scope).Log, math.Log, anything)
	add("Sqrt", 8, true, (*tensor.Scope).Sqrt, math.Sqrt, positive)
	add("Square", 2, true, (*tensor.Scope).Square, func(x float64) float64 { return x * x }, anything)
	add("Abs", 0, true, (*tensor.Scope).Abs, math.Abs, anything)
	add("Sign", 0, true, (*tensor.Scope).Sign, func(x float64) float64 { return number(x > 0) - number(x < 0) },
		anything)
	add("Sin", 8, false, (*tensor.Scope).Sin, math.Sin, anything)
	add("Cos", 8, false, (*tensor.Scope).Cos, math.Cos, anything)
	add("Tanh", 4, false, (*tensor.Scope).Tanh, math.Tanh, anything)
	add("Sigmoid", 4, false, (*tensor.Scope).Sigmoid, sigmoid, anything)
	add("Relu", 0, true, (*tensor.Scope).Relu, formulas[tensor.Relu], anything)
	add("Softplus", 8, false, (*tensor.Scope).Softplus, softplus, anything)
	add("IsFinite", 0, true, (*tensor.Scope).IsFinite,
		func(x float64) float64 { return number(!math.IsNaN(x) && !math.IsInf(x, 0)) }, anything)
	add("Not", 0, true, (*tensor.Scope).Not, func(x float64) float64 { return number(x == 0) }, anything)
	add("Detach", 0, true, (*tensor.Scope).Detach, same, anything)
	add("Clone", 0, true, (*tensor.Scope).Clone, same, anything)
	add("Contiguous", 0, true, (*tensor.Scope).Contiguous, same, anything)
	for f, formula := range formulas {
		if f == tensor.Identity { // returns the operand itself
			continue
		}
		add("Activate-"+f.String(), 8, false,
			func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Activate(f, a) }, formula,
			func(c *testCase) func() float64 { return []func() float64{c.normal, c.grid}[c.IntN(2)] })
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.name, b.name) })
	return all
}

func binaryOperations() (all []operation) {
	for _, op := range []struct {
		name    string
		bound   float64
		f       scopeBinary
		formula func(a, b float64) float64
	}{
		{"Add", 32, (*tensor.Scope).Add, func(a, b float64) float64 { return a + b }},
		{"Sub", 32, (*tensor.Scope).Sub, func(a, b float64) float64 { return a - b }},
		{"Mul", 32, (*tensor.Scope).Mul, func(a, b float64) float64 { return a * b }},
		{"Div", 32, (*tensor.Scope).Div, func(a, b float64) float64 { return a / b }},
		{"Min", 32, (*tensor.Scope).Min, func(a, b float64) float64 { return min(a, b) }},
		{"Max", 32, (*tensor.Scope).Max, func(a, b float64) float64 { return max(a, b) }},
		{"Eq", 0, (*tensor.Scope).Eq, func(a, b float64) float64 { return number(a == b) }},
		{"Ne", 0, (*tensor.Scope).Ne, func(a, b float64) float64 { return number(a != b) }},
		{"Lt", 0, (*tensor.Scope).Lt, func(a, b float64) float64 { return number(a < b) }},
		{"Le", 0, (*tensor.Scope).Le, func(a, b float64) float64 { return number(a <= b) }},
		{"Gt", 0, (*tensor.Scope).Gt, func(a, b float64) float64 { return number(a > b) }},
		{"Ge", 0, (*tensor.Scope).Ge, func(a, b float64) float64 { return number(a >= b) }},
		{"And", 0, (*tensor.Scope).And, func(a, b float64) float64 { return number(a != 0 && b != 0) }},
		{"Or", 0, (*tensor.Scope).Or, func(a, b float64) float64 { return number(a != 0 || b != 0) }},
	} {
		all = append(all, operation{op.name, op.bound, func(c *testCase) {
			shape, value := c.shape(0, 4), c.values()
			if op.name == "Div" {
				value = c.positive // a small divisor makes a gradient in which no other element counts
			}
			a, b := c.broadcast(value, shape), c.broadcast(value, shape)
			o := options{}
			if c.chance(0.5) { // what the engine knows
				x, y := c.array(value, shape...), c.array(value, shape...)
				a, b = c.flat(x), c.flat(y)
				o.near, o.want = 1e-12, func() []array {
					z := array{shape, make([]float64, len(x.x))}
					for i := range z.x {
						z.x[i] = op.formula(x.x[i], y.x[i])
					}
					return []array{z}
				}
			}
			c.check([]*input{a, b}, two(op.f), o)
		}})
	}
	all = append(all, operation{"Pow", 2048, func(c *testCase) {
		shape := c.shape(0, 4)
		c.check([]*input{c.broadcast(c.positive, shape), c.broadcast(c.normal, shape)}, two((*tensor.Scope).Pow))
	}})
	return append(all, operation{"MatMul", 32, func(c *testCase) {
		n, k, m := c.size(), c.size(), c.size()
		if c.wild { // libtorch has no error for operands of two types without elements
			n, k, m = c.width(), c.width(), c.width()
		}
		a, b := []int64{n, k}, []int64{k, m}
		if c.chance(0.3) {
			batch := 1 + c.Int64N(4)
			a, b = append([]int64{batch}, a...), append([]int64{[]int64{1, batch}[c.IntN(2)]}, b...)
		}
		c.check([]*input{c.in(c.array(c.normal, a...)), c.in(c.array(c.normal, b...))}, two((*tensor.Scope).MatMul))
	}})
}

func scalarOperations() (all []operation) {
	for _, op := range []struct {
		name    string
		f       func(s *tensor.Scope, a tensor.Tensor, x float64) tensor.Tensor
		formula func(a, x float64) float64
	}{
		{"AddScalar", (*tensor.Scope).AddScalar, func(a, x float64) float64 { return a + x }},
		{"MulScalar", (*tensor.Scope).MulScalar, func(a, x float64) float64 { return a * x }},
		{"ScalarSub", func(s *tensor.Scope, a tensor.Tensor, x float64) tensor.Tensor { return s.ScalarSub(x, a) },
			func(a, x float64) float64 { return x - a }},
		{"EqScalar", (*tensor.Scope).EqScalar, func(a, x float64) float64 { return number(a == x) }},
		{"LtScalar", (*tensor.Scope).LtScalar, func(a, x float64) float64 { return number(a < x) }},
		{"GtScalar", (*tensor.Scope).GtScalar, func(a, x float64) float64 { return number(a > x) }},
	} {
		all = append(all, operation{op.name, 2, func(c *testCase) {
			x := c.values()()
			c.say("%g", x)
			a := c.array(c.values(), c.shape(0, 4)...)
			c.check([]*input{c.sometimes(a)},
				one(func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return op.f(s, a, x) }),
				options{near: 1e-12, want: func() []array {
					return each(func(y float64) float64 { return op.formula(y, x) }, a)
				}})
		}})
	}
	return append(all, operation{"PowScalar", 32, func(c *testCase) {
		x := []float64{-1, 0, 0.5, 1, 2, 3, c.normal()}[c.IntN(7)]
		c.say("%g", x)
		a := c.array(c.positive, c.shape(0, 4)...)
		c.check([]*input{c.sometimes(a)},
			one(func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.PowScalar(a, x) }),
			options{near: 1e-12, want: func() []array {
				return each(func(y float64) float64 { return math.Pow(y, x) }, a)
			}})
	}})
}

// dims are dimensions to reduce, all different; none means all.
func (c *testCase) dims(n int) (dims []int64) {
	for d := range n {
		if c.chance(0.4) {
			dims = append(dims, int64(d-n*c.IntN(2)))
		}
	}
	if c.chance(0.3) && n > 0 {
		dims = []int64{-1}
	}
	if c.wild && c.chance(0.3) {
		dims = append(dims, c.dim(n))
	}
	return dims
}

func sum(x []float64) (total float64) {
	for _, v := range x {
		total += v
	}
	return total
}

func mean(x []float64) float64 { return sum(x) / float64(len(x)) }

func variance(x []float64) (v float64) {
	m := mean(x)
	for _, e := range x {
		v += (e - m) * (e - m)
	}
	return v / float64(len(x)-1)
}

func norm(x []float64) (n float64) {
	for _, v := range x {
		n += v * v
	}
	return math.Sqrt(n)
}

func softmax(x []float64) (y []float64) {
	total := sum(apply(math.Exp, x))
	return apply(func(v float64) float64 { return math.Exp(v) / total }, x)
}

func reductions() (all []operation) {
	for _, op := range []struct {
		name    string
		f       func(s *tensor.Scope, a tensor.Tensor, dims ...int64) tensor.Tensor
		formula func([]float64) float64
	}{
		{"Sum", (*tensor.Scope).Sum, sum}, {"Mean", (*tensor.Scope).Mean, mean},
		{"Var", (*tensor.Scope).Var, variance},
		{"Std", (*tensor.Scope).Std, func(x []float64) float64 { return math.Sqrt(variance(x)) }},
		{"MaxOf", (*tensor.Scope).MaxOf, slices.Max[[]float64]},
		{"MinOf", (*tensor.Scope).MinOf, slices.Min[[]float64]},
		{"Norm", (*tensor.Scope).Norm, norm},
		{"SumKeep", (*tensor.Scope).SumKeep, sum}, {"MeanKeep", (*tensor.Scope).MeanKeep, mean},
	} {
		bound := 128.0
		if op.name == "Std" { // a small deviation has a large gradient, of differences
			bound = 1 << 16
		}
		all = append(all, operation{op.name, bound, func(c *testCase) {
			shape := c.shape(0, 4)
			dims := c.dims(len(shape))
			value := c.values()
			if op.name == "Std" || op.name == "Norm" { // the square of a special number is not float32's
				value = c.normal
			}
			c.say("dims %v", dims)
			a, o := c.array(value, shape...), options{}
			// A scalar is left as it is, and its variance is libtorch's.
			if !c.wild && len(a.x) > 0 && (len(shape) > 0 || !strings.Contains("Var Std", op.name)) {
				o.near, o.want = 1e-11, func() []array {
					return []array{a.reduce(dims, strings.HasSuffix(op.name, "Keep"), op.formula)}
				}
			}
			c.check([]*input{c.sometimes(a)},
				one(func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return op.f(s, a, dims...) }), o)
		}})
	}
	for _, op := range []struct {
		name    string
		f       func(s *tensor.Scope, a tensor.Tensor, dim int64) tensor.Tensor
		formula func(line []float64) []float64
	}{
		{"LogSoftmax", (*tensor.Scope).LogSoftmax, func(x []float64) []float64 { return apply(math.Log, softmax(x)) }},
		{"Softmax", (*tensor.Scope).Softmax, softmax},
		{"ArgMax", (*tensor.Scope).ArgMax, func(x []float64) []float64 {
			return []float64{float64(slices.Index(x, slices.Max(x)))}
		}},
		{"CumSum", (*tensor.Scope).CumSum, func(x []float64) (y []float64) {
			for i := range x {
				y = append(y, sum(x[:i+1]))
			}
			return y
		}},
	} {
		all = append(all, operation{op.name, 64, func(c *testCase) {
			shape := c.shape(1, 4)
			dim := c.dim(len(shape))
			c.say("dim %d", dim)
			a, o := c.array(c.normal, shape...), options{}
			if !c.wild && len(a.x) > 0 {
				o.near, o.want = 1e-11, func() []array { return []array{a.lines(dim, op.formula)} }
			}
			c.check([]*input{c.sometimes(a)},
				one(func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return op.f(s, a, dim) }), o)
		}})
	}
	return all
}

// movable is an operand of any type, for operations that move elements.
func (c *testCase) movable(shape []int64) *input {
	switch d := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float64, tensor.Int64, tensor.Int32,
		tensor.Uint8, tensor.Bool}[c.IntN(7)]; d {
	case tensor.Float32:
		return c.sometimes(c.array(c.special, shape...))
	case tensor.Bool:
		return c.sometimes(c.array(func() float64 { return float64(c.IntN(2)) }, shape...)).of(d)
	default:
		return c.sometimes(c.array(func() float64 { return float64(c.IntN(200)) }, shape...)).of(d)
	}
}

// from turns a dimension that may be counted from the end into one that is not.
func from(dim int64, n int) int { return int((dim + int64(n)) % int64(n)) }

func movements() []operation {
	// A movement of one operand: draw returns the operation, and the result by Go where the arguments are right.
	movement := func(name string, least int, draw func(c *testCase, shape []int64) (f scopeUnary,
		want func(a array) array)) operation {
		return operation{name, 0, func(c *testCase) {
			in := c.movable(c.shape(least, 4))
			f, want := draw(c, in.values.shape)
			o := options{each: true}
			if !c.wild && want != nil {
				o.want = func() []array { return []array{want(in.values)} }
			}
			c.check([]*input{in}, one(f), o)
		}}
	}
	sizes := func(a array, shape []int64) array { return array{shape, a.x} }
	return []operation{
		movement("Narrow", 1, func(c *testCase, shape []int64) (scopeUnary, func(array) array) {
			dim := c.dim(len(shape))
			if c.chance(0.5) {
				dim = 0
			}
			d := max(0, min(len(shape)-1, from(dim, len(shape))))
			start := c.Int64N(shape[d] + 1)
			length := c.Int64N(shape[d] - start + 1)
			at, n := c.perhaps(start), c.perhaps(length)
			c.say("dim %d, from %d, %d", dim, at, n)
			return func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Narrow(a, dim, at, n) },
				func(a array) array {
					to := slices.Clone(shape)
					to[d] = length
					return a.pick(to, func(i []int64) []int64 { i[d] += start; return i })
				}
		}),
		movement("Select", 1, func(c *testCase, shape []int64) (scopeUnary, func(array) array) {
			dim := c.dim(len(shape))
			if c.chance(0.5) {
				dim = 0
			}
			d := max(0, min(len(shape)-1, from(dim, len(shape))))
			index := int64(0)
			if shape[d] > 0 {
				index = c.Int64N(shape[d])
			}
			at := c.perhaps(index)
			c.say("dim %d, at %d", dim, at)
			f := func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Select(a, dim, at) }
			if shape[d] == 0 {
				return f, nil
			}
			return f, func(a array) array {
				return a.pick(slices.Delete(slices.Clone(shape), d, d+1),
					func(i []int64) []int64 { return slices.Insert(i, d, index) })
			}
		}),
		movement("Unsqueeze", 0, func(c *testCase, shape []int64) (scopeUnary, func(array) array) {
			dim := c.dim(len(shape) + 1)
			if c.chance(0.5) {
				dim = 0
			}
			c.say("dim %d", dim)
			return func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Unsqueeze(a, dim) },
				func(a array) array {
					return sizes(a, slices.Insert(slices.Clone(shape), from(dim, len(shape)+1), 1))
				}
		}),
		movement("Squeeze", 1, func(c *testCase, shape []int64) (scopeUnary, func(array) array) {
			dim := c.dim(len(shape))
			c.say("dim %d", dim)
			return func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Squeeze(a, dim) },
				func(a array) array {
					if d := from(dim, len(shape)); shape[d] == 1 {
						return sizes(a, slices.Delete(slices.Clone(shape), d, d+1))
					}
					return a
				}
		}),
		movement("Transpose", 1, func(c *testCase, shape []int64) (scopeUnary, func(array) array) {
			p, q := c.dim(len(shape)), c.dim(len(shape))
			c.say("dims %d and %d", p, q)
			return func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Transpose(a, p, q) },
				func(a array) array {
					p, q := from(p, len(shape)), from(q, len(shape))
					to := slices.Clone(shape)
					to[p], to[q] = to[q], to[p]
					return a.pick(to, func(i []int64) []int64 { i[p], i[q] = i[q], i[p]; return i })
				}
		}),
		movement("Permute", 1, func(c *testCase, shape []int64) (scopeUnary, func(array) array) {
			var order []int64
			for _, d := range c.Perm(len(shape)) {
				order = append(order, c.perhaps(int64(d)))
			}
			c.say("order %v", order)
			return func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Permute(a, order...) },
				func(a array) array {
					to := make([]int64, len(shape))
					for k, d := range order {
						to[k] = shape[d]
					}
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
				func(a array) array { return sizes(a, to) }
		}),
		{"Expand", 128, func(c *testCase) {
			shape := c.shape(1, 4)
			in := c.broadcast(c.normal, shape)
			if in.views = slices.DeleteFunc(in.views, func(v view) bool { return v.kind == "expand" }); c.wild &&
				c.chance(0.3) {
				shape[c.IntN(len(shape))] += c.Int64N(7) - 3
			}
			c.say("to %v", shape)
			for i := range shape { // -1 leaves a size as it is
				if k := i - len(shape) + len(in.values.shape); k >= 0 && in.values.shape[k] == shape[i] && c.chance(0.2) {
					shape[i] = -1
				}
			}
			c.check([]*input{in},
				one(func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Expand(a, shape...) }))
		}},
		{"IndexSelect", 32, func(c *testCase) {
			in := c.movable(c.shape(1, 4))
			shape := in.values.shape
			dim := c.dim(len(shape))
			if c.chance(0.5) {
				dim = 0
			}
			d := max(0, min(len(shape)-1, from(dim, len(shape))))
			index := array{x: []float64{}}
			for range c.size() {
				if shape[d] > 0 {
					index.x = append(index.x, float64(c.perhaps(c.Int64N(shape[d]))))
				}
			}
			index.shape = []int64{int64(len(index.x))}
			c.say("dim %d, %v", dim, index.x)
			o := options{each: true}
			if !c.wild {
				o.want = func() []array {
					to := slices.Clone(shape)
					to[d] = index.shape[0]
					return []array{in.values.pick(to,
						func(i []int64) []int64 { i[d] = int64(index.x[i[d]]); return i })}
				}
			}
			c.check([]*input{in, c.sometimes(index).of(tensor.Int64)},
				two(func(s *tensor.Scope, a, i tensor.Tensor) tensor.Tensor { return s.IndexSelect(a, dim, i) }), o)
		}},
		{"Gather", 32, func(c *testCase) {
			in := c.movable(c.shape(1, 3))
			shape := in.values.shape
			dim := c.dim(len(shape))
			d := max(0, min(len(shape)-1, from(dim, len(shape))))
			to := slices.Clone(shape)
			if to[d] > 0 {
				to[d] = c.size()
			}
			index := c.array(func() float64 { return float64(c.perhaps(c.Int64N(max(1, shape[d])))) }, to...)
			c.say("dim %d", dim)
			o := options{each: true}
			if !c.wild {
				o.want = func() []array {
					return []array{in.values.pick(to,
						func(i []int64) []int64 { i[d] = int64(index.x[index.place(i)]); return i })}
				}
			}
			c.check([]*input{in, c.in(index).of(tensor.Int64)},
				two(func(s *tensor.Scope, a, i tensor.Tensor) tensor.Tensor { return s.Gather(a, dim, i) }), o)
		}},
		{"Cat", 0, func(c *testCase) {
			shape := c.shape(1, 4)
			d := c.IntN(len(shape))
			if c.chance(0.5) {
				d = 0
			}
			dim, in, want := int64(d-len(shape)*c.IntN(2)), []*input{}, array{}
			for i := range 1 + c.IntN(4) {
				shape := slices.Clone(shape)
				shape[d] = c.size() % 20
				a := c.array(c.special, shape...)
				in = append(in, c.sometimes(a))
				if i == 0 {
					want = a
					continue
				}
				to, first := slices.Clone(shape), want
				to[d] += first.shape[d]
				want = array{to, make([]float64, elements(to))}
				for i := range want.x {
					index, rest := make([]int64, len(to)), int64(i)
					for k := len(to) - 1; k >= 0; k-- {
						index[k], rest = rest%to[k], rest/to[k]
					}
					if source := first; index[d] < source.shape[d] {
						want.x[i] = source.x[source.place(index)]
					} else {
						index[d] -= source.shape[d]
						want.x[i] = a.x[a.place(index)]
					}
				}
			}
			if c.wild && c.chance(0.2) {
				dim = c.dim(len(shape))
			}
			c.say("dim %d", dim)
			o := options{each: true}
			if !c.wild {
				o.want = func() []array { return []array{want} }
			}
			c.check(in, joined((*tensor.Scope).Cat, dim), o)
		}},
		{"Stack", 0, func(c *testCase) {
			shape := c.shape(0, 3)
			dim, in := c.dim(len(shape)+1), []*input{}
			for range 1 + c.IntN(4) {
				in = append(in, c.sometimes(c.array(c.special, shape...)))
			}
			c.say("dim %d", dim)
			o := options{each: true}
			if !c.wild {
				o.want = func() []array {
					d := from(dim, len(shape)+1)
					return []array{array{shape, make([]float64, elements(shape))}.stack(in, d)}
				}
			}
			c.check(in, joined((*tensor.Scope).Stack, dim), o)
		}},
	}
}

// stack joins the values of operands of a's shape along a new dimension.
func (a array) stack(in []*input, d int) array {
	shape := slices.Insert(slices.Clone(a.shape), d, int64(len(in)))
	all := array{append([]int64{int64(len(in))}, a.shape...), nil}
	for _, x := range in {
		all.x = append(all.x, x.values.x...)
	}
	return all.pick(shape, func(i []int64) []int64 {
		return append([]int64{i[d]}, slices.Delete(slices.Clone(i), d, d+1)...)
	})
}

// network draws a perceptron: its operands, two a layer, and its activations. Values are such that no unit is
// near a kink without
// being on it.
func (c *testCase) network(in int64, outputs int64) (params []*input, activations []tensor.Activation, grid bool) {
	smooth := []tensor.Activation{tensor.Identity, tensor.Elu, tensor.Tanh, tensor.Sigmoid}
	if c.chance(0.2) {
		smooth = append(smooth, tensor.Softplus, tensor.Gelu, tensor.Silu)
	}
	kinds := smooth
	if grid = c.chance(0.4); grid {
		kinds = []tensor.Activation{tensor.Identity, tensor.Relu, tensor.Relu}
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
	return params, activations, grid
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
	y := array{[]int64{x.shape[0], k.shape[0], 0, 0}, nil}
	for i := range c.Stride {
		padded := x.shape[2+i] + c.Padding[i] + c.Padding[2+i]
		y.shape[2+i] = max(0, (padded-c.Dilation[i]*(k.shape[2+i]-1)-1)/c.Stride[i]+1)
	}
	y.x = make([]float64, elements(y.shape))
	return y.pick(y.shape, func(at []int64) []int64 {
		sum := 0.0
		if !b.none {
			sum = b.values.x[at[1]]
		}
		for i := range elements(k.shape[1:]) {
			u, v := i/k.shape[3]%k.shape[2], i%k.shape[3]
			channel := at[1]/(k.shape[0]/c.Groups)*k.shape[1] + i/k.shape[3]/k.shape[2]
			row, column := at[2]*c.Stride[0]-c.Padding[0]+u*c.Dilation[0], at[3]*c.Stride[1]-c.Padding[1]+v*c.Dilation[1]
			if row >= 0 && row < x.shape[2] && column >= 0 && column < x.shape[3] {
				sum += k.x[at[1]*elements(k.shape[1:])+i] * x.x[x.place([]int64{at[0], channel, row, column})]
			}
		}
		y.x[y.place(at)] = sum
		return at
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
	var bfloat16 *bool
	lower := func(c *testCase) tensor.Precision {
		if bfloat16 == nil {
			ok := tensor.BFloat16.Supported(tensor.CPU) == nil
			bfloat16 = &ok
		}
		if *bfloat16 {
			return tensor.BFloat16
		}
		return tensor.Full
	}
	const lowBound = 1 << 22 // ½: sums of many roundings to bfloat16, most of which cancel
	mlp := func(low bool) func(c *testCase) {
		return func(c *testCase) {
			in, n := c.width(), c.size()+c.size()
			params, f, grid := c.network(in, 0)
			if !low && c.number%80 == 39 { // beyond a block of the kernels in every dimension
				n, in, f, grid = 700, 600, []tensor.Activation{tensor.Relu, tensor.Tanh}, true
				params = []*input{c.flat(c.array(c.grid, 520, 600)), c.flat(c.array(c.grid, 520)),
					c.flat(c.array(c.grid,
						300, 520)), c.flat(c.array(c.grid, 300))}
			}
			value := c.normal
			if grid {
				value = c.grid
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
				o.precision = lower(c)
				c.wild = false // operands of every type are converted
			}
			c.say("%v", f)
			c.check(append(params, x), func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
				return []tensor.Tensor{s.MLP(x[len(x)-1], layersOf(x, f))}
			}, o)
		}
	}
	critic := func(c *testCase) {
		in, n := c.width(), c.size()+c.size()
		params, f, grid := c.network(in, 1)
		value := c.normal
		if grid {
			value = c.grid
		}
		c.say("%v", f)
		o := options{}
		if !c.wild {
			o.reference = func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
				rows := s.RequireGrad(s.Clone(x[len(x)-1]))
				y := s.MLP(rows, layersOf(x, f))
				return []tensor.Tensor{y, s.Mean(s.Sum(s.Square(s.Grad(y, true, rows)[0]), -1))}
			}
		}
		x := c.sometimes(c.array(value, n, in)).constant()
		c.check(append(params, x), func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
			y, penalty := s.Critic(x[len(x)-1], layersOf(x, f))
			return []tensor.Tensor{y, penalty}
		}, o)

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
		o := options{}
		if !c.wild {
			o.near, o.want = 1e-12, func() []array { return []array{convolve(x.values, k.values, b, g)} }
		}
		c.check([]*input{x, k, b}, three(func(s *tensor.Scope, x, k, b tensor.Tensor) tensor.Tensor {
			return s.Conv2d(x, k, b, g)
		}), o)
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
	o := options{}
	if !c.wild {
		o.reference = func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
			out, last := r.byHand(s, x[n], x[n+1], x[n+2], x[:n])
			return []tensor.Tensor{out, s.Detach(last)}
		}
	}
	c.check(append(in, x, state, ended), func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
		out, last := s.Recurrent(x[n], x[n+1], x[n+2], int(length), &tensor.RecurrentLayers{Kind: kind, Weights: x[:n]})
		if s.Err() == nil && tensor.RequiresGrad(last) {
			c.fatalf("the last state has a gradient")
		}
		return []tensor.Tensor{out, last}
	}, o)
}

func drawWhere(c *testCase) {
	shape := c.shape(0, 4)
	condition := c.in(c.array(func() float64 { return float64(c.IntN(2)) }, shape...)).of(tensor.Bool)
	c.check([]*input{condition, c.broadcast(c.special, shape), c.broadcast(c.special, shape)},
		three((*tensor.Scope).Where))
}

func drawClamp(c *testCase) {
	// Versions of libtorch differ in the gradient of a value at a limit, so no value is at one.
	lo, hi := c.grid()+0.25, c.grid()+0.25
	if c.chance(0.7) {
		lo, hi = min(lo, hi), max(lo, hi)
	}
	switch c.IntN(8) {
	case 0:
		lo = math.Inf(-1)
	case 1:
		hi = math.Inf(1)
	case 2:
		lo, hi = math.Inf(-1), math.Inf(1)
	case 3:
		lo = math.NaN()
	}
	c.say("[%g, %g]", lo, hi)
	c.check([]*input{c.sometimes(c.array(c.values(), c.shape(0, 4)...))},
		one(func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Clamp(a, lo, hi) }))
}

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
		for {
			now.x[i] = float64(float32(old.x[i] + 0.4*c.NormFloat64()))
			if c.chance(0.1) {
				now.x[i] = old.x[i]
			}
			// The loss is also compared where all operands are halved.
			r, h := math.Exp(now.x[i]-old.x[i]), math.Exp((now.x[i]-old.x[i])/2)
			if math.Abs(math.Abs(r-1)-clip) > 1e-4 && math.Abs(math.Abs(h-1)-clip) > 1e-4 {
				break
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
				func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
					p, h := s.Categorical(x[0], x[1], counts...)
					return []tensor.Tensor{p, h}
				})
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
			})
		}},
		{"PositiveShare", 8, func(c *testCase) {
			c.check([]*input{c.sometimes(c.array(c.values(), c.shape(0, 2)...)).constant()}, func(s *tensor.Scope,
				x []tensor.Tensor) []tensor.Tensor {
				share, mean := s.PositiveShare(x[0])
				return []tensor.Tensor{share, mean}
			})
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
				for range 100 {
					near := false
					for _, k := range []float64{1, 0.5} {
						d := k * (value.x[i] - old.x[i])
						held := k*old.x[i] + max(-clip, min(clip, d))
						near = near || math.Abs(math.Abs(d)-clip) < 1e-4 ||
							math.Abs(d) > clip &&
								math.Abs(math.Abs(k*returns.x[i]-held)-math.Abs(k*(returns.x[i]-value.x[i]))) < 1e-4
					}
					if !near {
						break
					}
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

// statistics are a mean and a variance of a width, float64 as scalers keep them.
func (c *testCase) statistics(width int64) (mean, variance *input) {
	mean, variance = c.flat(c.array(c.normal, width)), c.flat(c.array(c.positive, width))
	return mean.of(tensor.Float64), variance.of(tensor.Float64)
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
	x := c.sometimes(c.array(c.special, c.shape(1, 3)...)).constant()
	mean, variance := c.statistics(x.values.shape[len(x.values.shape)-1])
	clip := []float64{5, 0.5, 1e9}[c.IntN(3)]
	c.check([]*input{x, mean, variance}, three(func(s *tensor.Scope, x, m, v tensor.Tensor) tensor.Tensor {
		return s.ScalerForward(x, m, v, 1e-2, clip)
	}), x.columns(func(x float64, k int) float64 {
		return max(-clip, min(clip, (x-mean.values.x[k])/(math.Sqrt(variance.values.x[k])+1e-2)))
	}))
}

func drawScalerInverse(c *testCase) {
	x := c.sometimes(c.array(c.normal, c.shape(1, 3)...)).constant()
	mean, variance := c.statistics(x.values.shape[len(x.values.shape)-1])
	c.check([]*input{x, mean, variance}, three(func(s *tensor.Scope, x, m, v tensor.Tensor) tensor.Tensor {
		return s.ScalerInverse(x, m, v, 2)
	}), x.columns(func(x float64, k int) float64 {
		return math.Sqrt(variance.values.x[k])*max(-2, min(2, x)) + mean.values.x[k]
	}))
}

func drawScalerUpdate(c *testCase) {
	x := c.sometimes(c.array(c.normal, c.shape(1, 3)...)).constant()
	width := x.values.shape[len(x.values.shape)-1]
	mean, variance := c.statistics(width)
	count := float64(c.IntN(100))
	bessel, freeze := c.chance(0.5), []float64{0, 50}[c.IntN(2)]
	c.say("count %g, bessel %v, freeze after %g", count, bessel, freeze)
	update := func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
		m, v, n := s.Clone(x[1]), s.Clone(x[2]), x[3]
		n = s.Clone(n)
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
	o := options{}
	if !c.wild && elements(x.values.shape) > 0 && !(bessel && elements(x.values.shape) == width) {
		o.reference = byHand
	}
	c.check([]*input{x, mean, variance, c.flat(array{[]int64{1}, []float64{count}}).of(tensor.Float64)}, update, o)
}

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
