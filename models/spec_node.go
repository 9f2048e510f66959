package models

import "fmt"

// node is one operation of a parsed expression. Only the fields of its op are set.
type node struct {
	// op is "number", "name", "call", "list", "-x" (negation), "+", "-", "*", "/", "part", "column" or "columns".
	op string
	// at is the offset in bytes that errors point to: the first character, the operator or the bracket.
	at int
	// name is the identifier of a name or the function of a call.
	name string
	// key is the name of a part of a Dict, x["key"]. It is nil if the part has a position, x[0].
	key *string
	// num is the value of a number.
	num float64
	// dim is the dimension that a column or columns are taken of. 0 is the batch, -1 the last dimension.
	dim int
	// args are the operands. A part has x and, without a key, the position; a column has x and the index. Columns have
	// x, from and to, which are nil if the bound is left out.
	args []*node
}

// expressionError is an error at a place of an expression.
type expressionError struct {
	// path names the setting, such as "network[0].input", and text is its expression.
	path, text string
	// at is the offset of the place in text, in bytes from 0.
	at int
	// problem says what is wrong and what is allowed.
	problem string
}

// Error implements error. It gives the place in bytes from 1, and shows at most 80 bytes of the expression.
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
