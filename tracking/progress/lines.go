package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/internal/column"
)

// lines is the progress for files and pipes. It writes a line for a bar after each part LineEvery of its total.
type lines struct {
	opt Options

	mu    sync.Mutex // of everything, the bars included
	w     io.Writer
	width int // of the longest name
	ended bool
}

func newLines(w io.Writer, opt Options) *lines { return &lines{w: w, opt: opt} }

func (p *lines) Bar(name string, total int64) tracking.Bar {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.width = max(p.width, column.Width(name))
	return &lineBar{p: p, name: name, meter: meter{total: max(total, 1)}, shown: -1}
}

func (p *lines) Printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(p.w, wholeLines(format, args...))
}

func (p *lines) Wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
}

// wholeLines formats a text and ends it with a line break.
func wholeLines(format string, args ...any) string {
	s := fmt.Sprintf(format, args...)
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s
}

// lineBar is one learner of lines.
type lineBar struct {
	p        *lines
	name     string
	meter    meter
	shown    int64   // the multiple of LineEvery that was written last
	last     *string // the text at 100 %
	finished bool
}

func (b *lineBar) Set(done int64, text string) {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	if b.finished || b.p.ended {
		return
	}
	b.meter.set(b.p.opt.Now(), done)
	// The addition corrects rounding: 3 × 0.05 must not count as less than 0.15.
	reached := int64(float64(done)/float64(b.meter.total)/b.p.opt.LineEvery + 1e-9)
	if reached > b.shown {
		b.shown = reached
		when := b.meter.left()
		if b.meter.done >= b.meter.total {
			when, b.last = b.meter.spent(b.p.opt.Now()), &text
		}
		b.write(when, text)
	}
}

func (b *lineBar) Finish(text string) {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	if b.finished || b.p.ended {
		return
	}
	b.finished = true
	if b.last == nil || *b.last != text { // otherwise the line is there
		b.write(b.meter.spent(b.p.opt.Now()), text)
	}
}

// write writes a line: name, per cent, steps, total, and the known ones of speed, time and text.
func (b *lineBar) write(when, text string) {
	m := &b.meter
	parts := []string{b.name + strings.Repeat(" ", b.p.width-column.Width(b.name)), m.percent(),
		fmt.Sprintf("%d/%d", m.done, m.total), m.speed(b.p.opt.Unit), when, column.OneLine(text)}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	fmt.Fprintln(b.p.w, strings.Join(parts, "  "))
}
