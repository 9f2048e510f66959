package torchfile

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"
)

// Limits on the pickle, far above what pickles of models need.
const (
	maxSteps = 1 << 24 // instructions
	maxStack = 1 << 22 // values on the stack
	maxMade  = 1 << 22 // containers, strings and entries of the memo
	maxNodes = 1 << 23 // values of the result, those that are there twice counted twice
	maxDepth = 200     // of the result
)

// The instructions of pickles, of protocols 2 to 5, that the machine knows.
const (
	opMark            = '('
	opStop            = '.'
	opPop             = '0'
	opPopMark         = '1'
	opDup             = '2'
	opBinFloat        = 'G'
	opBinInt          = 'J'
	opBinInt1         = 'K'
	opBinInt2         = 'M'
	opNone            = 'N'
	opBinPersID       = 'Q'
	opReduce          = 'R'
	opBinUnicode      = 'X'
	opAppend          = 'a'
	opBuild           = 'b'
	opGlobal          = 'c'
	opAppends         = 'e'
	opBinGet          = 'h'
	opLongBinGet      = 'j'
	opBinPut          = 'q'
	opLongBinPut      = 'r'
	opSetItem         = 's'
	opTuple           = 't'
	opSetItems        = 'u'
	opEmptyDict       = '}'
	opEmptyList       = ']'
	opEmptyTuple      = ')'
	opProto           = 0x80
	opTuple1          = 0x85
	opTuple2          = 0x86
	opTuple3          = 0x87
	opNewTrue         = 0x88
	opNewFalse        = 0x89
	opLong1           = 0x8a
	opLong4           = 0x8b
	opBinBytes        = 'B'
	opShortBinBytes   = 'C'
	opShortBinUnicode = 0x8c
	opBinUnicode8     = 0x8d
	opBinBytes8       = 0x8e
	opStackGlobal     = 0x93
	opMemoize         = 0x94
	opFrame           = 0x95
)

// refused are instructions that have no place in a file of tensors, with what they do.
var refused = map[byte]string{
	'i': "INST, which calls a class", 'o': "OBJ, which calls a class", 0x81: "NEWOBJ, which makes an object of a class",
	0x92: "NEWOBJ_EX, which makes an object of a class", 0x82: "EXT1, which names a registered extension", 0x83: "EXT2, which names a registered extension",
	0x84: "EXT4, which names a registered extension", 'P': "PERSID, which names an object in text", 0x97: "NEXT_BUFFER, which takes memory from elsewhere",
	0x98: "READONLY_BUFFER, which takes memory from elsewhere",
}

// machine runs a pickle.
type machine struct {
	code    []byte
	at      int
	archive *archive
	budget  int64 // bytes that tensors may still stand for

	stack []any
	marks []int
	memo  map[uint32]any
	made  int
}

// run executes the pickle up to its end and returns the value it leaves.
func (m *machine) run() (any, error) {
	m.memo = map[uint32]any{}
	if len(m.code) < 2 || m.code[0] != opProto {
		return nil, damaged("its pickle does not begin with a protocol")
	}
	for range maxSteps {
		op, err := m.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == opStop {
			return m.result()
		}
		if err := m.step(op[0]); err != nil {
			return nil, err
		}
	}
	return nil, damaged("its pickle has more than %d instructions", maxSteps)
}

func (m *machine) result() (any, error) {
	if len(m.stack) != 1 || len(m.marks) != 0 {
		return nil, damaged("its pickle ends with %d values, not one", len(m.stack))
	}
	if m.at != len(m.code) {
		return nil, damaged("%d bytes follow its pickle's end", len(m.code)-m.at)
	}
	return m.stack[0], nil
}

// step executes one instruction.
func (m *machine) step(op byte) error {
	switch op {
	case opProto:
		b, err := m.take(1)
		if err == nil && (b[0] < 2 || b[0] > 5) {
			err = unsupported("its pickle's protocol is %d; 2 to 5 are known", b[0])
		}
		return err
	case opFrame:
		b, err := m.take(8)
		if err == nil && binary.LittleEndian.Uint64(b) > uint64(len(m.code)-m.at) {
			err = damaged("its pickle ends within a frame")
		}
		return err
	case opMark:
		if len(m.marks) >= maxMade {
			return damaged("its pickle nests without end")
		}
		m.marks = append(m.marks, len(m.stack))
		return nil
	case opPop:
		if n := len(m.marks); n > 0 && m.marks[n-1] == len(m.stack) {
			m.marks = m.marks[:n-1]
			return nil
		}
		_, err := m.pop()
		return err
	case opPopMark:
		_, err := m.popMark()
		return err
	case opDup:
		v, err := m.top()
		if err != nil {
			return err
		}
		return m.push(v)
	case opBinPut, opLongBinPut, opMemoize, opBinGet, opLongBinGet:
		return m.remember(op)
	case opGlobal, opStackGlobal:
		return m.global(op)
	case opReduce:
		return m.reduce()
	case opBuild:
		return m.build()
	case opBinPersID:
		return m.persistent()
	case opEmptyDict, opEmptyList, opEmptyTuple, opTuple, opTuple1, opTuple2, opTuple3, opAppend, opAppends, opSetItem, opSetItems:
		return m.container(op)
	}
	if what, ok := refused[op]; ok {
		return hostile("", "the instruction %s", what)
	}
	return m.scalar(op)
}

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

// remember writes and reads the memo.
func (m *machine) remember(op byte) error {
	index := uint32(len(m.memo))
	if op != opMemoize {
		n := 4
		if op == opBinPut || op == opBinGet {
			n = 1
		}
		b, err := m.take(n)
		if err != nil {
			return err
		}
		index = uint32(b[0])
		if n == 4 {
			index = binary.LittleEndian.Uint32(b)
		}
	}
	if op == opBinGet || op == opLongBinGet {
		v, ok := m.memo[index]
		if !ok {
			return damaged("its pickle refers to value %d before it is there", index)
		}
		return m.push(v)
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	if err := m.spend(1); err != nil {
		return err
	}
	m.memo[index] = v
	return nil
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

func (m *machine) push(v any) error {
	if len(m.stack) >= maxStack {
		return damaged("its pickle has more than %d values at once", maxStack)
	}
	m.stack = append(m.stack, v)
	return nil
}

// make pushes a value that takes memory of its own.
func (m *machine) make(v any) error {
	if err := m.spend(1); err != nil {
		return err
	}
	return m.push(v)
}

// spend counts values made.
func (m *machine) spend(n int) error {
	if m.made += n; m.made > maxMade {
		return damaged("its pickle makes more than %d values", maxMade)
	}
	return nil
}

// floor is how far the stack may be emptied: to the last mark.
func (m *machine) floor() int {
	if n := len(m.marks); n > 0 {
		return m.marks[n-1]
	}
	return 0
}

func (m *machine) top() (any, error) {
	if len(m.stack) <= m.floor() {
		return nil, damaged("its pickle uses a value that is not there")
	}
	return m.stack[len(m.stack)-1], nil
}

func (m *machine) pop() (any, error) {
	v, err := m.top()
	if err == nil {
		m.stack = m.stack[:len(m.stack)-1]
	}
	return v, err
}

// popMark returns what lies above the last mark, and removes both.
func (m *machine) popMark() ([]any, error) {
	n := len(m.marks)
	if n == 0 {
		return nil, damaged("its pickle ends a group that has not begun")
	}
	begin := m.marks[n-1]
	items := append([]any{}, m.stack[begin:]...)
	m.marks, m.stack = m.marks[:n-1], m.stack[:begin]
	return items, nil
}
