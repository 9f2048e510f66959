package plot

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// ticks returns the multiples of 1, 2 or 5 times a power of ten within a range, about want of them.
func ticks(lo, hi float64, want int) []plot.Tick {
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
	var list []plot.Tick
	for k := math.Ceil(lo/step - 1e-9); k*step <= hi+1e-9*step && len(list) < 100; k++ {
		list = append(list, plot.Tick{Value: k * step, Label: label(k * step)})
	}
	return list
}

// logTicks labels powers of ten. A range of less than one and a half decades has linear ticks.
func logTicks(lo, hi float64) []plot.Tick {
	if hi < 30*lo {
		return ticks(lo, hi, 6)
	}
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	every := max(1, (last-first+7)/8)
	var list []plot.Tick
	for e := first; e <= last; e++ {
		for m := 1; m < 10; m++ {
			tick := plot.Tick{Value: float64(m) * math.Pow(10, float64(e))}
			if m == 1 && e%every == 0 {
				tick.Label = label(tick.Value)
			}
			if tick.Value >= lo && tick.Value <= hi && (tick.Label != "" || every == 1) {
				list = append(list, tick)
			}
		}
	}
	return list
}

// label formats a number with up to nine digits, without the rounding error of a sum. From 10,000 on it is in
// thousands (k), millions (M), and so on.
func label(v float64) string {
	suffix := ""
	for _, name := range []string{"k", "M", "G", "T"} {
		if size := math.Abs(v); suffix == "" && size < 9999.5 || size < 999.5 {
			break
		}
		v, suffix = v/1000, name
	}
	text := strconv.FormatFloat(v+0, 'g', 9, 64) // the addition removes the sign of zero
	return strings.NewReplacer("e-0", "e-", "e+0", "e", "e+", "e").Replace(text) + suffix
}
