package trackers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gorl-dev/gorl/internal/panics"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/tracking"
)

// Limits of a queue.
const (
	capacity = 1 << 16 // scalars that wait
	batch    = 1000    // scalars between two flushes; the limit of a request to MLflow
)

// waits are the times for which a queue waits.
type waits struct {
	first, last time.Duration // the first and the longest pause between attempts; each pause is twice the one before
	closing     time.Duration // for the last values, at the end of a run
	leaving     time.Duration // for a tracker to return after its context is done
}

var defaultWaits = waits{first: time.Second, last: 5 * time.Minute, closing: 30 * time.Second, leaving: time.Second}

// Sinks are the trackers of a run. It is a [tracking.Sink] whose methods return no error. Only Close waits for
// trackers.
type Sinks struct {
	queues []*queue
	ratio  int64 // environment steps in a step that Scalar gets
	waits
}

// Start opens trackers for a run, each in its own goroutine, and returns at once. Those goroutines call warn at the
// first failure of a tracker, and at the end with the number of values that it has not received. Calls of warn never
// overlap.
func Start(trackers []Tracker, run Run, warn func(error)) *Sinks {
	return start(trackers, run, warn, defaultWaits)
}

func start(trackers []Tracker, run Run, warn func(error), p waits) *Sinks {
	var one sync.Mutex
	serial := func(err error) {
		one.Lock()
		defer one.Unlock()
		warn(err)
	}
	s := &Sinks{waits: p, ratio: max(run.StepsPerTimestep, 1)}
	for _, t := range trackers {
		q := &queue{name: t.Name, warn: serial, waits: p,
			wake: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{})}
		q.ctx, q.cancel = context.WithCancel(context.Background())
		var err error
		if q.delivery, q.lines, err = openDelivery(t.Name, run); err != nil {
			q.report(fmt.Errorf("reading what it has taken: %w", err))
		}
		q.head, q.synced = q.lines, t.settings != nil
		s.queues = append(s.queues, q)
		go q.work(t, run)
	}
	return s
}

// Scalar implements [tracking.Sink].
func (s *Sinks) Scalar(tag string, step int64, value float64) {
	now := time.Now()
	for _, q := range s.queues {
		q.put(tracking.Scalar{Time: now, Step: step * s.ratio, Tag: tag, Value: value})
	}
}

// Flush starts the delivery of all waiting values and returns at once.
func (s *Sinks) Flush() error {
	for _, q := range s.queues {
		q.flush()
	}
	return nil
}

// Finish sets how the run ended, see [Finisher]. Close passes it on. Without Finish the run has completed.
func (s *Sinks) Finish(err error) {
	for _, q := range s.queues {
		q.mu.Lock()
		q.ended = err
		q.mu.Unlock()
	}
}

// Close delivers the last values and closes the trackers. It waits up to 30 seconds, but only for one more attempt of a
// tracker that has failed. It may be called twice.
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

// queue holds the values that a tracker has not taken.
type queue struct {
	name string
	warn func(error)
	waits
	ctx    context.Context // done when the run no longer waits for the tracker
	cancel context.CancelFunc
	wake   chan struct{} // holds an element if there is something to do
	closed chan struct{} // closed when no more scalars come
	done   chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	waiting []tracking.Scalar
	// delivery is the record of what the tracker has taken; nil after an error and after Close. lines is the number of
	// lines of the run's file. head is the line of waiting[0], from the first line of the last take.
	delivery          *delivery
	lines, head, from int64
	synced            bool // YAML names the tracker, so that gorl sync can send what it misses
	uploads           bool // the tracker keeps artefacts
	due               bool // the waiting scalars are to be taken now
	gone              bool // the tracker takes no more scalars
	warned            bool
	stopped           bool
	ended             error // how the run ended
}

// put adds a scalar. If the queue is full it drops the oldest ones.
func (q *queue) put(s tracking.Scalar) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lines++
	switch {
	case q.gone || q.stopped:
		return
	case len(q.waiting) == capacity:
		// Dropping an eighth at once avoids moving the queue for every scalar.
		q.waiting = append(q.waiting[:0], q.waiting[capacity/8:]...)
		q.head += capacity / 8
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

// signal wakes the goroutine without blocking.
func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// stop ends the queue: no more scalars come.
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
		case <-time.After(q.leaving): // its code ignores the context
		}
	}
	q.cancel()
	q.mu.Lock()
	missing, err := q.settle()
	q.mu.Unlock()
	if err != nil {
		q.report(err)
	}
	if missing != nil {
		q.warn(fmt.Errorf("tracker %s: %w", q.name, missing))
	}
}

