package launch

// This file shows a running population to people: a terminal gets one table that is redrawn in place (screen), a file
// or pipe gets a table now and then (pages). WriteTable in status.go lays the rows out.

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

// newDisplay returns the display for w: one table redrawn in place on a terminal; otherwise one table below the
// other, at most one per time every, so that a log file is not flooded.
func newDisplay(w io.Writer, every time.Duration) display {
	if w == nil {
		w = io.Discard
	}
	if every <= 0 {
		every = 30 * time.Second
	}
	if file, ok := w.(*os.File); ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd())) {
		return &screen{w: w, size: func() (int, int, error) { return term.GetSize(int(file.Fd())) }}
	}
	return &pages{w: w, every: every, now: time.Now}
}

// pages writes events as they come, and the table after every so much time where it has changed.
type pages struct {
	w     io.Writer
	every time.Duration
	now   func() time.Time
	next  time.Time // before which no table is written
	last  string    // the last table, which is not repeated
}

// show writes the table when its time has come, unless the last one written was the same. The first one waits for a
// full period, as the events of the start say the same.
func (p *pages) show(rows []Row) {
	now := p.now()
	if p.next.IsZero() {
		p.next = now.Add(p.every)
	}
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(p.every)
	if text := table(rows); text != p.last {
		p.last = text
		fmt.Fprintf(p.w, "\n%s\n", text)
	}
}

func (p *pages) event(line string) { fmt.Fprintln(p.w, p.now().Format(time.TimeOnly), line) }

// end writes the table even if it has not changed, so that the output ends with it.
func (p *pages) end(rows []Row) { fmt.Fprintf(p.w, "\n%s\n", table(rows)) }

// screen redraws the table in place, events above it.
type screen struct {
	w     io.Writer
	size  func() (width, height int, err error)
	drawn int // lines of the table on the screen
	rows  []Row
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

// draw replaces the table by text that stays and the table again, in one write so that nothing flickers. Lines are
// cut to the terminal's width and the table to its height: a wrapped line or one that scrolled away would make the
// next redraw begin at the wrong line. With whole set nothing is cut, as no redraw follows.
func (s *screen) draw(text string, whole bool) {
	lines := strings.Split(strings.TrimSuffix(table(s.rows), "\n"), "\n")
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
	// Go up to the first line of the old table, and clear from there to the end of the screen.
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
func table(rows []Row) string {
	var b strings.Builder
	if err := WriteTable(&b, rows, true); err != nil {
		return err.Error() + "\n"
	}
	return b.String()
}
