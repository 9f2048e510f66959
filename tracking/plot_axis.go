package tracking

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"

	"github.com/gorl-dev/gorl/internal/ticks"
)

// widen adds a margin to a range of data, and gives a single value some room.
func widen(r [2]float64, margin float64, log bool) (lo, hi float64) {
	lo, hi = r[0], r[1]
	if log {
		lo, hi = math.Log10(lo), math.Log10(hi)
	}
	switch d := hi - lo; {
	case d > 1e-9*math.Max(math.Abs(lo), math.Abs(hi)):
		lo, hi = lo-margin*d, hi+margin*d
	case log:
		lo, hi = lo-0.2, hi+0.2
	case lo == 0 && hi == 0:
		lo, hi = -1, 1
	default:
		d = 0.1 * math.Max(math.Abs(lo), math.Abs(hi))
		lo, hi = lo-d, hi+d
	}
	if log {
		lo, hi = math.Pow(10, lo), math.Pow(10, hi)
	}
	return lo, hi
}

// linearTicks places about want ticks at round numbers.
type linearTicks struct{ want int }

// Ticks implements plot.Ticker.
func (t linearTicks) Ticks(lo, hi float64) []plot.Tick {
	values := ticks.Round(lo, hi, t.want)
	list := make([]plot.Tick, len(values))
	for i, label := range ticks.Labels(values) {
		list[i] = plot.Tick{Value: values[i], Label: label}
	}
	return list
}

// logTicks labels powers of ten, or round numbers between them where there are few.
type logTicks struct{}

// Ticks implements plot.Ticker.
func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	every := max(1, (last-first+7)/8)
	mantissas := func(set ...float64) (n int) {
		for e := first; e <= last; e++ {
			for _, m := range set {
				if v := m * math.Pow(10, float64(e)); v >= lo && v <= hi {
					n++
				}
			}
		}
		return n
	}
	labelled := []float64{1}
	switch {
	case mantissas(1) >= 3:
	case mantissas(1, 2, 5) >= 3:
		labelled, every = []float64{1, 2, 5}, 1
	default: // less than a decade: the axis is nearly linear
		values := ticks.Round(lo, hi, 4)
		list := make([]plot.Tick, len(values))
		for i, v := range values {
			list[i] = plot.Tick{Value: v, Label: logLabel(v)}
		}
		return list
	}
	var list []plot.Tick
	for e := first; e <= last; e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, float64(e))
			if v < lo || v > hi {
				continue
			}
			tick := plot.Tick{Value: v}
			for _, l := range labelled {
				if l == m && e%every == 0 {
					tick.Label = logLabel(v)
				}
			}
			if tick.Label != "" || every == 1 {
				list = append(list, tick)
			}
		}
	}
	return list
}

func logLabel(v float64) string {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 9, 64), 64) // rid of what adding up has left
	if v >= 0.00999 && v < 1e4 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ticks.ShortExponent(strconv.FormatFloat(v, 'e', -1, 64))
}
