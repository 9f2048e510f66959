package models

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// node is one operation of a parsed expression. op is "number", "name", "call", "list", "-x" (negation), "+", "-", "*", "/",
// "column" (args: x, index) or "columns" (args: x, from, to; nil where the bound is left out).
type node struct {
	op   string
	at   int // where it begins, from 0
	name string
	num  float64
	args []*node
}

// String writes the expression with every parenthesis that its structure needs and more.
func (n *node) String() string {
	if n == nil {
		return ""
	}
	list := func(args []*node) string {
		parts := make([]string, len(args))
		for i, a := range args {
			parts[i] = a.String()
		}
		return strings.Join(parts, ", ")
	}
	switch n.op {
	case "number":
		text := strconv.FormatFloat(n.num, 'g', -1, 64)
		if math.Signbit(n.num) {
			return "(" + text + ")"
		}
		return text
	case "name":
		return n.name
	case "call":
		return n.name + "(" + list(n.args) + ")"
	case "list":
		return "[" + list(n.args) + "]"
	case "-x":
		return "(-" + n.args[0].String() + ")"
	case "column":
		return n.args[0].String() + "[:, " + n.args[1].String() + "]"
	case "columns":
		return n.args[0].String() + "[:, " + n.args[1].String() + ":" + n.args[2].String() + "]"
	}
	return "(" + n.args[0].String() + " " + n.op + " " + n.args[1].String() + ")"
}

// expressionError is something wrong at a place of an expression.
type expressionError struct {
	path, text string
	at         int
	problem    string
}

func (e *expressionError) Error() string {
	if e.text == "" {
		return fmt.Sprintf("models: %s: it is empty; want an expression such as OBSERVATIONS or ACTIONS", e.path)
	}
	text := e.text
	if len(text) > 80 {
		text = text[:77] + "..."
	}
	return fmt.Sprintf("models: %s: %q, character %d: %s", e.path, text, e.at+1, e.problem)
}
