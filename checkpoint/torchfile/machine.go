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

	// err is the first error. After it, instructions read zeros and nil and have no more effect that counts: run ends
	// with the instruction.
	err error
}

// fail keeps the first error.
func (m *machine) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// run executes the pickle up to its end and returns the value it leaves.
func (m *machine) run() (any, error) {
	m.memo = map[uint32]any{}
	if len(m.code) < 2 || m.code[0] != opProto {
		return nil, damaged("its pickle does not begin with a protocol")
	}
	for range maxSteps {
		op := m.take(1)[0]
		if op == opStop {
			return m.result()
		}
		if m.step(op); m.err != nil {
			return nil, m.err
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
		if len(m.marks) >= maxMade {
			m.fail(damaged("its pickle nests without end"))
		}
		m.marks = append(m.marks, len(m.stack))
	case opPop:
		if n := len(m.marks); n > 0 && m.marks[n-1] == len(m.stack) {
			m.marks = m.marks[:n-1]
			return
		}
		m.pop()
	case opPopMark:
		m.popMark()
	case opDup:
		m.push(m.top())
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
	case opEmptyDict, opEmptyList, opEmptyTuple, opTuple, opTuple1, opTuple2, opTuple3, opAppend, opAppends, opSetItem, opSetItems:
		m.container(op)
	default:
		if what, ok := refused[op]; ok {
			m.fail(hostile("", "the instruction %s", what))
			return
		}
		m.scalar(op)
	}
}
