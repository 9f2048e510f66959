// Package exclusive refuses overlapping calls of the methods of an object that serves one goroutine at a time.
package exclusive

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrOverlap is wrapped by the error of a call that was refused because another call was running.
var ErrOverlap = errors.New("an object that serves one goroutine at a time was used by two")

// Method is the name of a guarded method. Declare one variable a method and pass its address, which costs no
// allocation.
type Method string

// closing stands for Close while it runs, closed once it has ended.
var closing, closed Method = "Close", "Close"

// Guard lets one method of an object run at a time. An overlapping call is refused and changes nothing. A call costs
// two atomic operations. The zero Guard with an Object is ready to use. A Guard must not be copied.
type Guard struct {
	// Object begins errors: what it is, and what tells it from others ("ppo: the agent (seed 1)").
	Object string
	// Advice ends errors about an overlap: how a program uses the object correctly.
	Advice string

	running atomic.Pointer[Method]
	// refused is the error of an overlapping call that could not return it.
	refused atomic.Pointer[error]
}

// Enter starts a method, which must call Leave when it ends. It is an error if another method is running (ErrOverlap),
// after Close, and if a call of TryEnter was refused since the last Enter.
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
			return fmt.Errorf("%s: %s was called while %s is running: %w; %s", g.Object, *m, *other, ErrOverlap, g.Advice)
		}
	}
	return nil
}

// Leave ends the method that Enter or TryEnter has started.
func (g *Guard) Leave() { g.running.Store(nil) }

// EnterClose starts Close. It reports false after an earlier Close, which a second Close does not repeat, and is an
// error if a method is running. Otherwise Close must call [Guard.LeaveClose] when it ends.
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
