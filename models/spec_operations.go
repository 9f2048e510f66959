package models

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// part compiles x["key"] or x[position] of rows or of a space with parts: a Dict or a Tuple. The parts of rows are
// ranges of columns in the order of the entries.
func (c *compiler) part(n *node) term {
	x := c.term(n.args[0])
	space := x.part
	if !x.rows() {
		space = x.space
	}
	entries := []spaces.Entry(nil)
	if space != nil {
		entries = space.Entries
	}
	i := 0
	switch {
	case len(entries) == 0 && n.key == nil:
		return c.fail(n.args[1], "%s", chooseRows)
	case space == nil:
		return c.fail(n, "there are no parts in what a layer or an operation has made; name them at OBSERVATIONS or "+
			"STATES")
	case len(entries) == 0:
		return c.fail(n, "%v has no parts; they are what a Dict space or a Tuple has; take columns, as in x[:, 0:3]",
			*space)
	case n.key == nil:
		at := c.term(n.args[1])
		if !at.number || at.num != math.Trunc(at.num) || math.Abs(at.num) > description.MaxLayerWidth {
			return c.fail(n.args[1], "a position must be a whole number")
		}
		if space.Kind == spaces.Dict {
			return c.fail(n.args[1], "the parts of a Dict have names: %s", partNames(entries))
		}
		// Negative positions count from the end, as in Python.
		if i = int(at.num); i < 0 {
			i += len(entries)
		}
		if i < 0 || i >= len(entries) {
			return c.fail(n.args[1], "there are the parts 0 to %d of %v", len(entries)-1, *space)
		}
	case space.Kind == spaces.Tuple:
		return c.fail(n, "the parts of a Tuple have numbers, from [0] to [%d]", len(entries)-1)
	default:
		if i = slices.IndexFunc(entries, func(e spaces.Entry) bool { return e.Name == *n.key }); i < 0 {
			var known []string
			for _, e := range entries {
				known = append(known, e.Name)
			}
			return c.fail(n, "there is no part %q%s; there are %s", *n.key, config.Hint(*n.key, known),
				partNames(entries))
		}
	}
	part := &entries[i].Space
	if !x.rows() {
		return term{space: part}
	}
	// A part of a part is still one range of the input's columns. from and row refer to the input, so one Columns step
	// is enough however deep the part lies.
	t := term{width: int64(part.Width()), shape: shapeOf(part), at: x.at, part: part, from: x.from, row: x.row}
	for _, e := range entries[:i] {
		t.from += int64(e.Space.Width())
	}
	// A part that is the whole input needs no step.
	if t.width < t.row {
		t.step = description.Step{Op: description.Columns, From: int(t.from), To: int(t.from + t.width)}
		t.args = []term{{width: t.row, at: x.at}}
	}
	return t
}

// partNames lists the quoted names of parts for errors.
func partNames(entries []spaces.Entry) string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strconv.Quote(e.Name)
	}
	return strings.Join(names, ", ")
}

// columns compiles x[:, i], x[:, from:to] and their like for later dimensions. Negative indices count from the end, and
// ranges are cut as in Python. A single index removes its dimension, except that flat rows keep it with width 1.
func (c *compiler) columns(n *node) term {
	x := c.rows(n.args[0], "what columns are taken of")
	if !x.rows() {
		return x
	}
	dims := slices.Clone(x.dims())
	// d counts the dimensions of an element, without the batch.
	d := n.dim - 1
	if n.dim < 0 {
		d = len(dims) + n.dim
	}
	if d >= len(dims) {
		return c.fail(n, "an element of the rows has the shape %s, and no dimension %d", shapeText(dims), n.dim)
	}
	// bound returns an index as a whole number. a is nil if the bound is left out.
	bound := func(a *node, otherwise int) int {
		if a == nil {
			return otherwise
		}
		t := c.term(a)
		if !t.number || t.num != math.Trunc(t.num) || math.Abs(t.num) > description.MaxLayerWidth {
			c.fail(a, "an index must be a whole number")
		}
		i := int(t.num)
		if i < 0 {
			i += dims[d]
		}
		return i
	}
	from := bound(n.args[1], 0)
	to := from + 1
	if n.op == "columns" {
		to = bound(n.args[2], dims[d])
		from, to = min(max(from, 0), dims[d]), min(max(to, 0), dims[d])
	}
	if from < 0 || to > dims[d] || from >= to {
		return c.fail(n, "the rows have %d columns; this takes none of them", dims[d])
	}
	return x.cut(d, from, to, n.op == "column" && len(dims) > 1)
}

// cut takes the indices from up to to of dimension d. drop removes the dimension. Values of the first dimension lie
// side by side in a row, which makes them a range of columns. Another dimension is moved to the front and back.
func (t term) cut(d, from, to int, drop bool) term {
	dims := t.dims()
	if from == 0 && to == dims[d] && !drop {
		return t
	}
	if d > 0 {
		// order moves dimension d to the front; back is its inverse.
		order := []int{d}
		back := make([]int, len(dims))
		for i := range dims {
			if i != d {
				order = append(order, i)
			}
		}
		for i, k := range order {
			back[k] = i
		}
		front := t.permute(order).cut(0, from, to, drop)
		if drop {
			front.laid = t.laid
			return front
		}
		front = front.permute(back)
		// The order of the user's dimensions is unchanged, so these permutations do not make a picture of flat rows.
		front.laid = t.laid
		return front
	}
	// inner is the number of values of one index of the first dimension.
	inner := int(t.width) / dims[0]
	out := term{width: int64((to - from) * inner), laid: t.laid, args: []term{t},
		step: description.Step{Op: description.Columns, From: from * inner, To: to * inner}}
	switch {
	case drop && len(dims) > 2:
		out.shape = dims[1:]
	case !drop && len(dims) > 1:
		out.shape = append([]int{to - from}, dims[1:]...)
	}
	return out
}

// permute returns the rows with the dimensions of every element in another order: dimension i of the result is
// dimension order[i] of t. The result is laid: its order is the user's choice.
func (t term) permute(order []int) term {
	dims := t.dims()
	out := term{width: t.width, laid: true, args: []term{t},
		step: description.Step{Op: description.Permute, Shape: dims, Dims: order}}
	for _, d := range order {
		out.shape = append(out.shape, dims[d])
	}
	return out
}

// arithmetic compiles + - * / of rows and numbers. Two numbers are computed at once, without a step.
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
	// t gives the result its width and shape: the wider operand.
	t := a
	switch {
	case !a.rows() || a.width < b.width:
		t = b
	case b.rows() && b.width > 1 && !slices.Equal(a.dims(), b.dims()):
		// Rows of equal width and different shapes combine only if neither shape counts. The result is then flat.
		if a.picture() || b.picture() {
			return c.fail(n, "elements of the shapes %s and %s do not combine", shapeText(a.dims()),
				shapeText(b.dims()))
		}
		t.shape = nil
	}
	ops := map[string]string{"+": description.Add, "-": description.Sub, "*": description.Mul, "/": description.Div}
	return term{width: t.width, shape: t.shape, laid: t.laid, step: description.Step{Op: ops[n.op]}, args: []term{a, b}}
}
