package plot

import (
	"math"
	"slices"
	"testing"
)

func TestRoundAndLabels(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   int
		labels []string
	}{
		{0, 500, 5, []string{"0", "100", "200", "300", "400", "500"}},
		{-0.3, 0.3, 6, []string{"-0.3", "-0.2", "-0.1", "0", "0.1", "0.2", "0.3"}},
		{0, 20000, 4, []string{"0", "5k", "10k", "15k", "20k"}},
		{0, 2.5e6, 5, []string{"0", "0.5M", "1.0M", "1.5M", "2.0M", "2.5M"}},
		{0, 4e-5, 4, []string{"0", "1e-5", "2e-5", "3e-5", "4e-5"}},
		{1.0001e-5, 1.0005e-5, 4, []string{"1.0001e-5", "1.0002e-5", "1.0003e-5", "1.0004e-5", "1.0005e-5"}},
		{0, 2e15, 2, []string{"0", "1e15", "2e15"}},
		{0.9, 1, 5, []string{"0.90", "0.92", "0.94", "0.96", "0.98", "1.00"}},
	} {
		if got := tickLabels(roundNumbers(c.lo, c.hi, c.want)); !slices.Equal(got, c.labels) {
			t.Errorf("%g to %g: %q, want %q", c.lo, c.hi, got, c.labels)
		}
	}
	for _, r := range [][2]float64{{1, 1}, {math.NaN(), 1}, {0, math.Inf(1)}, {2, 1}} {
		if got := tickLabels(roundNumbers(r[0], r[1], 5)); len(got) != 0 {
			t.Errorf("%v: %q, want nothing", r, got)
		}
	}
	if got := tickLabels([]float64{0}); !slices.Equal(got, []string{"0"}) {
		t.Errorf("a single zero is %q", got)
	}
}

func TestShortExponent(t *testing.T) {
	for in, want := range map[string]string{"1.00e-05": "1e-5", "1.50e+06": "1.5e6", "NaN": "NaN", "12": "12",
		"3e+15": "3e15"} {
		if got := ShortExponent(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
