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

// term is a compiled expression: a number, a list, a space, or rows of a known width.
type term struct {
	width  int64            // of rows, 0 of anything else
	shape  []int            // of the elements of rows that are more than one list of numbers, nil otherwise
	laid   bool             // by permute() or a convolution, so that the shape counts, and is no detail of the space
	part   *spaces.Space    // the space of rows that are an input's, or a part of them
	from   int64            // the part's first column
	row    int64            // the width of the input that it is a part of
	step   description.Step // which computes the rows from args; without an Op they are the result at
	args   []term
	at     int
	num    float64
	number bool
	list   []term
	space  *spaces.Space
}

// rows reports whether the term is rows of values, as opposed to a number, a list or a space.
func (t term) rows() bool { return t.width > 0 }

// then is a step that computes every value of rows from that value.
func (t term) then(s description.Step) term {
	return term{width: t.width, shape: t.shape, laid: t.laid, step: s, args: []term{t}}
}

// picture reports whether layers that read rows must not read these: they have dimensions that count.
func (t term) picture() bool { return t.laid && len(t.shape) > 1 }

// dims is the shape of an element of rows.
func (t term) dims() []int {
	if t.shape == nil {
		return []int{int(t.width)}
	}
	return t.shape
}

// shapeText writes a shape as Python does.
func shapeText(shape []int) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = strconv.Itoa(d)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// compiler turns parsed expressions into terms. After its first error, terms do not count.
type compiler struct {
	*names
	path, text string
	err        error
}

// compile reads text and resolves its names.
func (n *names) compile(path, text string) (term, error) {
	root, err := parseExpression(path, text)
	if err != nil {
		return term{}, err
	}
	return n.resolve(path, text, root)
}

// resolve compiles a parsed expression; text is what it was parsed from.
func (n *names) resolve(path, text string, root *node) (term, error) {
	c := compiler{names: n, path: path, text: text}
	t := c.term(root)
	return t, c.err
}

// size compiles the size of a layer.
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

// fail keeps the first error and returns a term that does not count.
func (c *compiler) fail(n *node, format string, args ...any) term {
	if c.err == nil {
		c.err = &expressionError{c.path, c.text, n.at, fmt.Sprintf(format, args...)}
	}
	return term{}
}

// term compiles a node and all that it is made of. After an error it is a zero term.
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

// name looks up an input, a space or an earlier container.
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
