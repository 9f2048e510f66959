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
	f, ok := functions[n.name]
	if !ok {
		known := append(slices.Sorted(maps.Keys(functions)), "concatenate", "one_hot_encoding")
		return c.fail(n, "unknown function %s()%s; there are %s", n.name, config.Hint(n.name, known), strings.Join(known, ", "))
	}
	if len(n.args) != 1 {
		return c.fail(n, "%s() takes one argument, got %d", n.name, len(n.args))
	}
	x := c.rows(n.args[0], "the argument of "+n.name+"()")
	return term{
		width:  x.width,
		eval:   func(fr *frame) tensor.Tensor { return f(fr.s, x.eval(fr)) },
		sketch: func(k *sketch) int { return k.function(n.name, x) },
	}
}

func (c *compiler) concatenate(n *node) term {
	if len(n.args) != 1 || n.args[0].op != "list" || len(n.args[0].args) == 0 {
		return c.fail(n, "concatenate() takes one list of rows, as in concatenate([OBSERVATIONS, net])")
	}
	t := term{}
	var parts []term
	for _, a := range n.args[0].args {
		x := c.rows(a, "what is concatenated")
		parts = append(parts, x)
		t.width += x.width
	}
	t.eval = func(f *frame) tensor.Tensor {
		list := make([]tensor.Tensor, len(parts))
		for i, p := range parts {
			if list[i] = p.eval(f); f.s.Err() != nil {
				return tensor.Tensor{}
			}
		}
		return f.s.Cat(-1, list...)
	}
	t.sketch = func(k *sketch) int { return k.add(description.Step{Op: description.Concatenate}, parts...) }
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
	t := term{width: int64(space.space.Outputs())}
	t.sketch = func(k *sketch) int {
		return k.add(description.Step{Op: description.OneHot, Choices: slices.Clone(nvec)}, x)
	}
	t.eval = func(f *frame) tensor.Tensor {
		rows := x.eval(f)
		parts := make([]tensor.Tensor, len(nvec))
		for i, k := range nvec {
			choices := f.s.As(f.s.Arange(int64(k)), tensor.Float32)
			parts[i] = f.s.As(f.s.Eq(f.s.Narrow(rows, -1, int64(i), 1), choices), tensor.Float32)
		}
		if f.s.Err() != nil {
			return tensor.Tensor{}
		}
		return f.s.Cat(-1, parts...)
	}
	return t
}
