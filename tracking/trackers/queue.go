package trackers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorl-dev/gorl/internal/panics"
	"github.com/gorl-dev/gorl/tracking"
)

// How much is kept for a tracker that is away.
const (
	capacity = 1 << 16 // scalars that wait at most
	batch    = 1000    // scalars between two flushes at most: what MLflow takes at once
)

// patience says how long trackers are waited for.
type patience struct {
	first, last time.Duration // the pause before the second attempt, and the longest one; each is twice that before
	closing     time.Duration // for the last values, when a run has ended
	leaving     time.Duration // for a tracker to return after its context is done
}

var usual = patience{first: time.Second, last: 5 * time.Minute, closing: 30 * time.Second, leaving: time.Second}

// Sinks are the trackers of a run: a [tracking.Sink] whose methods never block on a tracker, but for Close, and return
// no error.
type Sinks struct {
	queues []*queue
	patience
}

// Start opens trackers for a run, each in a goroutine of its own, and returns at once. warn is called from those
// goroutines with what is wrong and what follows: where a tracker first fails, and with the number of values that were
// dropped where it came back too late for them. Calls never overlap.
func Start(trackers []Tracker, run Run, warn func(error)) *Sinks {
	return start(trackers, run, warn, usual)
}

func start(trackers []Tracker, run Run, warn func(error), p patience) *Sinks {
	var one sync.Mutex
	serial := func(err error) {
		one.Lock()
		defer one.Unlock()
		warn(err)
	}
	s := &Sinks{patience: p}
	for _, t := range trackers {
		q := &queue{name: t.Name, warn: serial, patience: p, wake: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{})}
		q.ctx, q.cancel = context.WithCancel(context.Background())
		s.queues = append(s.queues, q)
		go q.work(t, run)
	}
	return s
}

// Scalar implements [tracking.Sink].
func (s *Sinks) Scalar(tag string, step int64, value float64) {
	for _, q := range s.queues {
		q.put(tracking.Scalar{Step: step, Tag: tag, Value: value})
	}
}

// Flush has the trackers take what waits for them, and does not wait for it.
func (s *Sinks) Flush() error {
	for _, q := range s.queues {
		q.flush()
	}
	return nil
}

// Finish says how the run ended, see [Finisher]. Close passes it on; without it a run has come to its end.
func (s *Sinks) Finish(err error) {
	for _, q := range s.queues {
		q.mu.Lock()
		q.ended = err
		q.mu.Unlock()
	}
}

// Close has the trackers take the last values and end, and waits for that: up to 30 seconds, and for a tracker that has
// been away only for one more attempt. It may be called twice.
func (s *Sinks) Close() error {
	for _, q := range s.queues {
		q.stop()
	}
	deadline, cancel := context.WithTimeout(context.Background(), s.closing) // one for all
	defer cancel()
	for _, q := range s.queues {
		q.wait(deadline.Done())
	}
	return nil
}

// queue holds what a tracker has not taken yet.
type queue struct {
	name string
	warn func(error)
	patience
	ctx    context.Context // done when nothing waits for the tracker any longer
	cancel context.CancelFunc
	wake   chan struct{} // holds one element where there is something to do
	closed chan struct{} // closed when no more scalars come
	done   chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	waiting []tracking.Scalar
	lost    int64 // scalars that were dropped
	due     bool  // what waits is to be taken now
	gone    bool  // the tracker takes nothing more
	warned  bool
	stopped bool
	ended   error // how the run ended
}

// put adds a scalar, in place of the oldest where the queue is full.
func (q *queue) put(s tracking.Scalar) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.gone || q.stopped:
		q.lost++
		return
	case len(q.waiting) == capacity:
		// An eighth at once, so that a full queue does not move all for every scalar.
		q.lost += capacity / 8
		q.waiting = append(q.waiting[:0], q.waiting[capacity/8:]...)
	}
	q.waiting = append(q.waiting, s)
	if len(q.waiting) >= batch {
		q.signal()
	}
}

func (q *queue) flush() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due = len(q.waiting) > 0
	q.signal()
}

