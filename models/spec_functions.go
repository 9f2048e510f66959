package models

import (
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// functions are the functions of one expression of rows. Every activation of layers is among them, under all the names
// that description.ParseActivation knows.
var functions = append(description.Activations(), "none", "swish", description.Softmax, description.Exp,
	description.Abs, description.Sin, description.Cos)

// calls are the functions with arguments other than one expression of rows. Containers cannot have their names.
var calls = []string{"concatenate", "one_hot_encoding", "permute"}

// call compiles a call of a function by name.
func (c *compiler) call(n *node) term {
	switch n.name {
	case "concatenate":
		return c.concatenate(n)
	case "one_hot_encoding":
		return c.oneHot(n)
	case "permute":
		return c.permute(n)
	}
	if !slices.Contains(functions, n.name) {
		known := append(slices.Sorted(slices.Values(functions)), calls...)
		return c.fail(n, "unknown function %s()%s; there are %s", n.name, config.Hint(n.name, known),
			strings.Join(known, ", "))
	}
	if len(n.args) != 1 {
		return c.fail(n, "%s() takes one argument, got %d", n.name, len(n.args))
	}
	x := c.rows(n.args[0], "the argument of "+n.name+"()")
	// exp, abs, sin, cos and softmax are operations of the same name. Activations share one operation.
	step := description.Step{Op: n.name}
	if f, err := description.ParseActivation(n.name); err == nil {
		step = description.Step{Op: description.Activate, Activation: f}
	}
	if n.name == description.Softmax {
		if x.picture() {
			return c.fail(n, "softmax() is over a row, and this is a picture of shape %s; flatten it in a container",
				shapeText(x.shape))
		}
		// A softmax is over all values of a row, so the result is flat.
		x.shape = nil
	}
	return x.then(step)
}

// permute compiles permute(x, order). As in PyTorch, the order counts the batch as dimension 0, which stays first. The
// step's order does not count the batch.
func (c *compiler) permute(n *node) term {
	const form = "permute() takes rows and the order of all dimensions, as in permute(OBSERVATIONS, (0, 3, 1, 2))"
	if len(n.args) != 2 || n.args[1].op != "list" {
		return c.fail(n, form)
	}
	x := c.rows(n.args[0], "the first argument of permute()")
	if !x.rows() {
		return x
	}
	dims := x.dims()
	if len(dims) < 2 {
		return c.fail(n.args[0], "these rows are flat, with %d values; permute() needs a picture, whose space has a "+
			"shape such as (84, 84, 3)", x.width)
	}
	var order []int
	for _, a := range n.args[1].args {
		d := c.term(a)
		k := int(d.num)
		if k < 0 {
			k += len(dims) + 1
		}
		if !d.number || d.num != math.Trunc(d.num) || k < 0 || k > len(dims) || slices.Contains(order, k) {
			return c.fail(a, "the order names each of the dimensions 0 to %d once, the batch being 0", len(dims))
		}
		order = append(order, k)
	}
	if len(order) != len(dims)+1 || order[0] != 0 {
		return c.fail(n.args[1], "the order must begin with 0, the batch, and name the %d dimensions of %s after it",
			len(dims), shapeText(dims))
	}
	for i := range order {
		order[i]--
	}
	return x.permute(order[1:])
}

// concatenate joins rows side by side. Pictures that differ in their first dimension only are joined along it, as their
// values lie in that order. Other pictures cannot be joined.
func (c *compiler) concatenate(n *node) term {
	if len(n.args) != 1 || n.args[0].op != "list" || len(n.args[0].args) == 0 {
		return c.fail(n, "concatenate() takes one list of rows, as in concatenate([OBSERVATIONS, net])")
	}
	t := term{step: description.Step{Op: description.Concatenate}}
	// same says that the elements so far have equal shapes except for their first dimensions, whose sum is first.
	same, first := true, 0
	for _, a := range n.args[0].args {
		x := c.rows(a, "what is concatenated")
		if !x.rows() {
			return x
		}
		t.args = append(t.args, x)
		t.width += x.width
		t.laid = t.laid || x.picture()
		first += x.dims()[0]
		same = same && len(x.shape) > 1 && slices.Equal(x.shape[1:], t.args[0].shape[1:])
	}
	switch {
	case same:
		t.shape = append([]int{first}, t.args[0].shape[1:]...)
	case t.laid:
		shapes := make([]string, len(t.args))
		for i, x := range t.args {
			shapes[i] = shapeText(x.dims())
		}
		return c.fail(n, "elements of the shapes %s do not join; give the container of a picture a last layer flatten",
			strings.Join(shapes, " and "))
	}
	return t
}

// oneHot compiles one_hot_encoding(space, rows). rows must have a column of indices for each index of the space.
func (c *compiler) oneHot(n *node) term {
	if len(n.args) != 2 {
		return c.fail(n, "one_hot_encoding() takes a space and rows, as in one_hot_encoding(OBSERVATION_SPACE, "+
			"OBSERVATIONS)")
	}
	space := c.term(n.args[0])
	if space.rows() || space.space == nil || space.space.Kind != spaces.Discrete &&
		space.space.Kind != spaces.MultiDiscrete {
		return c.fail(n.args[0], "one_hot_encoding() needs a Discrete or MultiDiscrete space first")
	}
	x := c.rows(n.args[1], "the second argument of one_hot_encoding()")
	nvec := space.space.NVec
	if x.width != int64(len(nvec)) {
		return c.fail(n.args[1], "the rows have width %d, the space %v has %d indices", x.width, *space.space,
			len(nvec))
	}
	step := description.Step{Op: description.OneHot, Choices: slices.Clone(nvec)}
	return term{width: int64(space.space.Outputs()), step: step, args: []term{x}}
}
