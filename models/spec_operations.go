package models

import (
	"math"

	"github.com/gorl-dev/gorl/models/description"
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
	step := description.Step{Op: description.Columns, From: int(from), To: int(to)}
	return term{width: to - from, step: step, args: []term{x}}
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
	ops := map[string]string{"+": description.Add, "-": description.Sub, "*": description.Mul, "/": description.Div}
	return term{width: max(a.width, b.width), step: description.Step{Op: ops[n.op]}, args: []term{a, b}}
}
