package models

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// term is a compiled expression: a number, a list, a space, or rows of a known width. Exactly one of number, list,
// space and width says which. The zero term stands for an expression with an error.
//
// Compiling adds no steps to the network. The assembler's place does that for the terms that are used.
type term struct {
	// width is the number of values in each row, 0 for anything but rows.
	width int64
	// shape is the shape of the rows' elements. It is nil if the elements are flat.
	shape []int
	// laid says that permute() or a convolution has set the shape. Layers of rows then refuse the term, see picture. A
	// shape from the space alone is a hint, and such rows may be read flat.
	laid bool
	// part is the space of the rows if they are an input or a part of one, otherwise nil.
	part *spaces.Space
	// from is the first column of the part within its input.
	from int64
	// row is the width of that input.
	row int64
	// step computes the rows from args. If it has no Op, the rows exist already: they are the result at.
	step description.Step
	// args are the inputs of step, in order.
	args []term
	// at is a result of the network: 0 is the row, i the result of step i, description.StateRow the row of states.
	at int
	// num is the value if number is set.
	num    float64
	number bool
	// list are the elements of a list or a tuple, which only concatenate() and permute() accept.
	list []term
	// space is the space that a name such as OBSERVATION_SPACE stands for, or a part of it.
	space *spaces.Space
}

// rows reports whether the term is rows of values, as opposed to a number, a list or a space.
func (t term) rows() bool { return t.width > 0 }

// then returns the rows that a step computes from t value by value. The shape stays.
func (t term) then(s description.Step) term {
	return term{width: t.width, shape: t.shape, laid: t.laid, step: s, args: []term{t}}
}

// picture reports whether the elements have dimensions that count. Layers that read rows must not read them: they need
// a flatten before.
func (t term) picture() bool { return t.laid && len(t.shape) > 1 }

// dims returns the shape of an element of rows. Flat rows have one dimension.
func (t term) dims() []int {
	if t.shape == nil {
		return []int{int(t.width)}
	}
	return t.shape
}

// shapeText writes a shape like a Python tuple, but without the comma of a single element.
func shapeText(shape []int) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = strconv.Itoa(d)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// compiler turns the nodes of one expression into terms. It goes on after an error, but the terms are then meaningless:
// callers check err at the end.
type compiler struct {
	*names
	// path and text name the setting and its expression in errors.
	path, text string
	// err is the first error.
	err error
}

// compile parses text and resolves its names. path names the setting in errors.
func (n *names) compile(path, text string) (term, error) {
	root, err := parseExpression(path, text)
	if err != nil {
		return term{}, err
	}
	return n.resolve(path, text, root)
}

// resolve compiles a parsed expression. text is the source of root.
func (n *names) resolve(path, text string, root *node) (term, error) {
	c := compiler{names: n, path: path, text: text}
	t := c.term(root)
	return t, c.err
}

// size computes the size of a layer, from 1 to description.MaxLayerWidth.
func (n *names) size(path, text string) (int, error) {
	t, err := n.sizeNames().compile(path, text)
	if err != nil {
		return 0, err
	}
	if !t.number || t.num != math.Trunc(t.num) || t.num < 1 || t.num > description.MaxLayerWidth {
		return 0, fmt.Errorf("models: %s: the size %s is not a whole number from 1 to %d", path, text,
			description.MaxLayerWidth)
	}
	return int(t.num), nil
}

// fail records an error at node n unless there is one already. It returns the zero term.
func (c *compiler) fail(n *node, format string, args ...any) term {
	if c.err == nil {
		c.err = &expressionError{c.path, c.text, n.at, fmt.Sprintf(format, args...)}
	}
	return term{}
}

// term compiles a node and its operands. After an error it returns a zero term.
func (c *compiler) term(n *node) term {
	switch n.op {
	case "number":
		return term{number: true, num: n.num}
	case "name":
		return c.name(n)
	case "list":
		t := term{list: make([]term, len(n.args))}
		for i, a := range n.args {
			t.list[i] = c.rowsOrNumber(a, "an element of the list")
		}
		return t
	case "call":
		return c.call(n)
	case "part":
		return c.part(n)
	case "column", "columns":
		return c.columns(n)
	case "-x":
		x := c.rowsOrNumber(n.args[0], "what is negated")
		if x.number {
			return term{number: true, num: -x.num}
		}
		return x.then(description.Step{Op: description.Neg})
	}
	return c.arithmetic(n)
}

// name looks up an input, a size, a space or an earlier container. Two mistakes get messages of their own: states
// without a state space, and actions as an input.
func (c *compiler) name(n *node) term {
	if t, ok := c.terms[n.name]; ok {
		return t
	}
	switch n.name {
	case "STATES", "STATE_SPACE", "NUM_STATES":
		return c.fail(n, "%s: there is no state space here; use OBSERVATIONS", n.name)
	case "ACTIONS":
		return c.fail(n, "ACTIONS is not an input here: it belongs to Q functions, which no agent has; policies read "+
			"OBSERVATIONS, and the output is ACTIONS")
	}
	known := slices.Sorted(maps.Keys(c.terms))
	return c.fail(n, "unknown name %q%s; there are %s", n.name, config.Hint(n.name, known), strings.Join(known, ", "))
}

// rowsOrNumber compiles an operand of arithmetic; what names it in errors.
func (c *compiler) rowsOrNumber(n *node, what string) term {
	t := c.term(n)
	if !t.rows() && !t.number {
		return c.fail(n, "%s must be rows or a number", what)
	}
	return t
}

// rows compiles an operand that must be rows; what names it in errors.
func (c *compiler) rows(n *node, what string) term {
	t := c.term(n)
	if !t.rows() {
		return c.fail(n, "%s must be rows such as OBSERVATIONS", what)
	}
	return t
}
