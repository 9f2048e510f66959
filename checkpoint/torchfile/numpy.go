package torchfile

import "math"

// numpyType is a numpy.dtype of single numbers, e.g. f8.
type numpyType struct {
	kind  byte // f i u b
	width int
}

// newNumpyType is numpy.dtype(name, False, True).
func newNumpyType(_ *machine, args Tuple) (any, bool) {
	if len(args) != 1 && len(args) != 3 {
		return nil, false
	}
	text, _ := args[0].(string)
	switch text {
	case "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1":
		return numpyType{kind: text[0], width: int(text[1] - '0')}, true
	}
	return nil, false
}

// build reads the state of a dtype, for example (3, "<", None, None, None, -1, -1, 0). It must be little-endian.
func (t numpyType) build(state any) (numpyType, bool) {
	s, ok := state.(Tuple)
	if !ok || len(s) < 2 {
		return t, false
	}
	order, ok := s[1].(string)
	if !ok || order != "<" && order != "|" && order != "=" {
		return t, false
	}
	for _, x := range s[2:min(len(s), 5)] { // subtypes, names and fields, which numbers do not have
		if x != nil {
			return t, false
		}
	}
	return t, true
}

// encode is _codecs.encode(text, "latin1"): pickles of protocol 2 write bytes so.
func encode(m *machine, args Tuple) (any, bool) {
	if len(args) != 2 || args[1] != any("latin1") && args[1] != any("latin-1") {
		return nil, false
	}
	text, ok := args[0].(string)
	if !ok || !m.spend(len(text)/16) {
		return nil, false
	}
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return nil, false
		}
		out = append(out, byte(r))
	}
	return out, true
}

// numpyScalar is numpy.core.multiarray.scalar(dtype, bytes). The result is a plain number.
func numpyScalar(m *machine, args Tuple) (any, bool) {
	if len(args) != 2 {
		return nil, false
	}
	t, ok := args[0].(numpyType)
	b, isBytes := args[1].([]byte)
	if !ok || !isBytes || len(b) != t.width {
		return nil, false
	}
	n := littleEndian(b)
	switch {
	case t.kind == 'b':
		return n != 0, true
	case t.kind == 'f' && t.width == 4:
		return float64(math.Float32frombits(uint32(n))), true
	case t.kind == 'f':
		return math.Float64frombits(n), true
	case t.kind == 'i':
		return signed(n, t.width), true
	case n > math.MaxInt64:
		m.fail(unsupported("it has the number %d, which is larger than an int64 holds", n))
	}
	return int64(n), true
}
