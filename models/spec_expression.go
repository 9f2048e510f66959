package models

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The limits of an expression bound the parser's recursion and its work, whatever a file contains.
const (
	// maxExpression is in bytes.
	maxExpression = 4096
	// maxNesting limits brackets within brackets, and brackets that follow each other.
	maxNesting = 64
)

// parser reads expressions by recursive descent: sum, product, sign, indexed, value. After its first error it stands at
// the end of the text, so that every loop ends. The nodes that it then returns are meaningless.
type parser struct {
	// path and text name the setting and its expression in errors.
	path, text string
	// pos is the offset in bytes of what is read next.
	pos int
	// depth counts the open calls of indexed, which every nesting passes through.
	depth int
	// err is the first error.
	err error
}

// parseExpression reads an expression of the network language, see [Spec]. path names it in errors.
func parseExpression(path, text string) (*node, error) {
	p := &parser{path: path, text: text}
	if len(text) > maxExpression {
		p.fail(maxExpression, "the expression is longer than %d characters", maxExpression)
	}
	n := p.sum()
	if p.peek() != 0 {
		p.fail(p.pos, "want an operator or the end, found %s", p.found())
	}
	return n, p.err
}

// fail records an error at the offset unless there is one already, and goes to the end of the text. It returns an empty
// node.
func (p *parser) fail(at int, format string, args ...any) *node {
	if p.err == nil {
		p.err = &expressionError{p.path, p.text, at, fmt.Sprintf(format, args...)}
	}
	p.pos = len(p.text)
	return &node{}
}

// peek skips white space and returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

// accept skips the byte c if it is next.
func (p *parser) accept(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.pos++
	return true
}

// expect skips the byte c. Anything else is an error.
func (p *parser) expect(c byte) {
	if !p.accept(c) {
		p.fail(p.pos, "want %q, found %s", string(c), p.found())
	}
}

// found describes what is next, for errors.
func (p *parser) found() string {
	if p.peek() == 0 {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return strconv.Quote(string(r))
}

// sum reads a whole expression: products joined by + and -.
func (p *parser) sum() *node { return p.chain("+-", p.product) }

// product reads operands joined by * and /, which bind tighter than + and -.
func (p *parser) product() *node { return p.chain("*/", p.sign) }

// chain reads operands joined by left-associative operators.
func (p *parser) chain(operators string, operand func() *node) *node {
	left := operand()
	for {
		c, at := p.peek(), p.pos
		if c == 0 || strings.IndexByte(operators, c) < 0 {
			return left
		}
		p.pos++
		// Python's ** and // are refused by name. Otherwise the error would be about a missing operand.
		if next := p.peek(); next == c && (c == '*' || c == '/') {
			return p.fail(at, "the operator %q is not known; there are + - * /", string([]byte{c, c}))
		}
		left = &node{op: string(c), at: at, args: []*node{left, operand()}}
	}
}

// sign reads any number of signs and an operand. The sign of a number becomes part of the number.
func (p *parser) sign() *node {
	at := p.pos
	negative := false
	for {
		if p.accept('-') {
			negative = !negative
		} else if !p.accept('+') {
			break
		}
	}
	n := p.indexed()
	switch {
	case !negative:
		return n
	case n.op == "number":
		return &node{op: "number", at: at, num: -n.num}
	}
	return &node{op: "-x", at: at, args: []*node{n}}
}

// indexed reads a value and the brackets after it, which take parts or columns of the value.
func (p *parser) indexed() *node {
	if p.depth++; p.depth > maxNesting {
		return p.fail(p.pos, "the expression nests more than %d deep", maxNesting)
	}
	defer func() { p.depth-- }()
	n := p.value()
	for times := 0; p.peek() == '['; times++ {
		if times == maxNesting {
			return p.fail(p.pos, "more than %d brackets follow each other", maxNesting)
		}
		n = p.index(n)
	}
	return n
}

// index reads one bracket upon x: ["key"], [position], [:, columns] or [..., columns]. The parts of a Dict have keys,
// those of a Tuple positions.
func (p *parser) index(x *node) *node {
	at := p.pos
	p.pos++
	c := p.peek()
	switch {
	case c == '"' || c == '\'':
		key := p.quoted(c)
		p.expect(']')
		return &node{op: "part", at: at, key: &key, args: []*node{x}}
	case strings.HasPrefix(p.text[p.pos:], "..."):
		p.pos += 3
		p.expect(',')
		n := p.columns(x, at, -1)
		p.expect(']')
		return n
	case p.accept(':'):
		p.expect(',')
		// Each further index, as in x[:, 0:3, 2], is about the next dimension of what the ones before have left.
		for dim := 1; ; {
			// A single column takes its dimension away, so the next index is about the same number.
			if x = p.columns(x, at, dim); x.op == "columns" {
				dim++
			}
			if !p.accept(',') || p.peek() == ']' {
				p.expect(']')
				return x
			}
		}
	case isDigit(c) || c == '-' || c == '(':
		from := p.pos
		if position := p.sum(); p.accept(']') {
			return &node{op: "part", at: at, args: []*node{x, position}}
		}
		// Not a position: something like [0:3], which would choose rows. The error points to its beginning.
		p.pos = from
	}
	return p.fail(p.pos, "%s", chooseRows)
}

// chooseRows is the error of a first index other than ":", "..." or a part: expressions never choose rows of the batch.
const chooseRows = "a first index would choose rows of the batch; take columns, as in x[:, 0:3], or a part of a Dict " +
	"or Tuple"

// quoted reads a text in the given quotes. A backslash makes the next byte a part of the text.
func (p *parser) quoted(quote byte) string {
	var b strings.Builder
	for i := p.pos + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == quote:
			p.pos = i + 1
			return b.String()
		case c == '\\' && i+1 < len(p.text):
			i++
			b.WriteByte(p.text[i])
		default:
			b.WriteByte(c)
		}
	}
	p.fail(p.pos, "the quote %q is never closed", string(quote))
	return ""
}

