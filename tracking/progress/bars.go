package progress

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/internal/column"
)

// bars is the progress for terminals. Goroutines of mpb draw the bars several times per second.
type bars struct {
	opt       Options
	w         io.Writer
	container *mpb.Progress
	barWidth  int

	mu    sync.Mutex
	all   []*terminalBar
	ended bool
}

func newBars(w io.Writer, width int, opt Options, more ...mpb.ContainerOption) *bars {
	container := mpb.New(append([]mpb.ContainerOption{mpb.WithOutput(w), mpb.WithWidth(width)}, more...)...)
	// Name, per cent, time and speed take about 50 columns and the unit. The text has priority over a long bar and, on
	// a narrow terminal, over the unit.
	if width < 100 {
		opt.Unit = ""
	}
	return &bars{opt: opt, w: w, container: container, barWidth: min(max(width-78, 10), 30)}
}

func (p *bars) Bar(name string, total int64) tracking.Bar {
	p.mu.Lock()
	defer p.mu.Unlock()
	silent := newLines(io.Discard, p.opt).Bar(name, total)
	if p.ended {
		return silent
	}
	b := &terminalBar{opt: p.opt, meter: meter{total: max(total, 1)}}
	aligned := func(text func(*terminalBar) string) decor.Decorator {
		return decor.Any(func(decor.Statistics) string { return b.read(text) },
			decor.WC{C: decor.DindentRight | decor.DSyncWidth})
	}
	spaced := func(text func(*terminalBar) string) decor.Decorator {
		return aligned(func(b *terminalBar) string {
			if s := text(b); s != "" {
				return " " + s + " "
			}
			return ""
		})
	}
	name = column.OneLine(name)
	// The total is set later: a bar that is created with a total completes before Finish has set its text.
	bar, err := p.container.Add(0, barStyle().Build(), mpb.BarWidth(p.barWidth),
		mpb.PrependDecorators(aligned(func(*terminalBar) string { return name })),
		mpb.AppendDecorators(
			aligned(func(b *terminalBar) string { return b.meter.percent() + " " }),
			spaced(func(b *terminalBar) string { return cmp.Or(b.when, b.meter.left()) }),
			spaced(func(b *terminalBar) string { return b.meter.speed(b.opt.Unit) }),
			spaced(func(b *terminalBar) string { return b.text }),
		))
	if err != nil { // the output has failed
		return silent
	}
	bar.SetTotal(b.meter.total, false)
	b.bar = bar
	p.all = append(p.all, b)
	return b
}

// barStyle uses block characters if the locale is UTF-8.
func barStyle() mpb.BarStyleComposer {
	locale := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	if strings.Contains(strings.ReplaceAll(locale, "-", ""), "utf8") {
		return mpb.BarStyle().Lbound("▕").Filler("█").Tip("").Padding("░").Rbound("▏")
	}
	return mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]")
}

func (p *bars) Printf(format string, args ...any) {
	s := wholeLines(format, args...)
	if _, err := p.container.Write([]byte(s)); err != nil { // ended
		fmt.Fprint(p.w, s)
	}
}

func (p *bars) Wait() {
	p.mu.Lock()
	all := p.all
	p.all, p.ended = nil, true
	p.mu.Unlock()
	for _, b := range all {
		b.bar.Abort(false)
	}
	p.container.Wait()
}

// terminalBar is one learner of bars.
type terminalBar struct {
	opt Options
	bar *mpb.Bar

	mu       sync.Mutex // never held while calling bar, whose drawing takes it
	meter    meter
	text     string
	when     string // the duration, once finished
	finished bool
}

// read calls text while the bar is locked.
func (b *terminalBar) read(text func(*terminalBar) string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return text(b)
}

func (b *terminalBar) Set(done int64, text string) {
	b.mu.Lock()
	if b.finished {
		b.mu.Unlock()
		return
	}
	b.meter.set(b.opt.Now(), done)
	b.text = column.OneLine(text)
	current := min(max(done, 0), b.meter.total)
	b.mu.Unlock()
	b.bar.SetCurrent(current)
}

func (b *terminalBar) Finish(text string) {
	b.mu.Lock()
	if b.finished {
		b.mu.Unlock()
		return
	}
	b.finished = true
	b.text, b.when = column.OneLine(text), b.meter.spent(b.opt.Now())
	complete, total := b.meter.done >= b.meter.total, b.meter.total
	b.mu.Unlock()
	if complete {
		b.bar.SetTotal(total, true)
	} else { // the bar stays as long as it was
		b.bar.Abort(false)
	}
}
