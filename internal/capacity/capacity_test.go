package capacity

import (
	"math"
	"testing"
)

func TestCheck(t *testing.T) {
	if err := Check("a page", 4096); err != nil {
		t.Error(err)
	}
	if CheckDevice("a terabyte", Bound) != nil || CheckDevice("more", Bound+1024) == nil {
		t.Error("the bound of devices is another")
	}
}

func TestMachine(t *testing.T) {
	if got := machine(); !(got > 1<<26 && got < 1<<60) {
		t.Errorf("the machine has %g bytes", got)
	}
	if got := total([]byte("MemFree: 1 kB\nMemTotal:       24680 kB\n")); got != 24680*1024 {
		t.Errorf("%g bytes", got)
	}
	if got := total([]byte("MemTotal: many kB\n")); !math.IsInf(got, 1) {
		t.Errorf("%g bytes of many", got)
	}
}
