package torchfile

import (
	"encoding/binary"
	"math"
	"strconv"
)

// numpyType is a numpy.dtype of single numbers, e.g. f8.
type numpyType struct {
	kind  byte // f i u b
	width int
	big   bool
}

// newNumpyType is numpy.dtype(name, False, True).
func newNumpyType(m *machine, args Tuple) (any, bool, error) {
	if len(args) != 1 && len(args) != 3 {
		return nil, false, nil
	}
	text, ok := args[0].(string)
	if !ok || len(text) != 2 {
		return nil, false, nil
	}
	t := numpyType{kind: text[0], width: int(text[1] - '0')}
	switch text {
	case "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1":
		return t, true, nil
	}
	return nil, false, nil
}

// build reads the state of a dtype, of which only the byte order matters: (3, "<", None, None, None, -1, -1, 0).
func (t numpyType) build(state any) (numpyType, bool) {
	s, ok := state.(Tuple)
	if !ok || len(s) < 2 {
		return t, false
	}
	order, ok := s[1].(string)
	if !ok || order != "<" && order != ">" && order != "|" && order != "=" {
		return t, false
	}
	for _, x := range s[2:min(len(s), 5)] { // subtypes, names and fields: of structures, not of numbers
		if x != nil {
			return t, false
		}
	}
	t.big = order == ">"
	return t, true
}

// encode is _codecs.encode(text, "latin1"), which is how bytes are spelt in pickles of protocol 2.
func encode(m *machine, args Tuple) (any, bool, error) {
	if len(args) != 2 || args[1] != any("latin1") && args[1] != any("latin-1") {
		return nil, false, nil
	}
	text, ok := args[0].(string)
	if !ok {
		return nil, false, nil
	}
	if err := m.spend(len(text) / 16); err != nil {
		return nil, false, err
	}
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return nil, false, nil
		}
		out = append(out, byte(r))
	}
	return out, true, nil
}

// numpyScalar is numpy.core.multiarray.scalar(dtype, bytes): it becomes a plain number.
func numpyScalar(m *machine, args Tuple) (any, bool, error) {
	if len(args) != 2 {
		return nil, false, nil
	}
	t, ok := args[0].(numpyType)
	b, isBytes := args[1].([]byte)
	if !ok || !isBytes || len(b) != t.width {
		return nil, false, nil
	}
	var n uint64
	for i, x := range b {
		if t.big {
			i = len(b) - 1 - i
		}
		n |= uint64(x) << (8 * i)
	}
	switch {
	case t.kind == 'b':
		return n != 0, true, nil
	case t.kind == 'f' && t.width == 4:
		return float64(math.Float32frombits(uint32(n))), true, nil
	case t.kind == 'f':
		return math.Float64frombits(n), true, nil
	case t.kind == 'i':
		shift := 64 - 8*t.width
		return int64(n<<shift) >> shift, true, nil
	case n > math.MaxInt64:
		return nil, false, unsupported("it has the number %d, which is larger than an int64 holds", n)
	}
	return int64(n), true, nil
}

func deviceName(kind string, index int64) string { return kind + ":" + strconv.FormatInt(index, 10) }

// appendLong appends the two's complement spelling of n in 8 bytes.
func appendLong(b []byte, n int64) []byte {
	b = append(b, opLong1, 8)
	return binary.LittleEndian.AppendUint64(b, uint64(n))
}
