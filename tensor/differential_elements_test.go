package tensor_test

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/tensor"
)

// The activations by their definitions.
var formulas = map[tensor.Activation]func(float64) float64{
	tensor.Identity:  func(x float64) float64 { return x },
	tensor.Relu:      func(x float64) float64 { return max(x, 0) },
	tensor.Tanh:      math.Tanh,
	tensor.Sigmoid:   sigmoid,
	tensor.Softplus:  softplus,
	tensor.Elu:       func(x float64) float64 { return max(x, 0) + min(0, math.Expm1(x)) },
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
	add("Sin", 8, false, (*tensor.Scope).Sin, math.Sin, anything)
	add("Cos", 8, false, (*tensor.Scope).Cos, math.Cos, anything)
	add("Tanh", 4, false, (*tensor.Scope).Tanh, math.Tanh, anything)
	add("Sigmoid", 4, false, (*tensor.Scope).Sigmoid, sigmoid, anything)
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
					return []array{build(shape, func(i []int64) float64 {
						return op.formula(x.x[x.place(i)], y.x[y.place(i)])
					})}
				}
			}
			c.check([]*input{a, b}, two(op.f), o)
		}})
	}
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
	return all
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
	lo = []float64{lo, lo, lo, lo, lo, math.Inf(-1), math.NaN()}[c.IntN(7)]
	hi = []float64{hi, hi, hi, hi, hi, math.Inf(1)}[c.IntN(6)]
	c.say("[%g, %g]", lo, hi)
	c.check([]*input{c.sometimes(c.array(c.values(), c.shape(0, 4)...))},
		one(func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return s.Clamp(a, lo, hi) }))
}

func reductions() (all []operation) {
	mean := func(x []float64) float64 { return stat.Mean(x, nil) }
	for _, op := range []struct {
		name    string
		f       func(s *tensor.Scope, a tensor.Tensor, dims ...int64) tensor.Tensor
		formula func([]float64) float64
	}{
		{"Sum", (*tensor.Scope).Sum, floats.Sum}, {"Mean", (*tensor.Scope).Mean, mean},
		{"Std", (*tensor.Scope).Std, func(x []float64) float64 { return stat.StdDev(x, nil) }},
		{"MaxOf", (*tensor.Scope).MaxOf, slices.Max[[]float64]},
		{"SumKeep", (*tensor.Scope).SumKeep, floats.Sum}, {"MeanKeep", (*tensor.Scope).MeanKeep, mean},
	} {
		bound := 128.0
		if op.name == "Std" { // a small deviation has a large gradient, of differences
			bound = 1 << 16
		}
		all = append(all, operation{op.name, bound, func(c *testCase) {
			shape := c.shape(0, 4)
			dims, value := c.dims(len(shape)), c.values()
			if op.name == "Std" { // the square of a special number is not float32's
				value = c.normal
			}
			c.say("dims %v", dims)
			a := c.array(value, shape...)
			o := options{near: 1e-11, want: func() []array {
				return []array{a.reduce(dims, strings.HasSuffix(op.name, "Keep"), op.formula)}
			}}
			if len(a.x) == 0 || len(shape) == 0 && op.name == "Std" { // the deviation of a scalar is libtorch's
				o.want = nil
			}
			c.check([]*input{c.sometimes(a)},
				one(func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return op.f(s, a, dims...) }), o)
		}})
	}
	for _, op := range []struct {
		name    string
		f       func(s *tensor.Scope, a tensor.Tensor, dim int64) tensor.Tensor
		formula func(a array, dim int64) array
	}{
		{"LogSoftmax", (*tensor.Scope).LogSoftmax, func(a array, dim int64) array {
			return each(math.Log, a.softmax(dim))[0]
		}},
		{"Softmax", (*tensor.Scope).Softmax, array.softmax},
		{"ArgMax", (*tensor.Scope).ArgMax, func(a array, dim int64) array {
			return a.reduce([]int64{dim}, true, func(x []float64) float64 {
				return float64(slices.Index(x, slices.Max(x)))
			})
		}},
	} {
		all = append(all, operation{op.name, 64, func(c *testCase) {
			shape := c.shape(1, 4)
			dim := c.dim(len(shape))
			c.say("dim %d", dim)
			a := c.array(c.normal, shape...)
			o := options{near: 1e-11, want: func() []array { return []array{op.formula(a, dim)} }}
			if len(a.x) == 0 {
				o.want = nil
			}
			c.check([]*input{c.sometimes(a)},
				one(func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor { return op.f(s, a, dim) }), o)
		}})
	}
	return all
}
