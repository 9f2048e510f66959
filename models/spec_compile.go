package models

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// frame is one forward pass: the batch and what the containers have computed of it so far.
type frame struct {
	s       *tensor.Scope
	in      Inputs
	results []tensor.Tensor
}

// term is a compiled expression: a number, a list, a space, or rows of a known width.
type term struct {
	width  int64 // of rows
	eval   func(f *frame) tensor.Tensor
	sketch func(k *sketch) int // as eval, of a description
	num    float64
	number bool
	list   []term
	space  *spaces.Space
	source string // "observations" or "states" where the term is just that input
}

func (t term) rows() bool { return t.eval != nil }

// names are what expressions may call in a place.
type names struct {
	spec  Spec
	sp    spaces.Set
	sizes int // the outputs of the policy's distribution, or of the action space
	terms map[string]term
}

// reserved are the names with a meaning of their own.
var reserved = []string{"OBSERVATIONS", "STATES", "ACTIONS", "ONE", "NUM_OBSERVATIONS", "NUM_STATES", "NUM_ACTIONS",
	"OBSERVATION_SPACE", "STATE_SPACE", "ACTION_SPACE"}

// inputNames are the names that every expression of a model for sp may use.
func inputNames(spec Spec, sp spaces.Set, outputs int) *names {
	n := &names{spec: spec, sp: sp, sizes: outputs, terms: map[string]term{}}
	input := func(source string, space spaces.Space) term {
		eval := func(f *frame) tensor.Tensor { return f.in.Observations }
		if source == "states" {
			eval = func(f *frame) tensor.Tensor { return f.in.States }
		}
		return term{width: int64(space.Width()), eval: eval, sketch: sketchInput(source), source: source}
	}
	number := func(x int) term { return term{number: true, num: float64(x)} }
	n.terms["OBSERVATIONS"] = input("observations", sp.Observation)
	n.terms["OBSERVATION_SPACE"] = term{space: &n.sp.Observation}
	n.terms["NUM_OBSERVATIONS"] = number(sp.Observation.Outputs())
	n.terms["NUM_ACTIONS"] = number(outputs)
	n.terms["ACTION_SPACE"] = term{space: &n.sp.Action}
	n.terms["ONE"] = number(1)
	switch {
	case sp.State.Kind != spaces.None:
		n.terms["STATES"] = input("states", sp.State)
		n.terms["STATE_SPACE"] = term{space: &n.sp.State}
		n.terms["NUM_STATES"] = number(sp.State.Outputs())
	case spec.StatesAreObservations:
		n.terms["STATES"], n.terms["STATE_SPACE"], n.terms["NUM_STATES"] = n.terms["OBSERVATIONS"], n.terms["OBSERVATION_SPACE"], n.terms["NUM_OBSERVATIONS"]
	}
	return n
}

// with returns the names and one more.
func (n *names) with(name string, t term) *names {
	c := *n
	c.terms = maps.Clone(n.terms)
	c.terms[name] = t
	return &c
}

// sizeNames are those with which a layer's size may be written: skrl lets a space's name stand for its size there.
func (n *names) sizeNames() *names {
	c := *n
	c.terms = map[string]term{}
	for name, t := range n.terms {
		if t.number {
			c.terms[name] = t
		}
	}
	for _, name := range []string{"OBSERVATIONS", "STATES", "ACTIONS"} {
		if t, ok := c.terms["NUM_"+name]; ok {
			c.terms[name] = t
		}
	}
	return &c
}

// compiler turns parsed expressions into terms.
type compiler struct {
	*names
	path, text string
}

// compile reads text and resolves its names.
func (n *names) compile(path, text string) (term, error) {
	root, err := parseExpression(path, text)
	if err != nil {
		return term{}, err
	}
	return compiler{n, path, text}.term(root)
}

// size compiles the size of a layer.
func (n *names) size(path, text string) (int, error) {
	t, err := n.sizeNames().compile(path, text)
	if err != nil {
		return 0, err
	}
	if !t.number || t.num != math.Trunc(t.num) || t.num < 1 || t.num > maxLayerWidth {
		return 0, fmt.Errorf("models: %s: the size %s is not a whole number from 1 to %d", path, text, maxLayerWidth)
	}
	return int(t.num), nil
}

func (c compiler) fail(n *node, format string, args ...any) (term, error) {
	return term{}, &expressionError{c.path, c.text, n.at, fmt.Sprintf(format, args...)}
}

func (c compiler) term(n *node) (term, error) {
	switch n.op {
	case "number":
		return term{number: true, num: n.num}, nil
	case "name":
		return c.name(n)
	case "list":
		t := term{list: make([]term, len(n.args))}
		for i, a := range n.args {
			var err error
			if t.list[i], err = c.rowsOrNumber(a, "an element of the list"); err != nil {
				return t, err
			}
		}
		return t, nil
	case "call":
		return c.call(n)
	case "column", "columns":
		return c.columns(n)
	case "-x":
		x, err := c.rowsOrNumber(n.args[0], "what is negated")
		if err != nil || x.number {
			return term{number: true, num: -x.num}, err
		}
		return term{
			width:  x.width,
			eval:   func(f *frame) tensor.Tensor { return f.s.Neg(x.eval(f)) },
			sketch: func(k *sketch) int { return k.unary(description.Neg, x) },
		}, nil
	}
	return c.arithmetic(n)
}

