package plot

import (
	"testing"
)

func TestShortExponent(t *testing.T) {
	for in, want := range map[string]string{"1.00e-05": "1e-5", "1.50e+06": "1.5e6", "NaN": "NaN", "12": "12",
		"3e+15": "3e15"} {
		if got := shortExponent(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
