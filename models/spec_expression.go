package models

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The limits of an expression.
const (
	maxExpression = 4096 // characters
	maxNesting    = 64
)

// parser reads expressions by recursive descent.
type parser struct {
	path, text string
	pos        int
	depth      int
}

// parseExpression reads an expression of the network language, see [Spec]. path names it in errors.
func parseExpression(path, text string) (*node, error) {
	p := &parser{path: path, text: text}
	if len(text) > maxExpression {
		return nil, p.fail(maxExpression, "the expression is longer than %d characters", maxExpression)
	}
	n, err := p.sum()
	if err != nil {
		return nil, err
	}
	if p.peek() != 0 {
		return nil, p.fail(p.pos, "want an operator or the end, found %s", p.found())
	}
	return n, nil
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &expressionError{p.path, p.text, at, fmt.Sprintf(format, args...)}
}

// peek skips space and returns the next byte, or 0 at the end.
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

func (p *parser) expect(c byte) error {
	if !p.accept(c) {
		return p.fail(p.pos, "want %q, found %s", string(c), p.found())
	}
	return nil
}

// found describes what is next.
func (p *parser) found() string {
	if p.peek() == 0 {
		return "the end"
	}
	for _, r := range p.text[p.pos:] {
		return strconv.Quote(string(r))
	}
	return "the end"
}

func (p *parser) sum() (*node, error) { return p.chain("+-", p.product) }

func (p *parser) product() (*node, error) { return p.chain("*/", p.sign) }

// chain reads operands joined by left-associative operators.
func (p *parser) chain(operators string, operand func() (*node, error)) (*node, error) {
	left, err := operand()
	for err == nil {
		c, at := p.peek(), p.pos
		if c == 0 || strings.IndexByte(operators, c) < 0 {
			return left, nil
		}
		p.pos++
		if next := p.peek(); next == c && (c == '*' || c == '/') {
			return nil, p.fail(at, "the operator %q is not known; there are + - * /", string([]byte{c, c}))
		}
		var right *node
		if right, err = operand(); err == nil {
			left = &node{op: string(c), at: at, args: []*node{left, right}}
		}
	}
	return nil, err
}

func (p *parser) sign() (*node, error) {
	at := p.pos
	negative := false
	for {
		switch p.peek() {
		case '-':
			negative = !negative
			p.pos++
			continue
		case '+':
			p.pos++
			continue
		}
		break
	}
	n, err := p.indexed()
	if err == nil && negative {
		if n.op == "number" {
			return &node{op: "number", at: at, num: -n.num}, nil
		}
		return &node{op: "-x", at: at, args: []*node{n}}, nil
	}
	return n, err
}

// indexed reads a value and the columns taken of it.
func (p *parser) indexed() (*node, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, p.fail(p.pos, "the expression nests more than %d deep", maxNesting)
	}
	defer func() { p.depth-- }()
	n, err := p.value()
	for times := 0; err == nil && p.peek() == '['; times++ {
		if times == maxNesting {
			return nil, p.fail(p.pos, "more than %d brackets follow each other", maxNesting)
		}
		n, err = p.columns(n)
	}
	return n, err
}

// columns reads [:, i], [:, from:to] or the same with "..." in front.
func (p *parser) columns(x *node) (*node, error) {
	at := p.pos
	p.pos++
	switch {
	case p.peek() == '"' || p.peek() == '\'':
		return nil, p.fail(p.pos, "parts of a Dict space cannot be named, since all rows are flat; take columns, as in x[:, 0:3]")
	case strings.HasPrefix(p.text[p.pos:], "..."):
		p.pos += 3
	case p.peek() == ':':
		p.pos++
	default:
		return nil, p.fail(p.pos, "a first index would choose rows of the batch; take columns, as in x[:, 0:3]")
	}
	if err := p.expect(','); err != nil {
		return nil, err
	}
	var from, to *node
	var err error
	if p.peek() != ':' {
		if from, err = p.sum(); err != nil {
			return nil, err
		}
	}
	if from != nil && p.accept(']') {
		return &node{op: "column", at: at, args: []*node{x, from}}, nil
	}
	if err := p.expect(':'); err != nil {
		return nil, err
	}
	if p.peek() == ':' {
		return nil, p.fail(p.pos, "columns cannot be taken with a step")
	}
	if p.peek() != ']' {
		if to, err = p.sum(); err != nil {
			return nil, err
		}
	}
	if p.peek() == ':' {
		return nil, p.fail(p.pos, "columns cannot be taken with a step")
	}
	return &node{op: "columns", at: at, args: []*node{x, from, to}}, p.expect(']')
}

func (p *parser) value() (*node, error) {
	c := p.peek()
	at := p.pos
	switch {
	case c == '(':
		p.pos++
		n, err := p.sum()
		if err != nil {
			return nil, err
		}
		return n, p.expect(')')
	case c == '[':
		p.pos++
		args, err := p.arguments(']')
		return &node{op: "list", at: at, args: args}, err
	case c >= '0' && c <= '9' || c == '.':
		return p.number()
	case isLetter(c):
		for p.pos < len(p.text) && (isLetter(p.text[p.pos]) || p.text[p.pos] >= '0' && p.text[p.pos] <= '9') {
			p.pos++
		}
		name := p.text[at:p.pos]
		if !p.accept('(') {
			return &node{op: "name", at: at, name: name}, nil
		}
		args, err := p.arguments(')')
		return &node{op: "call", at: at, name: name, args: args}, err
	case c == 0:
		return nil, p.fail(p.pos, "the expression ends too early")
	}
	return nil, p.fail(p.pos, "want a name, a number or \"(\", found %s", p.found())
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// number reads digits with a fraction and an exponent.
func (p *parser) number() (*node, error) {
	at := p.pos
	digits := func() {
		for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
			p.pos++
		}
	}
	digits()
	if p.pos < len(p.text) && p.text[p.pos] == '.' {
		p.pos++
		digits()
	}
	if p.pos < len(p.text) && (p.text[p.pos] == 'e' || p.text[p.pos] == 'E') {
		p.pos++
		if p.pos < len(p.text) && (p.text[p.pos] == '-' || p.text[p.pos] == '+') {
			p.pos++
		}
		digits()
	}
	x, err := strconv.ParseFloat(p.text[at:p.pos], 64)
	if err != nil || math.IsInf(x, 0) {
		return nil, p.fail(at, "%q is not a number", p.text[at:p.pos])
	}
	return &node{op: "number", at: at, num: x}, nil
}

// arguments reads a list, with or without a last comma, and its closing bracket.
func (p *parser) arguments(end byte) ([]*node, error) {
	var args []*node
	for !p.accept(end) {
		a, err := p.sum()
		if err != nil {
			return nil, err
		}
		args = append(args, a)
		if !p.accept(',') {
			return args, p.expect(end)
		}
	}
	return args, nil
}
