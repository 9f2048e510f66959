package torchfile

import (
	"encoding/binary"
)

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
