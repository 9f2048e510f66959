package distributed

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/tensor"
)

// A rank that ends tells the others why, under a key in the store, and closes its connections, so that an operation that
// waits for it ends at once. The others then read the reason. A rank that has died or hangs gives none: each of the
// others writes that it is alive, and those that do not within inquest are the ones to blame.

// inquest is how long a rank waits for the others to say that they are alive, after an operation has failed.
const inquest = 3 * time.Second

// PeerError is the error of an operation that other ranks did not take part in.
type PeerError struct {
	// Ranks are those ranks.
	Ranks []int
	// Reason is what the first of them has said, empty where it has died, hangs or cannot be reached.
	Reason string
	// Err is what libtorch said of the operation.
	Err error
}

// Error names the ranks, and says why they have ended where they have told.
func (e *PeerError) Error() string {
	switch {
	case e.Reason != "":
		return fmt.Sprintf("distributed: rank %d has ended: %s", e.Ranks[0], e.Reason)
	case len(e.Ranks) == 0:
		return fmt.Sprintf("distributed: the connection of the ranks has failed, although all are alive: %v", e.Err)
	}
	return fmt.Sprintf("distributed: %s died, or cannot be reached: %v", have(e.Ranks), e.Err)
}

// Unwrap returns Err.
func (e *PeerError) Unwrap() error { return e.Err }

// have is "rank 1 has" or "ranks 1 and 2 have", and are "rank 1 is" or "ranks 1 and 2 are".
func have(ranks []int) string { return numbered(ranks, "has", "have") }
func are(ranks []int) string  { return numbered(ranks, "is", "are") }

func numbered(ranks []int, one, several string) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d %s", ranks[0], one)
	}
	words := make([]string, len(ranks))
	for i, r := range ranks {
		words[i] = strconv.Itoa(r)
	}
	return fmt.Sprintf("ranks %s and %s %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1], several)
}

// fail makes the error of an operation that has failed, and of all later ones.
func (g *Group) fail(op error) error {
	g.closeRanks() // the others wait no longer for this rank
	answer := make(chan *PeerError, 1)
	if g.ask(2*inquest, func() { answer <- g.blame(op) }) {
		g.lost = <-answer
	} else {
		g.lost = g.unreachable(op)
	}
	return g.lost
}

// ask calls f, which reads or writes the store, and reports whether it has returned in time. libtorch's calls cannot be
// cancelled, and wait for as long as TCP does where the network is gone; the store is then left as it is.
func (g *Group) ask(within time.Duration, f func()) bool {
	if g.mute {
		return false
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-late.C:
		g.mute = true
		return false
	}
}

// blame finds out which ranks did not take part in an operation.
func (g *Group) blame(op error) *PeerError {
	e := &PeerError{Err: op}
	if err := g.store.Set(g.key("alive", g.place.Rank), nil); err != nil {
		return g.unreachable(op)
	}
	for end := time.Now().Add(inquest); ; time.Sleep(5 * time.Millisecond) {
		e.Ranks = e.Ranks[:0]
		for r := range g.others() {
			reason, left, err := g.store.Get(g.key("left", r))
			if err != nil {
				return g.unreachable(op)
			}
			if left {
				return &PeerError{Ranks: []int{r}, Reason: string(reason), Err: op}
			}
			if _, alive, err := g.store.Get(g.key("alive", r)); err != nil {
				return g.unreachable(op)
			} else if !alive {
				e.Ranks = append(e.Ranks, r)
			}
		}
		if time.Now().After(end) {
			return e
		}
	}
}

// unreachable is the error where the store does not answer. Rank 0 serves it.
func (g *Group) unreachable(op error) *PeerError { return &PeerError{Ranks: []int{0}, Err: op} }

// Leave ends this rank's part, and tells the others why: their operations fail with a [PeerError] that has the reason.
// A group of one, and one that has failed already, is left as it is; call Close in any case.
func (g *Group) Leave(cause error) {
	if !g.Several() || g.lost != nil {
		return
	}
	g.lost = fmt.Errorf("distributed: this rank has left the others: %w", cause)
	g.ask(inquest, func() {
		_ = g.store.Set(g.key("left", g.place.Rank), []byte(reason(cause))) // the others notice either way
	})
	g.closeRanks()
}

// reason is what the others are told of an error.
func reason(cause error) string {
	var peer *PeerError
	if errors.As(cause, &peer) && peer.Reason != "" {
		return peer.Reason
	}
	return cause.Error()
}

// Close ends this rank's part. It may be called twice, and on nil.
func (g *Group) Close() error {
	if g == nil || g.store == nil {
		return nil
	}
	g.closeRanks()
	g.ask(3*inquest, func() {
		// Where operations have failed the others still read the store that rank 0 serves: let them.
		if g.lost != nil && g.place.Rank == 0 {
			for end := time.Now().Add(2 * inquest); time.Now().Before(end) && !g.allClosed(); time.Sleep(5 * time.Millisecond) {
			}
			return
		}
		_ = g.store.Set(g.key("closed", g.place.Rank), nil)
	})
	g.release()
	return nil
}

// allClosed reports whether all other ranks have closed their groups.
func (g *Group) allClosed() bool {
	for r := range g.others() {
		if _, closed, err := g.store.Get(g.key("closed", r)); err == nil && !closed {
			return false
		}
	}
	return true
}

// others yields the other ranks.
func (g *Group) others() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for r := range g.place.Size {
			if r != g.place.Rank && !yield(r) {
				return
			}
		}
	}
}

// closeRanks closes the connections.
func (g *Group) closeRanks() {
	for _, r := range []**tensor.Ranks{&g.cpu, &g.cuda} {
		if *r != nil {
			(*r).Close()
			*r = nil
		}
	}
}

// release closes everything.
func (g *Group) release() {
	g.closeRanks()
	if g.store != nil && !g.mute {
		g.store.Close()
		g.store = nil
	}
}
