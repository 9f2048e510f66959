package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/internal/ticks"
)

// logSpan is the ratio of greatest to least value from which an axis is logarithmic.
const logSpan = 5

// law says how values are laid out on an axis.
type law int

const (
	linear     law = iota
	decades        // by their logarithm
	complement     // by the logarithm of one minus the value, as discount factors need
)

// axis maps values to 0..1.
type axis struct {
	law    law
	lo, hi float64 // in the law's own measure
	beyond int     // values that the axis leaves out, so that the others can be told apart
}

func (l law) measure(v float64) float64 {
	switch l {
	case decades:
		return math.Log10(v)
	case complement:
		return -math.Log10(1 - v)
	}
	return v
}

func (l law) value(x float64) float64 {
	switch l {
	case decades:
		return math.Pow(10, x)
	case complement:
		return 1 - math.Pow(10, -x)
	}
	return x
}

// place is where a value lies; ok is false for one that the axis does not show.
func (a axis) place(v float64) (float64, bool) {
	x := a.law.measure(v)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, false
	}
	f := (x - a.lo) / (a.hi - a.lo)
	return f, f >= -1e-9 && f <= 1+1e-9
}

// drawable values are finite with differences that are.
func drawable(v float64) bool { return math.Abs(v) < 1e150 }

// axisFor holds values that are drawable, others are not looked at. Few values that lie very far from all the
// others are left out.
func axisFor(values []float64, lawful bool) axis {
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !drawable(v) })
	if len(values) == 0 {
		return axis{lo: 0, hi: 1}
	}
	slices.Sort(values)
	var a axis
	least, greatest := values[0], values[len(values)-1]
	switch {
	case !lawful:
	case least > 0.5 && greatest < 1 && (1-least) >= logSpan*(1-greatest):
		a.law = complement
	case least > 1e-150 && greatest >= logSpan*least:
		a.law = decades
	}
	lo, hi := a.law.measure(least), a.law.measure(greatest)
	if n := len(values); a.law == linear && n >= 20 {
		low, high := values[n/20], values[n-1-n/20]
		if room := 10 * (high - low); room > 0 {
			for _, v := range values {
				if v < low-room || v > high+room {
					a.beyond++
				}
			}
			if a.beyond > 0 {
				lo, hi = max(lo, low-room/10), min(hi, high+room/10)
				a.beyond = 0
				for _, v := range values {
					if v < lo || v > hi {
						a.beyond++
					}
				}
			}
		}
	}
	switch d := hi - lo; {
	case d > 1e-9*max(math.Abs(lo), math.Abs(hi)):
		a.lo, a.hi = lo-0.06*d, hi+0.06*d
	case a.law != linear:
		a.lo, a.hi = lo-0.2, hi+0.2
	case lo == 0:
		a.lo, a.hi = -1, 1
	default:
		a.lo, a.hi = lo-0.1*math.Abs(lo), hi+0.1*math.Abs(hi)
	}
	return a
}

type tick struct {
	at    float64 // 0..1
	label string
}

// ticks are about want of them, at round values.
func (a axis) ticks(want int) []tick {
	var values []float64
	switch a.law {
	case decades, complement:
		values = a.logTicks()
	default:
		values = ticks.Round(a.lo, a.hi, want)
	}
	var labels []string
	if a.law == linear {
		labels = ticks.Labels(values)
	} else {
		for _, v := range values {
			labels = append(labels, short(v))
		}
	}
	var list []tick
	for i, v := range values {
		if at, ok := a.place(v); ok {
			list = append(list, tick{at, labels[i]})
		}
	}
	return list
}

// logTicks are powers of ten, or, where there are few, numbers between them; of one minus the value for a complement.
func (a axis) logTicks() []float64 {
	first, last := int(math.Floor(a.lo))-1, int(math.Ceil(a.hi))+1
	within := func(every int, mantissas ...float64) (values []float64) {
		for e := first; e <= last; e++ {
			for _, m := range mantissas {
				v := m * math.Pow(10, float64(e))
				if a.law == complement {
					v = 1 - m*math.Pow(10, -float64(e))
				}
				if _, ok := a.place(v); ok && e%every == 0 {
					values = append(values, v)
				}
			}
		}
		return values
	}
	for _, mantissas := range [][]float64{{1}, {1, 3}, {1, 2, 5}} {
		if values := within(max(1, (last-first)/6), mantissas...); len(values) >= 3 {
			return values
		}
	}
	return ticks.Round(a.law.value(a.lo), a.law.value(a.hi), 4)
}

// short is a number in few characters: at most five digits, and 1e-5 rather than 1e-05.
func short(v float64) string {
	if a := math.Abs(v); a >= 1e-3 && a < 1e6 || v == 0 {
		digits := 5
		if a < 1 && 1-a < 0.01 { // a discount factor's digits count from one downwards
			digits = 7
		}
		s := strconv.FormatFloat(v, 'g', digits, 64)
		if !strings.Contains(s, "e") {
			return s
		}
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return ticks.ShortExponent(strconv.FormatFloat(v, 'e', 4, 64)) // of NaN and the infinities, these
}
