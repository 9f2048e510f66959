// Package progress shows the progress of learners: as bars on a terminal (bars.go), and as plain lines elsewhere
// (lines.go). It is separate from tracking so that programs without bars do not link them.
package progress

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/gorl-dev/gorl/tracking"
)

// Options configure [New].
type Options struct {
	// Silent turns the display off.
	Silent bool
	// Unit is the unit of the speed. Terminals of fewer than 100 columns do not show it. Default "environment steps".
	Unit string
	// LineEvery is the part of a bar's total between two lines, if there is no terminal. Larger values give shorter
	// logs, for example 0.25 for the many bars of a population. Default 0.05.
	LineEvery float64
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// New returns a progress that draws bars if w is a terminal, and otherwise writes lines at intervals.
func New(w io.Writer, opt Options) tracking.Progress {
	opt.Unit = cmp.Or(opt.Unit, "environment steps")
	if !(opt.LineEvery > 0) {
		opt.LineEvery = 0.05
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Silent || w == nil {
		w = io.Discard
	}
	if width := terminalWidth(w); width > 0 {
		return newBars(w, width, opt)
	}
	return newLines(w, opt)
}

// terminalWidth returns the number of columns of a terminal with cursor movements, or 0 for other outputs.
func terminalWidth(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	width, _, _ := term.GetSize(int(file.Fd())) // 0 after an error
	return width
}

// meter measures the speed of a bar. It is an exponential moving average over about meterWindow seconds, so that the
// remaining time does not jump with every update of an agent.
type meter struct {
	total, done int64
	rate        float64 // units a second, 0 while unknown
	begun       time.Time
	last        time.Time // of the last measurement
	lastDone    int64
}

const (
	meterWindow = 15.0
	meterPeriod = 0.2 // seconds between measurements
)

// set sets the number of units that are done. The first call is where a run begins or continues: it gives no speed.
func (m *meter) set(now time.Time, done int64) {
	m.done = done
	if m.begun.IsZero() {
		m.begun, m.last, m.lastDone = now, now, done
		return
	}
	if done < m.lastDone { // went back to a checkpoint
		m.last, m.lastDone = now, done
		return
	}
	dt := now.Sub(m.last).Seconds()
	if dt < meterPeriod {
		return
	}
	rate := float64(done-m.lastDone) / dt
	if m.rate > 0 {
		rate = m.rate + (1-math.Exp(-dt/meterWindow))*(rate-m.rate)
	}
	m.rate, m.last, m.lastDone = rate, now, done
}

// percent, speed, left and spent return the texts of a bar. Unknown values are "".
func (m *meter) percent() string {
	return fmt.Sprintf("%3d %%", int(100*float64(min(max(m.done, 0), m.total))/float64(m.total)))
}

func (m *meter) speed(unit string) string {
	if m.rate == 0 {
		return ""
	}
	return strings.TrimSpace(siNumber(m.rate)+" "+unit) + "/s"
}

func (m *meter) left() string {
	if m.rate == 0 || m.done >= m.total {
		return ""
	}
	return "ETA " + duration(float64(m.total-m.done)/m.rate)
}

func (m *meter) spent(now time.Time) string {
	if m.begun.IsZero() {
		return ""
	}
	return "in " + duration(now.Sub(m.begun).Seconds())
}

// siNumber formats a number with three significant digits and a suffix for thousands, millions and so on.
func siNumber(v float64) string {
	suffixes := []string{"", "k", "M", "G", "T"}
	i := 0
	for math.Abs(v) >= 999.5 && i < len(suffixes)-1 {
		v /= 1000
		i++
	}
	decimals := 0
	switch a := math.Abs(v); {
	case a < 9.995:
		decimals = 2
	case a < 99.95:
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64) + suffixes[i]
}

// duration formats a time in its two largest units: 12s, 3m05s, 2h14m, 2d02h.
func duration(seconds float64) string {
	if !(seconds < 1000*24*3600) {
		return "∞"
	}
	s := int64(math.Round(seconds))
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 48*3600:
		return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s%86400/3600)
}