// columns reads i or from:to, the index of dimension dim of x. It leaves the comma or the bracket after it. at is the
// offset of the opening bracket.
func (p *parser) columns(x *node, at, dim int) *node {
	var from, to *node
	if p.peek() != ':' {
		from = p.sum()
	}
	if c := p.peek(); from != nil && (c == ']' || c == ',') {
		return &node{op: "column", at: at, dim: dim, args: []*node{x, from}}
	}
	p.expect(':')
	if c := p.peek(); c != ']' && c != ':' && c != ',' {
		to = p.sum()
	}
	if p.peek() == ':' {
		return p.fail(p.pos, "columns cannot be taken with a step")
	}
	return &node{op: "columns", at: at, dim: dim, args: []*node{x, from, to}}
}

// value reads a number, a name, a call, a list, or an expression in parentheses.
func (p *parser) value() *node {
	c := p.peek()
	at := p.pos
	switch {
	case p.accept('('):
		n := p.sum()
		if p.accept(',') { // a tuple
			return &node{op: "list", at: at, args: append([]*node{n}, p.arguments(')')...)}
		}
		p.expect(')')
		return n
	case p.accept('['):
		return &node{op: "list", at: at, args: p.arguments(']')}
	case isDigit(c) || c == '.':
		return p.number()
	case isLetter(c):
		for p.pos < len(p.text) && (isLetter(p.text[p.pos]) || isDigit(p.text[p.pos])) {
			p.pos++
		}
		name := p.text[at:p.pos]
		if !p.accept('(') {
			return &node{op: "name", at: at, name: name}
		}
		return &node{op: "call", at: at, name: name, args: p.arguments(')')}
	case c == 0:
		return p.fail(p.pos, "the expression ends too early")
	}
	return p.fail(p.pos, "want a name, a number or \"(\", found %s", p.found())
}

// isLetter reports whether c can begin a name: an ASCII letter or an underscore.
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// isDigit reports whether c is an ASCII digit.
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// numeral matches digits with a fraction and an exponent. Every part is optional; ParseFloat decides whether the text
// is a number.
var numeral = regexp.MustCompile(`^[0-9]*(\.[0-9]*)?([eE][-+]?[0-9]*)?`)

// number reads an unsigned number.
func (p *parser) number() *node {
	at := p.pos
	text := numeral.FindString(p.text[at:])
	p.pos += len(text)
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(x, 0) {
		return p.fail(at, "%q is not a number", text)
	}
	return &node{op: "number", at: at, num: x}
}

// arguments reads the rest of a list, with or without a comma at the end, and the closing bracket end.
func (p *parser) arguments(end byte) []*node {
	var args []*node
	for p.err == nil && !p.accept(end) {
		args = append(args, p.sum())
		if !p.accept(',') {
			p.expect(end)
			break
		}
	}
	return args
}