func (c compiler) name(n *node) (term, error) {
	if t, ok := c.terms[n.name]; ok {
		return t, nil
	}
	switch n.name {
	case "STATES", "STATE_SPACE", "NUM_STATES":
		return c.fail(n, "%s: there is no state space here; use OBSERVATIONS", n.name)
	case "ACTIONS":
		return c.fail(n, "ACTIONS is not an input here: it belongs to Q functions, which no agent has; policies read OBSERVATIONS, and the output is ACTIONS")
	}
	known := slices.Sorted(maps.Keys(c.terms))
	return c.fail(n, "unknown name %q%s; there are %s", n.name, meant(n.name, known), strings.Join(known, ", "))
}

func (c compiler) rowsOrNumber(n *node, what string) (term, error) {
	t, err := c.term(n)
	if err == nil && !t.rows() && !t.number {
		return c.fail(n, "%s must be rows or a number", what)
	}
	return t, err
}

func (c compiler) rows(n *node, what string) (term, error) {
	t, err := c.term(n)
	if err == nil && !t.rows() {
		return c.fail(n, "%s must be rows such as OBSERVATIONS", what)
	}
	return t, err
}

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

func (c compiler) call(n *node) (term, error) {
	switch n.name {
	case "concatenate":
		return c.concatenate(n)
	case "one_hot_encoding":
		return c.oneHot(n)
	}
	f, ok := functions[n.name]
	if !ok {
		known := append(slices.Sorted(maps.Keys(functions)), "concatenate", "one_hot_encoding")
		return c.fail(n, "unknown function %s()%s; there are %s", n.name, meant(n.name, known), strings.Join(known, ", "))
	}
	if len(n.args) != 1 {
		return c.fail(n, "%s() takes one argument, got %d", n.name, len(n.args))
	}
	x, err := c.rows(n.args[0], "the argument of "+n.name+"()")
	return term{
		width:  x.width,
		eval:   func(fr *frame) tensor.Tensor { return f(fr.s, x.eval(fr)) },
		sketch: func(k *sketch) int { return k.function(n.name, x) },
	}, err
}

func (c compiler) concatenate(n *node) (term, error) {
	if len(n.args) != 1 || n.args[0].op != "list" || len(n.args[0].args) == 0 {
		return c.fail(n, "concatenate() takes one list of rows, as in concatenate([OBSERVATIONS, net])")
	}
	t := term{}
	var parts []term
	for _, a := range n.args[0].args {
		x, err := c.rows(a, "what is concatenated")
		if err != nil {
			return t, err
		}
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
	return t, nil
}

func (c compiler) oneHot(n *node) (term, error) {
	if len(n.args) != 2 {
		return c.fail(n, "one_hot_encoding() takes a space and rows, as in one_hot_encoding(OBSERVATION_SPACE, OBSERVATIONS)")
	}
	space, err := c.term(n.args[0])
	if err != nil {
		return term{}, err
	}
	if space.space == nil || space.space.Kind != spaces.Discrete && space.space.Kind != spaces.MultiDiscrete {
		return c.fail(n.args[0], "one_hot_encoding() needs a Discrete or MultiDiscrete space first")
	}
	x, err := c.rows(n.args[1], "the second argument of one_hot_encoding()")
	if err != nil {
		return term{}, err
	}
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
	return t, nil
}

// columns takes x[:, i] or x[:, from:to], with negative indices counted from the end; ranges are cut as Python does.
func (c compiler) columns(n *node) (term, error) {
	x, err := c.rows(n.args[0], "what columns are taken of")
	if err != nil {
		return x, err
	}
	bound := func(a *node, otherwise int64) (int64, error) {
		if a == nil {
			return otherwise, nil
		}
		t, err := c.term(a)
		if err == nil && (!t.number || t.num != math.Trunc(t.num) || math.Abs(t.num) > maxLayerWidth) {
			_, err = c.fail(a, "an index must be a whole number")
		}
		i := int64(t.num)
		if i < 0 {
			i += x.width
		}
		return i, err
	}
	from, err := bound(n.args[1], 0)
	if err != nil {
		return x, err
	}
	to := from + 1
	if n.op == "columns" {
		if to, err = bound(n.args[2], x.width); err != nil {
			return x, err
		}
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
	}, nil
}

func (c compiler) arithmetic(n *node) (term, error) {
	a, err := c.rowsOrNumber(n.args[0], "the left side of "+n.op)
	if err != nil {
		return a, err
	}
	b, err := c.rowsOrNumber(n.args[1], "the right side of "+n.op)
	if err != nil {
		return b, err
	}
	if n.op == "/" && b.number && b.num == 0 {
		return c.fail(n, "division by zero")
	}
	if a.number && b.number {
		x := map[string]float64{"+": a.num + b.num, "-": a.num - b.num, "*": a.num * b.num, "/": a.num / b.num}[n.op]
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return c.fail(n, "the result is not a finite number")
		}
		return term{number: true, num: x}, nil
	}
	if a.rows() && b.rows() && a.width != b.width && a.width != 1 && b.width != 1 {
		return c.fail(n, "rows of widths %d and %d do not combine", a.width, b.width)
	}
	return term{width: max(a.width, b.width), eval: operation(n.op, a, b), sketch: func(k *sketch) int { return k.binary(n.op, a, b) }}, nil
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
