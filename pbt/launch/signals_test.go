package launch

import (
	"os"
	"syscall"
	"testing"
	"time"
)

func TestSignalsThatComeTogetherAreOne(t *testing.T) {
	at := []time.Duration{0, 0, 900 * time.Millisecond, time.Second}
	signals := make(chan os.Signal, len(at))
	for range at {
		signals <- syscall.SIGINT
	}
	begin, n := time.Unix(0, 0), -1
	now := func() time.Time { n++; return begin.Add(at[n]) }
	var causes []error
	killed := -1
	watch(signals, nil, now, func(cause error) { causes = append(causes, cause) }, func() { killed = n })
	if len(causes) != 1 || causes[0].Error() != "signal: interrupt" {
		t.Errorf("the causes are %v, want the first signal", causes)
	}
	if killed != 3 {
		t.Errorf("signal %d killed, want 3, the first a second later", killed)
	}
}
