package process

import (
	"bytes"
	"sync"
)

// TailLines is the number of lines that a [Tail] keeps.
const TailLines = 12

// Tail is a writer that remembers the last lines of what a process wrote, which an error about it quotes. It may be
// used by several goroutines.
type Tail struct {
	// Each is called with every line that ends, if it is not nil. It must not use the Tail.
	Each func(line string)

	mu     sync.Mutex
	lines  [][]byte
	unread []byte // of a line that has not ended
}

// Write never fails.
func (t *Tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(data)
	for {
		line, rest, ended := bytes.Cut(data, []byte{'\n'})
		t.unread = append(t.unread, line...)
		if ended && t.Each != nil {
			t.Each(string(t.unread))
		}
		if len(t.unread) > 1000 { // a progress bar that never breaks its line
			t.unread = append(t.unread[:0], t.unread[len(t.unread)-500:]...)
		}
		if !ended {
			return n, nil
		}
		t.lines = append(t.lines, bytes.Clone(t.unread))
		if len(t.lines) > TailLines {
			t.lines = t.lines[1:]
		}
		t.unread, data = t.unread[:0], rest
	}
}

// Lines returns the last lines written, at most TailLines of them. A line that has not ended yet is included: a crash
// often cuts off the one that tells the cause.
func (t *Tail) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for _, line := range t.lines {
		lines = append(lines, string(line))
	}
	if len(t.unread) > 0 {
		lines = append(lines, string(t.unread))
	}
	return lines[max(0, len(lines)-TailLines):]
}
