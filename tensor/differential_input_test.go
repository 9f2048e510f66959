package tensor_test

import (
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/tensor"
)

// A view makes a tensor of a part of another one, or of its elements in another order.
type view struct {
	kind string
	of   scopeUnary
}

// behind returns an array of which v makes a view that equals a. Its other elements are NaN: what reads them shows.
func (c *testCase) behind(a array) (base array, v view) {
	n := int64(len(a.shape))
	base.shape = slices.Clone(a.shape)
	var place func(index []int64) []int64 // of an element of a in base
	switch kind := c.IntN(3); {
	case kind == 0 && n > 1:
		p, q := c.Int64N(n), c.Int64N(n)
		v = view{"transpose", func(s *tensor.Scope, t tensor.Tensor) tensor.Tensor { return s.Transpose(t, p, q) }}
		place = func(i []int64) []int64 { i[p], i[q] = i[q], i[p]; return i }
		base.shape = place(base.shape)
	case kind == 1 && n > 0:
		d, at := c.Int64N(n), c.Int64N(4)
		size := a.shape[d]
		v = view{"narrow", func(s *tensor.Scope, t tensor.Tensor) tensor.Tensor { return s.Narrow(t, d, at, size) }}
		base.shape[d] += at + c.Int64N(3)
		place = func(i []int64) []int64 { i[d] += at; return i }
	default:
		size := 1 + c.Int64N(3)
		d, at := c.Int64N(n+1), c.Int64N(size)
		v = view{"select", func(s *tensor.Scope, t tensor.Tensor) tensor.Tensor { return s.Select(t, d, at) }}
		base.shape = within(base.shape, int(d), size)
		place = func(i []int64) []int64 { return within(i, int(d), at) }
	}
	base.x = slices.Repeat([]float64{math.NaN()}, int(elements(base.shape)))
	build(a.shape, func(i []int64) float64 {
		x := a.x[a.place(i)]
		base.x[base.place(place(i))] = x
		return x
	})
	return base, v
}

// An input is an operand: a base tensor and views of it, one after the other.
type input struct {
	values array // of the operand
	base   array
	views  []view
	dtype  tensor.DType // Float32 stands for the type of the computation
	grad   bool
	none   bool // the zero Tensor
}

// in returns an operand in a random layout. Its gradient is compared.
func (c *testCase) in(a array) *input {
	in := &input{values: a, base: a, dtype: tensor.Float32, grad: true}
	if c.chance(0.5) {
		return in
	}
	for range 1 + c.IntN(2) {
		var v view
		in.base, v = c.behind(in.base)
		in.views = append([]view{v}, in.views...)
	}
	return in
}

// flat is an operand whose memory is row by row, as the engine wants it.
func (c *testCase) flat(a array) *input {
	return &input{values: a, base: a, dtype: tensor.Float32, grad: true}
}

// broadcast is an operand whose shape broadcasts to this one, or that is expanded to it.
func (c *testCase) broadcast(value func() float64, shape []int64) *input {
	small := slices.Clone(shape)
	for i := range small {
		if c.chance(0.3) {
			small[i] = 1
		}
	}
	a := c.array(value, small...)
	in := c.in(a)
	if c.chance(0.5) {
		in.views = append(in.views, view{"expand",
			func(s *tensor.Scope, t tensor.Tensor) tensor.Tensor { return s.Expand(t, shape...) }})
		in.values = a.pick(shape, func(i []int64) []int64 {
			for d := range i {
				i[d] %= small[d]
			}
			return i
		})
	} else if len(small) > 0 && small[0] == 1 && c.chance(0.5) {
		in.views = append(in.views, view{"select",
			func(s *tensor.Scope, t tensor.Tensor) tensor.Tensor { return s.Select(t, 0, 0) }})
		in.values.shape = small[1:]
	}
	return in
}

func (in *input) constant() *input { in.grad = false; return in }

func (in *input) of(d tensor.DType) *input {
	in.dtype, in.grad = d, false
	if d != tensor.Float64 {
		for i, x := range in.base.x {
			if math.IsNaN(x) {
				in.base.x[i] = 77
			}
		}
	}
	return in
}

// leaf makes the base in the type of the computation, times scale.
func (in *input) leaf(s *tensor.Scope, d tensor.DType, scale float64) tensor.Tensor {
	x := slices.Clone(in.base.x)
	if in.dtype == tensor.Float32 {
		for i := range x {
			x[i] *= scale
		}
	} else {
		d = in.dtype
	}
	if len(in.base.shape) == 0 {
		return s.Full(d, x[0])
	}
	return s.As(tensor.From(s, x, in.base.shape...), d)
}

func (in *input) view(s *tensor.Scope, t tensor.Tensor) tensor.Tensor {
	for _, v := range in.views {
		t = v.of(s, t)
	}
	return t
}

func (in *input) String() string {
	if in.none {
		return "none"
	}
	text := fmt.Sprint(in.values.shape)
	if in.dtype != tensor.Float32 {
		text += " " + in.dtype.String()
	}
	for _, v := range in.views {
		text += " " + v.kind
	}
	return text
}

// spoil makes an operand wrong: of another shape or type.
func (c *testCase) spoil(in *input) {
	shape := slices.Clone(in.values.shape)
	switch k := c.IntN(4); {
	case k == 0 && len(shape) > 0:
		shape[c.IntN(len(shape))]++
	case k == 1 && len(shape) > 0:
		shape = shape[1:]
	case k == 2:
		shape = append(shape, 1+c.Int64N(2))
	default:
		in.dtype, in.grad = []tensor.DType{tensor.Int64, tensor.Bool, tensor.Uint8}[c.IntN(3)], false
	}
	a := c.array(c.grid, shape...)
	if in.dtype != tensor.Float32 {
		a = c.array(func() float64 { return float64(c.IntN(3)) }, shape...)
	}
	in.values, in.base, in.views = a, a, nil
}
