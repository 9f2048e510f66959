package distributed

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// A rank that ends sends the reason to the others. A rank that gets no answer from another rank sends that rank's
// number to the others. All ranks therefore name the rank that has died or hangs, and not each other.

// reportTime is the time that a rank waits for the others to report why an operation has failed.
const reportTime = 3 * time.Second

// PeerError is the error of an operation in which other ranks did not take part.
type PeerError struct {
	// Ranks are those ranks.
	Ranks []int
	// Reason is the reason that the first of them has sent. It is empty if that rank has died, hangs or is unreachable.
	Reason string
	// Err is the error of the connection.
	Err error
}

// Error names the ranks, and the reason for their end if it is known.
func (e *PeerError) Error() string {
	switch {
	case e.Reason != "":
		return fmt.Sprintf("distributed: rank %d has ended: %s", e.Ranks[0], e.Reason)
	case len(e.Ranks) == 0:
		return fmt.Sprintf("distributed: the connection of the ranks has failed, although all are alive: %v", e.Err)
	}
	return fmt.Sprintf("distributed: rank %d has died, or cannot be reached: %v", e.Ranks[0], e.Err)
}

// Unwrap returns Err.
func (e *PeerError) Unwrap() error { return e.Err }

// are returns "rank 1 is" or "ranks 1 2 are".
func are(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d is", ranks[0])
	}
	return fmt.Sprintf("ranks %s are", strings.Trim(fmt.Sprint(ranks), "[]"))
}

// fail returns the error of a failed operation, and sets it for all later ones.
func (g *Group) fail(op error) error {
	var broken *linkError
	if !errors.As(op, &broken) { // the ranks do not make the same operations
		op = fmt.Errorf("distributed: %w", op)
		g.Leave(op)
		g.lost = op
		return op
	}
	if errors.Is(broken.err, os.ErrDeadlineExceeded) {
		broken.err = fmt.Errorf("it did not answer within %v", g.cfg.Timeout)
		if g.joining != nil {
			broken.err = errors.New("it did not answer in time")
		}
	}
	g.links.until(time.Now().Add(reportTime))
	g.sendControl(frame{kind: kindWaiting, rank: broken.rank, op: g.op},
		fmt.Sprintf("it waited for rank %d in vain: %v", broken.rank, broken.err))
	g.links.until(time.Now().Add(reportTime))
	g.lost = g.findFailed(broken)
	g.links.close()
	return g.lost
}

// sendControl sends a frame outside of operations to all other ranks.
func (g *Group) sendControl(f frame, text string) {
	var sent sync.WaitGroup
	for _, l := range g.links.others() {
		sent.Go(func() {
			if l.flush() == nil && !l.torn {
				// after a failure the others notice the closed connection
				_ = l.send(f, []byte(text[:min(len(text), small)]))
			}
		})
	}
	sent.Wait()
}

// findFailed finds the rank that did not take part in an operation: the rank of the broken link, or the rank for which
// that one waits.
func (g *Group) findFailed(broken *linkError) *PeerError {
	e := &PeerError{Err: broken.err}
	at, said := broken.rank, broken.said
	for range g.Size() {
		if said == nil {
			said = g.links[at].control()
		}
		e.Ranks = []int{at}
		switch {
		case said == nil:
			return e
		case said.kind == kindLeft, said.rank == g.Rank():
			e.Reason = said.text
			return e
		case said.rank < 0 || said.rank >= g.Size():
			return e
		}
		at, said = said.rank, nil
	}
	e.Ranks = nil // each waits for another
	return e
}

// Leave ends this rank's part and sends the reason to the others. Their operations fail with a [PeerError] that has the
// reason. Leave does nothing in a group of one, or after an error. Call Close in any case.
func (g *Group) Leave(cause error) {
	if !g.Several() || g.lost != nil {
		return
	}
	g.lost = fmt.Errorf("distributed: this rank has left the others: %w", cause)
	g.links.until(time.Now().Add(reportTime))
	g.sendControl(frame{kind: kindLeft, op: g.op}, reason(cause))
}

// reason returns the text of an error for the other ranks.
func reason(cause error) string {
	var peer *PeerError
	if errors.As(cause, &peer) && peer.Reason != "" {
		return peer.Reason
	}
	return cause.Error()
}

// Close ends this rank's part. It may be called twice, and on a nil group.
func (g *Group) Close() error {
	if g == nil {
		return nil
	}
	if g.lost == nil {
		g.lost = errors.New("distributed: the group is closed")
	}
	g.links.close()
	g.gpus.close()
	return nil
}
