package launch

import (
	"bytes"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// shared is a writer for several ranks. Each call of Write gets a whole line.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(line)
}

// prefixed is a writer that puts a prefix before every line.
func (s *shared) prefixed(prefix string) *lines { return &lines{to: s, prefix: prefix} }

// lines gathers what a process writes into lines.
type lines struct {
	to     *shared
	prefix string
	mu     sync.Mutex // a process may still write while end is called
	unread []byte
}

// longestLine is the length at which an incomplete line is written.
const longestLine = 1 << 16

// Write always reports success. After an error the copying from the process' pipe would end, and the process would hang
// when the pipe is full.
func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unread = append(l.unread, data...)
	for {
		line, rest, ended := bytes.Cut(l.unread, []byte{'\n'})
		if !ended && len(line) < longestLine {
			return len(data), nil
		}
		l.write(line)
		l.unread = append(l.unread[:0], rest...)
	}
}

func (l *lines) write(line []byte) {
	_, _ = l.to.Write(append(append([]byte(l.prefix), line...), '\n'))
}

// end writes an incomplete last line.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unread) > 0 {
		l.write(l.unread)
		l.unread = nil
	}
}

// isFile returns w as a file, or nil.
func isFile(w io.Writer) *os.File {
	f, _ := w.(*os.File)
	return f
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f := isFile(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}
