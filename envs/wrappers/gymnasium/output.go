package gymnasium

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// maxShown is how many bytes of a child's text an error shows.
const maxShown = 8 << 10

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

// shared lets several children print to one writer, Options.Stderr, which need not be safe for several goroutines.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

// Write writes all of b before anything else. It never fails, so that a child is not held up.
func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.to.Write(b)
	return len(b), nil
}
