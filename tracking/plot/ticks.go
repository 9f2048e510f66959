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

// tickLabels formats equally spaced values in one unit: thousands, millions, ... They have as many digits as they need
// to differ. Very small and very large values have an exponent.
func tickLabels(values []float64) []string {
	if len(values) == 0 {
		return nil
	}
	largest := max(math.Abs(values[0]), math.Abs(values[len(values)-1]))
	step := largest
	if len(values) > 1 {
		step = values[1] - values[0]
	}
	unit, suffix := 1.0, ""
	for _, u := range []struct {
		from, size float64
		suffix     string
	}{{1e4, 1e3, "k"}, {1e6, 1e6, "M"}, {1e9, 1e9, "G"}, {1e12, 1e12, "T"}} {
		if largest >= u.from*0.9999 {
			unit, suffix = u.size, u.suffix
		}
	}
	digit := func(v float64) int { return int(math.Floor(math.Log10(v) + 1e-9)) } // the place of the first digit
	labels := make([]string, len(values))
	for i, v := range values {
		switch {
		case math.Abs(v) < step/2 || v == 0: // nearly 0, by the rounding error of a sum
			labels[i] = "0"
		case largest < 0.00099 || largest >= 1e15:
			digits := min(max(0, digit(largest)-digit(step)), 15)
			labels[i] = shortExponent(strconv.FormatFloat(v, 'e', digits, 64))
		default:
			decimals := min(max(0, -digit(step/unit)), 12)
			labels[i] = strconv.FormatFloat(v/unit, 'f', decimals, 64) + suffix
		}
	}
	return labels
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
