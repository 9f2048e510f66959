package plot

import (
	"cmp"
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

// logTicks labels powers of ten, and round numbers between them if there are few.
func logTicks(lo, hi float64) []plot.Tick {
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	every := max(1, (last-first+7)/8)
	for _, mantissas := range [][]float64{{1}, {1, 2, 5}} {
		var list []plot.Tick
		for e := first; e <= last; e++ {
			for _, m := range mantissas {
				if v := m * math.Pow(10, float64(e)); e%every == 0 && v >= lo && v <= hi {
					list = append(list, plot.Tick{Value: v, Label: logLabel(v)})
				}
			}
		}
		if len(list) >= 3 {
			return list
		}
	}
	list := ticks(lo, hi, 4) // less than a decade: the axis is nearly linear
	for i := range list {
		list[i].Label = logLabel(list[i].Value)
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
