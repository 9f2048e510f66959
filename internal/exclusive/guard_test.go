package exclusive

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var act, look Method = "Act", "Look"

// One call runs at a time, however many goroutines try; every other call is refused.
func TestOneAtATime(t *testing.T) {
	g := Guard{Object: "ppo", Advice: "use a lock"}
	var inside, entered, refused atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				if err := g.Enter(&act); err != nil {
					refused.Add(1)
					continue
				}
				if inside.Add(1) != 1 {
					t.Error("two calls at once")
				}
				entered.Add(1)
				inside.Add(-1)
				g.Leave()
			}
		})
	}
	all.Wait()
	if n := entered.Load() + refused.Load(); n != 8000 || entered.Load() == 0 {
		t.Errorf("%d entered, %d refused", entered.Load(), refused.Load())
	}
}

func TestErrors(t *testing.T) {
	g := Guard{Object: "ppo", Advice: "use a lock"}
	check := func(err error, overlap bool, want string) {
		t.Helper()
		if want == "" && err == nil {
			return
		}
		if err == nil || errors.Is(err, ErrOverlap) != overlap || !strings.HasPrefix(err.Error(), want) || want == "" {
			t.Errorf("%v, want %q", err, want)
		}
	}
	check(g.Enter(&act), false, "")
	check(g.Enter(&look), true, "ppo: Look was called while Act is running: ")
	_, err := g.EnterClose()
	check(err, true, "ppo: Close was called while Act is running: ")
	if g.TryEnter(&look) {
		t.Error("TryEnter let two in")
	}
	g.Leave()
	check(g.Enter(&act), true, "ppo: Look was called while Act is running: ") // of TryEnter, once
	check(g.Enter(&act), false, "")
	g.Leave()
	for _, first := range []bool{true, false} {
		if got, err := g.EnterClose(); got != first || err != nil {
			t.Errorf("EnterClose: %v, %v", got, err)
		}
		if first {
			check(g.Enter(&act), true, "ppo: Act was called while Close is running: ")
			g.LeaveClose()
		}
	}
	check(g.Enter(&act), false, "ppo: Act was called after Close")
	if g.TryEnter(&look) || !g.Closed() {
		t.Error("TryEnter after Close")
	}
}
