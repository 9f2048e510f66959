package torchfile

import "encoding/binary"

// remember writes and reads the memo.
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
			m.fail(damaged("its pickle refers to value %d before it is there", index))
		}
		m.push(v)
		return
	}
	v := m.top()
	m.spend(1)
	m.memo[index] = v
}

func (m *machine) push(v any) {
	if len(m.stack) >= maxStack {
		m.fail(damaged("its pickle has more than %d values at once", maxStack))
		return
	}
	m.stack = append(m.stack, v)
}

// make pushes a value that takes memory of its own.
func (m *machine) make(v any) {
	m.spend(1)
	m.push(v)
}

// spend counts values made, and reports whether there may be so many.
func (m *machine) spend(n int) bool {
	if m.made += n; m.made > maxMade {
		m.fail(damaged("its pickle makes more than %d values", maxMade))
		return false
	}
	return true
}

// floor is how far the stack may be emptied: to the last mark.
func (m *machine) floor() int {
	if n := len(m.marks); n > 0 {
		return m.marks[n-1]
	}
	return 0
}

// top returns the value on top of the stack, nil where the stack is empty down to the last mark.
func (m *machine) top() any {
	if len(m.stack) <= m.floor() {
		m.fail(damaged("its pickle uses a value that is not there"))
		return nil
	}
	return m.stack[len(m.stack)-1]
}

func (m *machine) pop() any { return m.popLast(1)[0] }

// popLast removes and returns the last n values, the topmost one last; nils where there are fewer.
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

// popMark returns what lies above the last mark, and removes both.
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