// signal wakes the goroutine. It never blocks.
func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// stop says that no more scalars come.
func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.stopped {
		q.stopped = true
		close(q.closed)
	}
}

// wait returns when the goroutine has ended, or soon after the deadline.
func (q *queue) wait(deadline <-chan struct{}) {
	select {
	case <-q.done:
	case <-deadline:
		q.report(errors.New("it has not taken the last values in time"))
		q.cancel()
		select {
		case <-q.done:
		case <-time.After(q.leaving): // its code does not heed the context; it is left behind
		}
	}
	q.cancel()
	q.mu.Lock()
	lost := q.lost
	q.lost = 0 // it is told once
	if q.gone {
		lost = 0 // the warning has said so
	}
	q.mu.Unlock()
	if lost > 0 {
		q.warn(fmt.Errorf("tracker %s: it was away or too slow for %d values, which were dropped; the run's folder has them", q.name, lost))
	}
}

// report warns of a failure, once.
func (q *queue) report(err error) {
	q.mu.Lock()
	first := !q.warned
	q.warned = true
	q.mu.Unlock()
	if first {
		q.warn(fmt.Errorf("tracker %s: %w. Training goes on; the run's folder has all values", q.name, err))
	}
}

// work opens the tracker, hands on what waits, and ends it.
func (q *queue) work(t Tracker, run Run) {
	defer close(q.done)
	var sink tracking.Sink
	if !q.try(func() (err error) { sink, err = t.Open(q.ctx, run); return err }) {
		q.leave()
		return
	}
	for {
		taken, more := q.take()
		err := attempt(func() error {
			for _, s := range taken {
				sink.Scalar(s.Tag, s.Step, s.Value)
			}
			return nil
		})
		if len(taken) > 0 && !q.try(func() error { return errors.Join(err, sink.Flush()) }) {
			q.leave()
			break
		}
		if !more {
			break
		}
	}
	err := attempt(func() error {
		if f, ok := sink.(Finisher); ok {
			q.mu.Lock()
			ended := q.ended
			q.mu.Unlock()
			f.Finish(ended)
		}
		return sink.Close()
	})
	if err != nil {
		q.report(err)
	}
}

// leave drops what waits and all that is still to come.
func (q *queue) leave() {
	q.cancel() // Close does not wait for what is away
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gone = true
	q.lost += int64(len(q.waiting))
	q.waiting = nil
}

// take waits for something to hand on. more is false where nothing will follow.
func (q *queue) take() (taken []tracking.Scalar, more bool) {
	for {
		q.mu.Lock()
		n := min(len(q.waiting), batch)
		if n == batch || n > 0 && (q.due || q.stopped) {
			taken = append([]tracking.Scalar(nil), q.waiting[:n]...)
			q.waiting = append(q.waiting[:0], q.waiting[n:]...)
			q.due = q.due && len(q.waiting) > 0
		}
		more = !q.stopped || len(q.waiting) > 0
		q.mu.Unlock()
		if len(taken) > 0 || !more {
			return taken, more
		}
		select {
		case <-q.wake:
		case <-q.closed:
		}
	}
}

// try calls f until it succeeds. It returns false where no attempt can succeed any more: after an error that wraps ErrFinal, and after
// the run has ended.
func (q *queue) try(f func() error) bool {
	for pause := q.first; ; pause = min(2*pause, q.last) {
		last := false // attempt
		select {
		case <-q.closed:
			last = true
		default:
		}
		err := attempt(f)
		if err == nil {
			return true
		}
		q.report(err)
		if last || errors.Is(err, ErrFinal) || q.ctx.Err() != nil {
			return false
		}
		select {
		case <-time.After(pause):
		case <-q.closed:
		case <-q.ctx.Done():
		}
	}
}

// attempt calls f. A panic in a tracker is its error, not the end of the program.
func attempt(f func() error) (err error) {
	if p := panics.Catch(func() { err = f() }); p != nil {
		p.What = "it"
		return fmt.Errorf("%w (%w)", p, ErrFinal)
	}
	return err
}
