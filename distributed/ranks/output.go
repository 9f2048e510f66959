package ranks

import (
	"bytes"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// shared is a writer for several ranks, who write whole lines to it.
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
	mu     sync.Mutex // a process that closed its output late writes while end is called
	unread []byte
}

// longestLine is the length from which a line is written although it has not ended.
const longestLine = 1 << 16

// Write always reports success: the copying from the process' pipe would end with an error, and the process would hang
// as soon as the pipe is full.
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

// end writes the last line, where it has not ended.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unread) > 0 {
		l.write(l.unread)
		l.unread = nil
	}
}

// isFile is w as a file; nil where it is none.
func isFile(w io.Writer) *os.File {
	f, _ := w.(*os.File)
	return f
}

// isTerminal reports whether w is a terminal, which shows a progress bar.
func isTerminal(w io.Writer) bool {
	f := isFile(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}
