package gymnasium

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// output keeps the last of what a child prints, for errors. The goroutine of watch writes it, and the one that makes
// an error reads it.
type output struct {
	mu sync.Mutex
	// last is at most maxOutput bytes.
	last []byte
	// forward also receives everything, unless it is nil.
	forward io.Writer
}

const (
	// maxOutput is how many bytes are kept, maxLines how many lines of them an error shows.
	maxOutput = 8 << 10
	maxLines  = 20
	// maxShown is how many bytes of a child's text an error shows.
	maxShown = 8 << 10
)

// readable prepares a child's text for an error. It leaves out the middle of a long text, and writes control
// characters, such as a terminal's escape codes, as Go's escape sequences.
func readable(text string) string {
	if n := len(text) - maxShown; n > 0 { // the last lines of a traceback say most
		head, tail := strings.ToValidUTF8(text[:maxShown/4], ""), strings.ToValidUTF8(text[maxShown/4+n:], "")
		text = fmt.Sprintf("%s\n[%d bytes left out]\n%s", head, n, tail)
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// Write keeps the end of b and passes it on. It never fails, so that a child is not held up.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = append(o.last, b[max(0, len(b)-maxOutput):]...)
	if n := len(o.last); n > maxOutput {
		o.last = append(o.last[:0], o.last[n-maxOutput:]...)
	}
	if o.forward != nil {
		_, _ = o.forward.Write(b)
	}
	return len(b), nil
}

// lines returns the last lines, made readable, at most maxLines; nil if nothing was printed.
func (o *output) lines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := strings.TrimSpace(string(o.last))
	if text == "" {
		return nil
	}
	lines := strings.Split(readable(text), "\n")
	return lines[max(0, len(lines)-maxLines):]
}

// shared lets several children print to one writer, Options.Stderr, which need not be safe for several goroutines.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

// Write writes all of b before anything else.
func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(b)
}
