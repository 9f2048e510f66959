package capacity

import (
	"math"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	if err := Check("a page", 4096); err != nil {
		t.Error(err)
	}
	for _, x := range []struct {
		bytes, limit float64
		want         string
	}{
		{8 << 30, 2 << 30, "a rollout would need 8589934592 bytes of memory (8 GiB); there are 2147483648 (2 GiB)"},
		{5e23, 1 << 30, "a rollout would need 5e+23 bytes of memory (4.337e+05 EiB); there are 1073741824 (1 GiB)"},
	} {
		if err := check("a rollout", x.bytes, x.limit); err == nil || err.Error() != x.want {
			t.Errorf("%v, want %s", err, x.want)
		}
	}
	if err := Check("everything", 1e30); err == nil ||
		!strings.Contains(err.Error(), "everything would need 1e+30 bytes") {
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
