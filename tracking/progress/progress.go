// Package progress shows how far learners are: bars on a terminal, plain lines elsewhere. It is a package of its own so
// that programs which show no bars do not link them.
package progress

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"

	"github.com/gorl-dev/gorl/tracking"
)

// Options change what [New] shows.
type Options struct {
	// Silent shows nothing, also on a terminal.
	Silent bool
	// Unit is what is counted, for the speed; bars on terminals of fewer than 100 columns leave it out. Default:
	// "environment steps".
	Unit string
	// LineEvery is the part of a bar's total after which a line is written where there is no terminal. Larger values
	// give shorter logs, e.g. 0.25 for the many bars of a population; smaller ones more lines. Default: 0.05.
	LineEvery float64
	// Now is the clock, which tests set. Default: time.Now.
	Now func() time.Time
}

// New draws bars on w where it is a terminal, and otherwise writes a plain line for each bar now and then.
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

// terminalWidth is the number of columns where w is a terminal that understands cursor movements, else 0.
func terminalWidth(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// meter measures how fast a bar goes: an exponential moving average of the speed over about meterWindow seconds, so
// that the time left does not jump with every update of an agent.
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

// set tells the meter how many units are done. The first call says where a run begins or continues, which is no speed.
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

// percent, speed, left and spent write what a bar shows; what is not known yet is "".
func (m *meter) percent() string {
	return fmt.Sprintf("%3d %%", int(100*float64(min(max(m.done, 0), m.total))/float64(m.total)))
}

func (m *meter) speed(unit string) string {
	if m.rate == 0 {
		return ""
	}
	if unit != "" {
		unit = " " + unit
	}
	return siNumber(m.rate) + unit + "/s"
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

// siNumber has three significant digits and a suffix for thousands, millions, ...
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

// duration writes a time in its two greatest units: 12s, 3m05s, 2h14m, 2d02h.
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
