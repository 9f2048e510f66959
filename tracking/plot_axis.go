package tracking

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
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
	values := roundNumbers(lo, hi, t.want)
	ticks := make([]plot.Tick, len(values))
	for i, label := range tickLabels(values) {
		ticks[i] = plot.Tick{Value: values[i], Label: label}
	}
	return ticks
}

// roundNumbers are the multiples of 1, 2 or 5 times a power of ten within a range, about want of them.
func roundNumbers(lo, hi float64, want int) []float64 {
	rough := (hi - lo) / float64(want)
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	if !(power > 0) || math.IsInf(power, 0) {
		return nil
	}
	step := 10 * power
	for _, m := range []float64{1, 2, 5} {
		if m*power >= rough*0.999 {
			step = m * power
			break
		}
	}
	var values []float64
	for k := math.Ceil(lo/step - 1e-9); k*step <= hi+1e-9*step && len(values) < 100; k++ {
		values = append(values, k*step)
	}
	return values
}

// tickLabels writes equally spaced values with one unit and as many decimals as tell them apart.
func tickLabels(values []float64) []string {
	if len(values) == 0 {
		return nil
	}
	largest := 0.0
	for _, v := range values {
		largest = math.Max(largest, math.Abs(v))
	}
	step := largest
	if len(values) > 1 {
		step = values[1] - values[0]
	}
	labels := make([]string, len(values))
	if largest > 0 && (largest < 0.00099 || largest >= 1e15) {
		digits := max(0, int(math.Floor(math.Log10(largest)+1e-9)-math.Floor(math.Log10(step)+1e-9)))
		for i, v := range values {
			if math.Abs(v) < step/2 {
				labels[i] = "0"
				continue
			}
			labels[i] = shortExponent(strconv.FormatFloat(v, 'e', min(digits, 15), 64))
		}
		return labels
	}
	unit, suffix := 1.0, ""
	for _, u := range []struct {
		size   float64
		suffix string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if largest >= u.size*0.9999 {
			unit, suffix = u.size, u.suffix
			if suffix == "k" {
				unit = 1e3
			}
			break
		}
	}
	decimals := 0
	if step > 0 {
		decimals = min(max(0, -int(math.Floor(math.Log10(step/unit)+1e-9))), 12)
	}
	for i, v := range values {
		s := strconv.FormatFloat(v/unit, 'f', decimals, 64)
		if zero := strings.Trim(s, "-0.") == ""; zero {
			labels[i] = "0"
			continue
		}
		labels[i] = s + suffix
	}
	return labels
}

// shortExponent turns 1e-05 into 1e-5.
func shortExponent(s string) string {
	mantissa, exponent, ok := strings.Cut(s, "e")
	if !ok {
		return s
	}
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	sign := ""
	if exponent[0] == '-' {
		sign = "-"
	}
	return mantissa + "e" + sign + strings.TrimLeft(exponent, "+-0")
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
		values := roundNumbers(lo, hi, 4)
		ticks := make([]plot.Tick, len(values))
		for i, v := range values {
			ticks[i] = plot.Tick{Value: v, Label: logLabel(v)}
		}
		return ticks
	}
	var ticks []plot.Tick
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
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}

func logLabel(v float64) string {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 9, 64), 64) // rid of what adding up has left
	if v >= 0.00999 && v < 1e4 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return shortExponent(strconv.FormatFloat(v, 'e', -1, 64))
}
