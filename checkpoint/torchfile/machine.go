package torchfile

import "encoding/binary"

// The instructions of pickles of protocols 2 to 5 that the machine knows.
const (
	opMark            = '('
	opStop            = '.'
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

// refused are the instructions that a file of tensors does not need, with what they do.
var refused = map[byte]string{
	'i': "INST, which calls a class", 'o': "OBJ, which calls a class", 0x81: "NEWOBJ, which makes an object of a class",
	0x92: "NEWOBJ_EX, which makes an object of a class", 0x82: "EXT1, which names a registered extension",
	0x83: "EXT2, which names a registered extension", 0x84: "EXT4, which names a registered extension",
	'P': "PERSID, which names an object in text", 0x97: "NEXT_BUFFER, which takes memory from elsewhere",
	0x98: "READONLY_BUFFER, which takes memory from elsewhere",
}

// Limits of a pickle, far above what pickles of models need.
const (
	maxSteps = 1 << 23 // instructions, and with them values on the stack, containers and entries of the memo
	maxNodes = 1 << 23 // values of the result; a shared one counts each time
	maxDepth = 200     // of the result
)

// machine runs a pickle.
type machine struct {
	code    []byte
	at      int
	archive *archive
	budget  int64 // bytes that further tensors may have

	stack []any
	marks []int
	memo  map[uint32]any
	steps int // instructions, and units of 16 bytes that they have copied

	// err is the first error. After it instructions read zeros and nil, until run returns at the instruction's end.
	err error
}

// fail keeps the first error.
func (m *machine) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// run executes the pickle and returns the value that it leaves, which consists of plain values.
func (m *machine) run() (any, error) {
	m.memo = map[uint32]any{}
	if len(m.code) < 2 || m.code[0] != opProto {
		return nil, damaged("its pickle does not begin with a protocol")
	}
	for m.spend(1) {
		op := m.take(1)[0]
		if op == opStop {
			return m.result()
		}
		if m.step(op); m.err != nil {
			break
		}
	}
	return nil, m.err
}

func (m *machine) result() (any, error) {
	if len(m.stack) != 1 || len(m.marks) != 0 {
		return nil, damaged("its pickle ends with %d values, not one", len(m.stack))
	}
	if m.at != len(m.code) {
		return nil, damaged("%d bytes follow its pickle's end", len(m.code)-m.at)
	}
	if err := check(m.stack[0]); err != nil {
		return nil, err
	}
	return m.stack[0], nil
}

// step executes one instruction.
func (m *machine) step(op byte) {
	switch op {
	case opProto:
		if version := m.take(1)[0]; version < 2 || version > 5 {
			m.fail(unsupported("its pickle's protocol is %d; 2 to 5 are known", version))
		}
	case opFrame:
		if binary.LittleEndian.Uint64(m.take(8)) > uint64(len(m.code)-m.at) {
			m.fail(damaged("its pickle ends within a frame"))
		}
	case opMark:
		m.marks = append(m.marks, len(m.stack))
	case opBinPut, opLongBinPut, opMemoize, opBinGet, opLongBinGet:
		m.remember(op)
	case opGlobal, opStackGlobal:
		m.global(op)
	case opReduce:
		m.reduce()
	case opBuild:
		m.build()
	case opBinPersID:
		m.persistent()
	case opEmptyDict:
		m.push(&Dict{})
	case opEmptyList:
		m.push(&List{})
	case opEmptyTuple:
		m.push(Tuple{})
	case opTuple:
		m.push(Tuple(m.popMark()))
	case opTuple1, opTuple2, opTuple3:
		m.push(Tuple(m.popLast(int(op-opTuple1) + 1)))
	case opAppend:
		m.append(m.popLast(1))
	case opAppends:
		m.append(m.popMark())
	case opSetItem:
		m.setItems(m.popLast(2))
	case opSetItems:
		m.setItems(m.popMark())
	default:
		if what, ok := refused[op]; ok {
			m.fail(hostile("", "the instruction %s", what))
			return
		}
		m.scalar(op)
	}
}

// remember executes the instructions that write and read the memo.
func (m *machine) remember(op byte) {
	index := uint32(len(m.memo))
	switch op {
	case opBinPut, opBinGet:
		index = uint32(m.take(1)[0])
	case opLongBinPut, opLongBinGet:
		index = binary.LittleEndian.Uint32(m.take(4))
	}
	if op == opBinGet || op == opLongBinGet {
		v, ok := m.memo[index]
		if !ok {
			m.fail(damaged("its pickle refers to value %d before it exists", index))
		}
		m.push(v)
		return
	}
	m.memo[index] = m.top()
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

// spend counts instructions, and reports whether their number is allowed.
func (m *machine) spend(n int) bool {
	if m.steps += n; m.steps > maxSteps {
		m.fail(damaged("its pickle has more than %d instructions", maxSteps))
	}
	return m.err == nil
}

// floor returns the size to which the stack may shrink: the last mark.
func (m *machine) floor() int {
	if n := len(m.marks); n > 0 {
		return m.marks[n-1]
	}
	return 0
}

// top returns the value on top of the stack. It is nil, and an error, if there is none above the last mark.
func (m *machine) top() any {
	if len(m.stack) <= m.floor() {
		m.fail(damaged("its pickle uses a value that is not there"))
		return nil
	}
	return m.stack[len(m.stack)-1]
}

// popLast removes and returns the last n values, the topmost one last. They are nil, and an error, if there are fewer.
func (m *machine) popLast(n int) []any {
	items := make([]any, n)
	if len(m.stack)-m.floor() < n {
		m.fail(damaged("its pickle uses a value that is not there"))
		return items
	}
	copy(items, m.stack[len(m.stack)-n:])
	m.stack = m.stack[:len(m.stack)-n]
	return items
}

// popMark removes the last mark and the values above it, and returns the values.
func (m *machine) popMark() []any {
	n := len(m.marks)
	if n == 0 {
		m.fail(damaged("its pickle ends a group that has not begun"))
		return nil
	}
	begin := m.marks[n-1]
	items := append([]any{}, m.stack[begin:]...)
	m.marks, m.stack = m.marks[:n-1], m.stack[:begin]
	return items
}