// settle writes the record of what the tracker has taken. missing says what it has not taken, and what sends the rest.
// The mutex is locked.
func (q *queue) settle() (missing, err error) {
	d := q.delivery
	if d == nil {
		return nil, nil
	}
	q.delivery = nil // the second call has nothing to say
	d.ended(q.ended)
	_, n := d.missing(q.lines)
	files := 0
	if q.uploads {
		files = len(d.fresh())
	}
	err = d.save(true)
	if n == 0 && files == 0 {
		return nil, err
	}
	text := fmt.Sprintf("it has not received %d of the run's %d values", n, q.lines)
	if files > 0 {
		text += fmt.Sprintf(" and %d files", files)
	}
	for _, name := range []string{"run.yaml", "config.yaml"} { // of gorl train, and of gorl-pbt
		if _, failed := os.Stat(filepath.Join(d.owner, name)); failed == nil && q.synced {
			return fmt.Errorf("%s. To send them: gorl sync %s", text, process.QuoteWord(d.owner)), err
		}
	}
	if d.path != "" {
		text += ", which are in " + d.dir
	}
	return errors.New(text), err
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

// work opens the tracker, delivers the waiting scalars, and closes the tracker.
func (q *queue) work(t Tracker, run Run) {
	defer close(q.done)
	var sink tracking.Sink
	if !q.try(func() (err error) { sink, err = t.Open(q.ctx, run); return err }) {
		q.leave()
		return
	}
	u, ok := sink.(uploader)
	q.mu.Lock()
	q.uploads = ok && u.uploads()
	q.mu.Unlock()
	kept := true
	for {
		taken, more := q.take()
		err := attempt(func() error {
			for _, s := range taken {
				deliver(sink, s)
			}
			return nil
		})
		if len(taken) > 0 && !q.try(func() error { return errors.Join(err, sink.Flush()) }) {
			q.leave()
			kept = false
			break
		}
		if err := q.record(len(taken)); err != nil {
			q.report(err)
		}
		if !more {
			break
		}
	}
	err := attempt(func() error {
		if kept {
			if err := q.upload(sink); err != nil {
				q.report(err)
			}
		}
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

// record notes that the tracker has taken the last n values of take.
func (q *queue) record(n int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n == 0 || q.delivery == nil {
		return nil
	}
	q.delivery.add(q.from, q.from+int64(n))
	return q.delivery.save(false)
}

// upload gives the sink the artefacts that it has not kept.
func (q *queue) upload(sink tracking.Sink) error {
	q.mu.Lock()
	d := q.delivery
	q.mu.Unlock()
	if d == nil {
		return nil
	}
	files, err := d.upload(sink)
	q.mu.Lock()
	defer q.mu.Unlock()
	d.keep(files)
	return err
}

// leave drops the waiting scalars and all later ones.
func (q *queue) leave() {
	q.cancel() // Close does not wait for this tracker
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gone = true
	q.waiting = nil
}

// take waits for scalars to deliver. more is false after the last ones.
func (q *queue) take() (taken []tracking.Scalar, more bool) {
	for {
		q.mu.Lock()
		n := min(len(q.waiting), batch)
		if n == batch || n > 0 && (q.due || q.stopped) {
			taken = append([]tracking.Scalar(nil), q.waiting[:n]...)
			q.waiting = append(q.waiting[:0], q.waiting[n:]...)
			q.from, q.head = q.head, q.head+int64(n)
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

// try calls f until it succeeds. It returns false after an error that wraps ErrFinal, and after the run has ended.
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

// attempt calls f and returns a panic as an error.
func attempt(f func() error) (err error) {
	if p := panics.Catch(func() { err = f() }); p != nil {
		p.What = "it"
		return fmt.Errorf("%w (%w)", p, ErrFinal)
	}
	return err
}
