package capacity

import "testing"

func TestCheckDevice(t *testing.T) {
	if CheckDevice("a terabyte", Bound) != nil || CheckDevice("more", Bound+1024) == nil {
		t.Error("the bound of devices is another")
	}
}

func TestTotal(t *testing.T) {
	if got := total([]byte("MemFree: 1 kB\nMemTotal:       24680 kB\n")); got != 24680*1024 {
		t.Errorf("%g bytes", got)
	}
}
