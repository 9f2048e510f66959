package npz

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// elementType is a parsed dtype.
type elementType struct {
	kind byte // f i u b U S
	size int  // bytes
}

func parseType(s string) (elementType, error) {
	if len(s) < 2 {
		return elementType{}, fmt.Errorf("dtype %q is not known", s)
	}
	order, kind, digits := s[0], s[1], s[2:]
	if kind == 'O' {
		return elementType{}, errors.New("it holds Python objects, which NumPy stores as a pickle and this reader refuses; convert it to numbers or strings, e.g. array.astype('U') or .astype(float), and save it again")
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || digits[0] == '+' {
		return elementType{}, fmt.Errorf("dtype %q is not known", s)
	}
	if order == '>' {
		return elementType{}, fmt.Errorf("dtype %q is big-endian; convert it with array.astype(%q) and save it again", s,
			"<"+s[1:])
	}
	switch s[:2] {
	case "<U", "|S":
		if n > 1<<20 {
			return elementType{}, fmt.Errorf("dtype %q: strings are too long", s)
		}
		if kind == 'U' {
			n *= 4 // bytes of a code point
		}
		return elementType{kind, n}, nil
	}
	switch s {
	case "<f2", "<f4", "<f8", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "|i1", "|u1", "|b1":
		return elementType{kind, n}, nil
	}
	return elementType{}, fmt.Errorf("dtype %q is not supported; use float32, float64, an integer type, bool or str", s)
}

// header is what the text at the start of a .npy file says.
type header struct {
	dtype   string
	fortran bool
	shape   []int
}

// parseHeader reads the Python dict of a .npy file: descr, fortran_order and shape, each once.
func parseHeader(text string) (header, error) {
	var h header
	p := &scanner{rest: text}
	seen := map[string]bool{}
	if !p.take("{") {
		return h, errors.New("header is not a dict")
	}
	for !p.take("}") {
		key, ok := p.str()
		if !ok || !p.take(":") || seen[key] {
			return h, fmt.Errorf("header is malformed near %.20q", p.rest)
		}
		seen[key] = true
		switch key {
		case "descr":
			if strings.HasPrefix(p.rest, "[") {
				return h, errors.New("it is a structured array, which is not supported; save its fields one by one")
			}
			if h.dtype, ok = p.str(); !ok {
				return h, errors.New("header: descr is not a string")
			}
		case "fortran_order":
			h.fortran = p.take("True")
			if !h.fortran && !p.take("False") {
				return h, errors.New("header: fortran_order is neither True nor False")
			}
		case "shape":
			if h.shape, ok = p.tuple(); !ok {
				return h, errors.New("header: shape is not a tuple of sizes")
			}
		default:
			return h, fmt.Errorf("header has the unknown key %q", key)
		}
		if !p.take(",") && !strings.HasPrefix(p.rest, "}") {
			return h, fmt.Errorf("header is malformed near %.20q", p.rest)
		}
	}
	if strings.Trim(p.rest, " \n\t\r\x00") != "" {
		return h, fmt.Errorf("header is followed by %.20q", p.rest)
	}
	if len(seen) != 3 {
		return h, errors.New("header lacks descr, fortran_order or shape")
	}
	return h, nil
}

// scanner reads the few Python literals that headers hold. The rest never begins with a space.
type scanner struct{ rest string }

func (p *scanner) take(token string) bool {
	p.rest = strings.TrimLeft(p.rest, " ")
	if !strings.HasPrefix(p.rest, token) {
		return false
	}
	p.rest = strings.TrimLeft(p.rest[len(token):], " ")
	return true
}

func (p *scanner) str() (string, bool) {
	if p.rest == "" || (p.rest[0] != '\'' && p.rest[0] != '"') {
		return "", false
	}
	end := strings.IndexByte(p.rest[1:], p.rest[0])
	if end < 0 || strings.Contains(p.rest[1:1+end], `\`) {
		return "", false
	}
	s := p.rest[1 : 1+end]
	p.rest = strings.TrimLeft(p.rest[end+2:], " ")
	return s, true
}

func (p *scanner) tuple() ([]int, bool) {
	if !p.take("(") {
		return nil, false
	}
	out := []int{}
	for !p.take(")") {
		n := 0
		for n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9' {
			n++
		}
		d, err := strconv.Atoi(p.rest[:n])
		if err != nil || len(out) == maxDims {
			return nil, false
		}
		out = append(out, d)
		p.rest = p.rest[n:]
		p.take("L") // long integers of Python 2
		if !p.take(",") && !strings.HasPrefix(p.rest, ")") {
			return nil, false
		}
	}
	return out, true
}
