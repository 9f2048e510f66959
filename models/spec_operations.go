package models

import (
	"math"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// columns takes x[:, i] or x[:, from:to], with negative indices counted from the end; ranges are cut as Python does.
func (c *compiler) columns(n *node) term {
	x := c.rows(n.args[0], "what columns are taken of")
	bound := func(a *node, otherwise int64) int64 {
		if a == nil {
			return otherwise
		}
		t := c.term(a)
		if !t.number || t.num != math.Trunc(t.num) || math.Abs(t.num) > maxLayerWidth {
			c.fail(a, "an index must be a whole number")
		}
		i := int64(t.num)
		if i < 0 {
			i += x.width
		}
		return i
	}
	from := bound(n.args[1], 0)
	to := from + 1
	if n.op == "columns" {
		to = bound(n.args[2], x.width)
		from, to = min(max(from, 0), x.width), min(max(to, 0), x.width)
	}
	if from < 0 || to > x.width || from >= to {
		return c.fail(n, "the rows have %d columns; this takes none of them", x.width)
	}
	return term{
		width: to - from,
		eval:  func(f *frame) tensor.Tensor { return f.s.Narrow(x.eval(f), -1, from, to-from) },
		sketch: func(k *sketch) int {
			return k.add(description.Step{Op: description.Columns, From: int(from), To: int(to)}, x)
		},
	}
}

func (c *compiler) arithmetic(n *node) term {
	a := c.rowsOrNumber(n.args[0], "the left side of "+n.op)
	b := c.rowsOrNumber(n.args[1], "the right side of "+n.op)
	if n.op == "/" && b.number && b.num == 0 {
		return c.fail(n, "division by zero")
	}
	if a.number && b.number {
		x := map[string]float64{"+": a.num + b.num, "-": a.num - b.num, "*": a.num * b.num, "/": a.num / b.num}[n.op]
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return c.fail(n, "the result is not a finite number")
		}
		return term{number: true, num: x}
	}
	if a.rows() && b.rows() && a.width != b.width && a.width != 1 && b.width != 1 {
		return c.fail(n, "rows of widths %d and %d do not combine", a.width, b.width)
	}
	return term{
		width:  max(a.width, b.width),
		eval:   operation(n.op, a, b),
		sketch: func(k *sketch) int { return k.binary(n.op, a, b) },
	}
}

// operation evaluates rows with rows or with a number.
func operation(op string, a, b term) func(f *frame) tensor.Tensor {
	switch {
	case b.number && op == "+":
		return func(f *frame) tensor.Tensor { return f.s.AddScalar(a.eval(f), b.num) }
	case b.number && op == "-":
		return func(f *frame) tensor.Tensor { return f.s.AddScalar(a.eval(f), -b.num) }
	case b.number && op == "*":
		return func(f *frame) tensor.Tensor { return f.s.MulScalar(a.eval(f), b.num) }
	case b.number:
		return func(f *frame) tensor.Tensor { return f.s.Div(a.eval(f), f.s.Scalar(b.num)) }
	case a.number && op == "+":
		return func(f *frame) tensor.Tensor { return f.s.AddScalar(b.eval(f), a.num) }
	case a.number && op == "-":
		return func(f *frame) tensor.Tensor { return f.s.ScalarSub(a.num, b.eval(f)) }
	case a.number && op == "*":
		return func(f *frame) tensor.Tensor { return f.s.MulScalar(b.eval(f), a.num) }
	case a.number:
		return func(f *frame) tensor.Tensor { return f.s.Div(f.s.Scalar(a.num), b.eval(f)) }
	}
	combine := map[string]func(*tensor.Scope, tensor.Tensor, tensor.Tensor) tensor.Tensor{
		"+": (*tensor.Scope).Add, "-": (*tensor.Scope).Sub, "*": (*tensor.Scope).Mul, "/": (*tensor.Scope).Div,
	}[op]
	return func(f *frame) tensor.Tensor { return combine(f.s, a.eval(f), b.eval(f)) }
}
