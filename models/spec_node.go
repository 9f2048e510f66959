package models

import "fmt"

// node is one operation of a parsed expression. op is "number", "name", "call", "list", "-x" (negation), "+", "-", "*",
// "/", "part" (args: x and, without a key, the position), "column" (args: x, index) or "columns" (args: x, from, to;
// nil where the bound is left out).
type node struct {
	op   string
	at   int // where it begins, from 0
	name string
	key  *string // of a part that has a name
	num  float64
	dim  int // of columns: the dimension, 0 being the batch; -1 is the last
	args []*node
}

// expressionError is something wrong at a place of an expression.
type expressionError struct {
	path, text string
	at         int
	problem    string
}

// Error says what is wrong, and at which character.
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
