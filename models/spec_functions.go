package models

import (
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// functions are the unary functions of expressions.
var functions = map[string]func(s *tensor.Scope, x tensor.Tensor) tensor.Tensor{
	"softmax": func(s *tensor.Scope, x tensor.Tensor) tensor.Tensor { return s.Softmax(x, -1) },
	"exp":     (*tensor.Scope).Exp, "abs": (*tensor.Scope).Abs, "sin": (*tensor.Scope).Sin, "cos": (*tensor.Scope).Cos,
}

func init() {
	for _, name := range tensor.ActivationNames() {
		f, err := tensor.ParseActivation(name)
		if err == nil {
			functions[name] = func(s *tensor.Scope, x tensor.Tensor) tensor.Tensor { return s.Activate(f, x) }
		}
	}
}

func (c *compiler) call(n *node) term {
	switch n.name {
	case "concatenate":
		return c.concatenate(n)
	case "one_hot_encoding":
		return c.oneHot(n)
	}
	if functions[n.name] == nil {
		known := append(slices.Sorted(maps.Keys(functions)), "concatenate", "one_hot_encoding")
		return c.fail(n, "unknown function %s()%s; there are %s", n.name, config.Hint(n.name, known),
			strings.Join(known, ", "))
	}
	if len(n.args) != 1 {
		return c.fail(n, "%s() takes one argument, got %d", n.name, len(n.args))
	}
	x := c.rows(n.args[0], "the argument of "+n.name+"()")
	step := description.Step{Op: n.name} // functions that are no activations have the operations' names
	if f, err := tensor.ParseActivation(n.name); err == nil {
		step = description.Step{Op: description.Activate, Activation: f.String()}
	}
	return term{width: x.width, step: step, args: []term{x}}
}

func (c *compiler) concatenate(n *node) term {
	if len(n.args) != 1 || n.args[0].op != "list" || len(n.args[0].args) == 0 {
		return c.fail(n, "concatenate() takes one list of rows, as in concatenate([OBSERVATIONS, net])")
	}
	t := term{step: description.Step{Op: description.Concatenate}}
	for _, a := range n.args[0].args {
		x := c.rows(a, "what is concatenated")
		t.args = append(t.args, x)
		t.width += x.width
	}
	return t
}

func (c *compiler) oneHot(n *node) term {
	if len(n.args) != 2 {
		return c.fail(n, "one_hot_encoding() takes a space and rows, as in one_hot_encoding(OBSERVATION_SPACE, OBSERVATIONS)")
	}
	space := c.term(n.args[0])
	if space.space == nil || space.space.Kind != spaces.Discrete && space.space.Kind != spaces.MultiDiscrete {
		return c.fail(n.args[0], "one_hot_encoding() needs a Discrete or MultiDiscrete space first")
	}
	x := c.rows(n.args[1], "the second argument of one_hot_encoding()")
	nvec := space.space.NVec
	if x.width != int64(len(nvec)) {
		return c.fail(n.args[1], "the rows have width %d, the space %v has %d indices", x.width, *space.space, len(nvec))
	}
	step := description.Step{Op: description.OneHot, Choices: slices.Clone(nvec)}
	return term{width: int64(space.space.Outputs()), step: step, args: []term{x}}
}
