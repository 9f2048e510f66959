package capacity

import (
	"runtime"
	"testing"
)

func TestCheckDevice(t *testing.T) {
	if CheckDevice("a terabyte", Bound) != nil || CheckDevice("more", Bound+1024) == nil {
		t.Error("the bound of devices is another")
	}
}

func TestMachine(t *testing.T) {
	if runtime.GOOS == "linux" && (machine() == Bound || machine() < 1<<28) {
		t.Errorf("the machine has %g bytes", machine())
	}
}
