package torchfile

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"
)

// widths is the number of bytes after an instruction: those of a number, or of the length of a text.
var widths = map[byte]int{
	opBinInt1: 1, opBinInt2: 2, opBinInt: 4, opBinFloat: 8, opLong1: 1, opLong4: 4,
	opBinUnicode: 4, opShortBinUnicode: 1, opBinUnicode8: 8, opBinBytes: 4, opShortBinBytes: 1, opBinBytes8: 8,
}

// scalar pushes the number or text of an instruction.
func (m *machine) scalar(op byte) {
	width := widths[op]
	switch op {
	case opNone:
		m.push(nil)
	case opNewTrue, opNewFalse:
		m.push(op == opNewTrue)
	case opBinInt1, opBinInt2:
		m.push(int64(littleEndian(m.take(width))))
	case opBinInt:
		m.push(int64(int32(littleEndian(m.take(width)))))
	case opBinFloat:
		m.push(math.Float64frombits(binary.BigEndian.Uint64(m.take(width))))
	case opLong1, opLong4:
		b := m.counted(width)
		if len(b) > 8 {
			m.fail(unsupported("its pickle has a whole number of %d bytes; 8 are supported", len(b)))
			return
		}
		m.push(signed(littleEndian(b), len(b)))
	case opBinUnicode, opShortBinUnicode, opBinUnicode8:
		b := m.counted(width)
		if !utf8.Valid(b) {
			m.fail(damaged("a string of its pickle is not UTF-8"))
		}
		m.push(string(b))
	case opBinBytes, opShortBinBytes, opBinBytes8:
		m.push(append([]byte{}, m.counted(width)...))
	default:
		m.fail(unsupported("its pickle has the instruction %#02x, which files of tensors do not need", op))
	}
}

// littleEndian returns the number of up to 8 bytes, the lowest first.
func littleEndian(b []byte) uint64 {
	var n uint64
	for i, x := range b {
		n |= uint64(x) << (8 * i)
	}
	return n
}

// signed reads the lowest bytes of n, width of them, as a two's complement number.
func signed(n uint64, width int) int64 {
	shift := 64 - 8*width
	return int64(n<<shift) >> shift
}

// take returns the next n bytes of the pickle. They are zeros, and an error, if fewer are left.
func (m *machine) take(n int) []byte {
	if n > len(m.code)-m.at {
		m.fail(damaged("its pickle is cut off"))
		return make([]byte, n)
	}
	b := m.code[m.at : m.at+n]
	m.at += n
	return b
}

// counted reads a length of n bytes and returns that many bytes.
func (m *machine) counted(n int) []byte {
	length := littleEndian(m.take(n))
	if length > uint64(len(m.code)-m.at) {
		m.fail(damaged("its pickle announces %d bytes, but %d follow", length, len(m.code)-m.at))
		return nil
	}
	return m.take(int(length))
}

// line returns the text up to the next line break.
func (m *machine) line() string {
	rest := m.code[m.at:]
	end := strings.IndexByte(string(rest[:min(len(rest), 1<<10)]), '\n')
	if end < 0 || !utf8.Valid(rest[:end]) {
		m.fail(damaged("a name in its pickle has no end, or is not UTF-8"))
		return ""
	}
	m.at += end + 1
	return string(rest[:end])
}
