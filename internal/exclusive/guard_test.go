package exclusive

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
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
	must.Is(t, entered.Load()+refused.Load(), 8000, "calls")
	must.Not(t, entered.Load() == 0, "none entered")
}

func TestErrors(t *testing.T) {
	g := Guard{Object: "ppo", Advice: "use a lock"}
	refused := func(err error, overlap bool, want string) {
		t.Helper()
		must.Refuse(t, err, want)
		must.Is(t, errors.Is(err, ErrOverlap), overlap, "%v is ErrOverlap", err)
	}
	must.Do(t, g.Enter(&act))
	refused(g.Enter(&look), true, "ppo: Look was called while Act is running: ")
	_, err := g.EnterClose()
	refused(err, true, "ppo: Close was called while Act is running: ")
	must.Is(t, g.TryEnter(&look), false, "TryEnter lets two in")
	g.Leave()
	refused(g.Enter(&act), true, "ppo: Look was called while Act is running: ") // of TryEnter, once
	must.Do(t, g.Enter(&act))
	g.Leave()
	must.Is(t, must.Get(g.EnterClose())(t), true, "the first Close")
	refused(g.Enter(&act), true, "ppo: Act was called while Close is running: ")
	g.LeaveClose()
	must.Is(t, must.Get(g.EnterClose())(t), false, "the second Close is the first")
	refused(g.Enter(&act), false, "ppo: Act was called after Close")
	must.Not(t, g.TryEnter(&look) || !g.Closed(), "TryEnter after Close")
}
