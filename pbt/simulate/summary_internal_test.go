package simulate

import "testing"

func TestOneDigit(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 23.4: "20", 4.2: "4", 0.0271: "0.03", 961: "1000", 1234567: "1e+06"} {
		if got := oneDigit(x); got != want {
			t.Errorf("%g is written %s, want %s", x, got, want)
		}
	}
}
