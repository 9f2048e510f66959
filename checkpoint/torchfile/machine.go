package torchfile

import (
	"encoding/binary"
)

// Limits on the pickle, far above what pickles of models need.
const (
	maxSteps = 1 << 24 // instructions
	maxStack = 1 << 22 // values on the stack
	maxMade  = 1 << 22 // containers, strings and entries of the memo
	maxNodes = 1 << 23 // values of the result, those that are there twice counted twice
	maxDepth = 200     // of the result
)

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
