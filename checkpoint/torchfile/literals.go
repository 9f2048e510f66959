package torchfile

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"
)

// scalar pushes what the instruction spells out.
func (m *machine) scalar(op byte) error {
	switch op {
	case opNone:
		return m.push(nil)
	case opNewTrue, opNewFalse:
		return m.push(op == opNewTrue)
	case opBinInt1, opBinInt2, opBinInt, opBinFloat:
		b, err := m.take(map[byte]int{opBinInt1: 1, opBinInt2: 2, opBinInt: 4, opBinFloat: 8}[op])
		if err != nil {
			return err
		}
		switch op {
		case opBinInt1:
			return m.push(int64(b[0]))
		case opBinInt2:
			return m.push(int64(binary.LittleEndian.Uint16(b)))
		case opBinInt:
			return m.push(int64(int32(binary.LittleEndian.Uint32(b))))
		}
		return m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	case opLong1, opLong4:
		b, err := m.counted(map[byte]int{opLong1: 1, opLong4: 4}[op])
		if err != nil {
			return err
		}
		n, err := parseLong(b)
		if err != nil {
			return err
		}
		return m.push(n)
	case opBinUnicode, opShortBinUnicode, opBinUnicode8:
		b, err := m.counted(map[byte]int{opBinUnicode: 4, opShortBinUnicode: 1, opBinUnicode8: 8}[op])
		if err != nil {
			return err
		}
		if !utf8.Valid(b) {
			return damaged("a string of its pickle is not UTF-8")
		}
		return m.make(string(b))
	case opBinBytes, opShortBinBytes, opBinBytes8:
		b, err := m.counted(map[byte]int{opBinBytes: 4, opShortBinBytes: 1, opBinBytes8: 8}[op])
		if err != nil {
			return err
		}
		return m.make(append([]byte{}, b...))
	}
	return unsupported("its pickle has the instruction %#02x, which files of tensors do not need", op)
}

// parseLong reads a two's complement number of any width that fits 64 bits.
func parseLong(b []byte) (int64, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if len(b) > 8 {
		return 0, unsupported("its pickle has a whole number of %d bytes; 8 are known", len(b))
	}
	var n uint64
	for i, x := range b {
		n |= uint64(x) << (8 * i)
	}
	shift := 64 - 8*len(b)
	return int64(n<<shift) >> shift, nil
}

// take returns the next n bytes of the pickle.
func (m *machine) take(n int) ([]byte, error) {
	if n > len(m.code)-m.at {
		return nil, damaged("its pickle is cut off")
	}
	b := m.code[m.at : m.at+n]
	m.at += n
	return b, nil
}

// counted returns as many bytes as the next n bytes say.
func (m *machine) counted(n int) ([]byte, error) {
	b, err := m.take(n)
	if err != nil {
		return nil, err
	}
	var length uint64
	for i, x := range b {
		length |= uint64(x) << (8 * i)
	}
	if length > uint64(len(m.code)-m.at) {
		return nil, damaged("its pickle announces %d bytes, where %d follow", length, len(m.code)-m.at)
	}
	return m.take(int(length))
}

// line returns the text up to the next line break.
func (m *machine) line() (string, error) {
	rest := m.code[m.at:]
	end := strings.IndexByte(string(rest[:min(len(rest), 1<<10)]), '\n')
	if end < 0 || !utf8.Valid(rest[:end]) {
		return "", damaged("a name in its pickle has no end, or is not UTF-8")
	}
	m.at += end + 1
	return string(rest[:end]), nil
}
