package plot

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// Scale is the scale of the vertical axis.
type Scale int

// The scales. Log needs positive values.
const (
	Linear Scale = iota
	Log          // by the logarithm
)

// shows reports whether a drawable value has a place on the scale.
func (s Scale) shows(v float64) bool {
	return s == Linear || v > 1e-150
}

// measure returns the position of a value on the axis.
func (s Scale) measure(v float64) float64 {
	if s == Log {
		return math.Log10(v)
	}
	return v
}

// value is the inverse of measure.
func (s Scale) value(m float64) float64 {
	if s == Log {
		return math.Pow(10, m)
	}
	return m
}

// Normalize implements gonum/plot's Normalizer: lo becomes 0 and hi 1.
func (s Scale) Normalize(lo, hi, v float64) float64 {
	a, b := s.measure(lo), s.measure(hi)
	return (s.measure(v) - a) / (b - a)
}

// widen adds a margin to a range of data. A single value gets a range around it.
func (s Scale) widen(r [2]float64, margin float64) (lo, hi float64) {
	lo, hi = s.measure(r[0]), s.measure(r[1])
	switch d := hi - lo; {
	case d > 1e-9*math.Max(math.Abs(lo), math.Abs(hi)):
		lo, hi = lo-margin*d, hi+margin*d
	case s != Linear:
		lo, hi = lo-0.2, hi+0.2
	case lo == 0 && hi == 0:
		lo, hi = -1, 1
	default:
		d = 0.1 * math.Max(math.Abs(lo), math.Abs(hi))
		lo, hi = lo-d, hi+d
	}
	return s.value(lo), s.value(hi)
}

// ticker returns the ticks of a scale, about want of them on a linear one.
func (s Scale) ticker(want int) plot.Ticker {
	if s == Log {
		return plot.TickerFunc(logTicks)
	}
	return plot.TickerFunc(func(lo, hi float64) []plot.Tick { return ticks(lo, hi, want) })
}

// logTicks labels powers of ten, and round numbers between them if there are few.
func logTicks(lo, hi float64) []plot.Tick {
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
		list := ticks(lo, hi, 4)
		for i := range list {
			list[i].Label = logLabel(list[i].Value)
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
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 9, 64), 64) // removes rounding errors: 0.30000000000000004
	if v >= 0.00999 && v < 1e4 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return shortExponent(strconv.FormatFloat(v, 'e', -1, 64))
}
