package launch

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// display shows a run to people. Failures to write are ignored: showing a run never stops it.
type display interface {
	// show brings the table up to date.
	show(rows []Row)
	// event writes a line that stays.
	event(line string)
	// end writes the last table.
	end(rows []Row)
}

// newDisplay shows tables on w: redrawn in place on a terminal, else one below the other, at most one every so often, as a
// log file would be flooded. Without launched they are those of a status.
func newDisplay(w io.Writer, every time.Duration, launched bool) display {
	if w == nil {
		return hidden{}
	}
	if every <= 0 {
		every = 30 * time.Second
	}
	if file, ok := w.(*os.File); ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd())) {
		return &screen{w: w, launched: launched, size: func() (int, int, error) { return term.GetSize(int(file.Fd())) }}
	}
	return &pages{w: w, launched: launched, every: every, now: time.Now}
}

// hidden shows nothing.
type hidden struct{}

func (hidden) show([]Row)   {}
func (hidden) event(string) {}
func (hidden) end([]Row)    {}

// pages writes events as they come, and the table after every so much time where it has changed.
type pages struct {
	w        io.Writer
	launched bool
	every    time.Duration
	now      func() time.Time
	next     time.Time
	last     string
}

func (p *pages) show(rows []Row) {
	now := p.now()
	if p.next.IsZero() && p.launched { // events tell how it begins
		p.next = now.Add(p.every)
	}
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(p.every)
	p.table(rows)
}

// table writes the table unless the last one written was the same.
func (p *pages) table(rows []Row) {
	if text := table(rows, p.launched); text != p.last {
		p.last = text
		fmt.Fprintf(p.w, "\n%s\n", text)
	}
}

func (p *pages) event(line string) { fmt.Fprintln(p.w, p.now().Format(time.TimeOnly), line) }

func (p *pages) end(rows []Row) {
	if p.launched { // the last thing to be seen
		p.last = ""
	}
	p.table(rows)
}

// screen redraws the table in place, events above it.
type screen struct {
	w        io.Writer
	launched bool
	size     func() (width, height int, err error)
	drawn    int // lines of the table on the screen
	rows     []Row
}

func (s *screen) show(rows []Row) {
	s.rows = rows
	s.draw("", false)
}

func (s *screen) event(line string) { s.draw(time.Now().Format(time.TimeOnly)+" "+line+"\n", false) }

func (s *screen) end(rows []Row) {
	s.rows = rows
	s.draw("", true)
}

// draw replaces the table by text that stays and the table again, in one write so that nothing flickers. Lines are cut
// to the terminal's width and the table to its height, or the cursor could not find back; the last one is whole.
func (s *screen) draw(text string, whole bool) {
	lines := strings.Split(strings.TrimSuffix(table(s.rows, s.launched), "\n"), "\n")
	if width, height, err := s.size(); err == nil && width > 0 && height > 0 && !whole {
		if room := max(height-1, 3); len(lines) > room {
			left := len(lines) - room + 1
			lines = append(lines[:room-1:room-1], fmt.Sprintf("… and %d more", left))
		}
		for i, line := range lines {
			lines[i] = runewidth.Truncate(line, max(width-1, 10), "…")
		}
	}
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", s.drawn)
	}
	b.WriteString("\x1b[J" + text)
	if len(s.rows) > 0 {
		b.WriteString(strings.Join(lines, "\n") + "\n")
		s.drawn = len(lines)
	}
	fmt.Fprint(s.w, b.String())
}

// table is the table as text, or what went wrong with it.
func table(rows []Row, launched bool) string {
	var b strings.Builder
	if err := WriteTable(&b, rows, launched); err != nil {
		return err.Error() + "\n"
	}
	return b.String()
}
