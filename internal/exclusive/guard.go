// Package exclusive refuses overlapping method calls on an object that serves one goroutine at a time.
package exclusive

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrOverlap is wrapped by the error of a call that was refused because another call was running.
var ErrOverlap = errors.New("an object that serves one goroutine at a time was used by two")

// Method is the name of a guarded method. Declare one variable per method and pass its address, which costs no
// allocation.
type Method string

// closing is the running method while Close runs, closed once Close has ended.
var closing, closed Method = "Close", "Close"

// Guard lets one method of an object run at a time. An overlapping call is refused and changes nothing. A call costs
// two atomic operations. The zero Guard with an Object is ready to use. A Guard must not be copied.
type Guard struct {
	// Object is the start of every error: the object, and what distinguishes it from others ("ppo: the agent (seed
	// 1)").
	Object string
	// Advice is the end of errors about an overlap: how a program uses the object correctly.
	Advice string

	running atomic.Pointer[Method]
	// refused is the error of an overlapping call of a method that returns no error.
	refused atomic.Pointer[error]
}

// Enter starts a method, which must call Leave when it ends. Enter returns an error if another method is running
// (ErrOverlap), after Close, and if TryEnter has refused a call since the last Enter.
func (g *Guard) Enter(m *Method) error {
	if err := g.enter(m); err != nil {
		return err
	}
	if g.refused.Load() == nil {
		return nil
	}
	err := *g.refused.Swap(nil) // only the running method takes it
	g.Leave()
	return err
}

// TryEnter is Enter for a method that returns no error: it reports whether the method may run. The next Enter returns
// the error of an overlap that TryEnter refused.
func (g *Guard) TryEnter(m *Method) bool {
	err := g.enter(m)
	if errors.Is(err, ErrOverlap) {
		kept := err // err itself would be allocated by every call
		g.refused.Store(&kept)
	}
	return err == nil
}

func (g *Guard) enter(m *Method) error {
	for !g.running.CompareAndSwap(nil, m) {
		switch other := g.running.Load(); other {
		case nil: // it has just ended
		case &closed:
			return fmt.Errorf("%s: %s was called after Close", g.Object, *m)
		default:
			return fmt.Errorf("%s: %s was called while %s is running: %w; %s", g.Object, *m, *other, ErrOverlap,
				g.Advice)
		}
	}
	return nil
}

// Leave ends the method that Enter or TryEnter has started.
func (g *Guard) Leave() { g.running.Store(nil) }

// EnterClose starts Close. After an earlier Close it returns false and no error: a second Close does nothing. If a
// method is running, it returns an error. Otherwise it returns true, and Close must call [Guard.LeaveClose] when it
// ends.
func (g *Guard) EnterClose() (first bool, err error) {
	if g.Closed() {
		return false, nil
	}
	err = g.enter(&closing)
	return err == nil, err
}

// LeaveClose ends Close. From now on Enter returns an error.
func (g *Guard) LeaveClose() { g.running.Store(&closed) }

// Closed reports whether Close has ended.
func (g *Guard) Closed() bool { return g.running.Load() == &closed }
