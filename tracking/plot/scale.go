package plot

import (
	"cmp"
	"math"

	"gonum.org/v1/plot"
)

// Scale is the scale of the vertical axis.
type Scale int

// The scales. Log needs positive values.
const (
	Linear Scale = iota
	Log          // by the logarithm
)

// widen adds a margin to a range of data, so that curves do not touch the frame. A single value gets a range around it.
func (s Scale) widen(lo, hi, margin float64) (float64, float64) {
	if s == Log {
		lo, hi = Linear.widen(math.Log10(lo), math.Log10(hi), margin)
		return math.Pow(10, lo), math.Pow(10, hi)
	}
	room, largest := margin*(hi-lo), math.Max(math.Abs(lo), math.Abs(hi))
	if hi-lo <= 1e-9*largest {
		room = cmp.Or(0.1*largest, 1)
	}
	return lo - room, hi + room
}

// ticker returns the ticks of a scale, about want of them on a linear one.
func (s Scale) ticker(want int) plot.Ticker {
	if s == Log {
		return plot.TickerFunc(logTicks)
	}
	return plot.TickerFunc(func(lo, hi float64) []plot.Tick { return ticks(lo, hi, want) })
}
