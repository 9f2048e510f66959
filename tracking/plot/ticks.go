package plot

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// ticks returns about want round numbers from lo to hi with their labels, all in one unit: 0, 5k, 10k.
func ticks(lo, hi float64, want int) []plot.Tick {
	values := roundNumbers(lo, hi, want)
	list := make([]plot.Tick, len(values))
	for i, label := range tickLabels(values) {
		list[i] = plot.Tick{Value: values[i], Label: label}
	}
	return list
}

// roundNumbers returns the multiples of 1, 2 or 5 times a power of ten within a range, about want of them.
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

// tickLabels formats equally spaced values with one unit, and with as many digits as they need to differ.
func tickLabels(values []float64) []string {
	if len(values) == 0 {
		return nil
	}
	largest := max(math.Abs(values[0]), math.Abs(values[len(values)-1]))
	step := largest
	if len(values) > 1 {
		step = values[1] - values[0]
	}
	write := plain(largest, step)
	if largest > 0 && (largest < 0.00099 || largest >= 1e15) {
		write = scientific(largest, step)
	}
	labels := make([]string, len(values))
	for i, v := range values {
		if math.Abs(v) < step/2 || v == 0 { // nearly 0, by the rounding error of a sum
			labels[i] = "0"
		} else {
			labels[i] = write(v)
		}
	}
	return labels
}

// plain returns a function that formats numbers without an exponent, in the unit of the largest: thousands, millions,
// ...
func plain(largest, step float64) func(v float64) string {
	unit, suffix := 1.0, ""
	for _, u := range []struct {
		from, size float64
		suffix     string
	}{{1e12, 1e12, "T"}, {1e9, 1e9, "G"}, {1e6, 1e6, "M"}, {1e4, 1e3, "k"}} {
		if largest >= u.from*0.9999 {
			unit, suffix = u.size, u.suffix
			break
		}
	}
	decimals := 0
	if step > 0 {
		decimals = min(max(0, -int(math.Floor(math.Log10(step/unit)+1e-9))), 12)
	}
	return func(v float64) string { return strconv.FormatFloat(v/unit, 'f', decimals, 64) + suffix }
}

// scientific returns a function that formats numbers with an exponent, for very small or very large ones.
func scientific(largest, step float64) func(v float64) string {
	digits := max(0, int(math.Floor(math.Log10(largest)+1e-9)-math.Floor(math.Log10(step)+1e-9)))
	return func(v float64) string { return shortExponent(strconv.FormatFloat(v, 'e', min(digits, 15), 64)) }
}

// shortExponent shortens a number with an exponent, 1.00e-05 to 1e-5, and returns others as they are.
func shortExponent(s string) string {
	mantissa, exponent, ok := strings.Cut(s, "e")
	if !ok {
		return s
	}
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return mantissa + "e" + strings.NewReplacer("+0", "", "+", "", "-0", "-").Replace(exponent)
}
