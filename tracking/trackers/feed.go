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

// waits are the times for which a feed waits.
type waits struct {
	first, last time.Duration // the first and the longest pause between attempts; each pause is twice the one before
	closing     time.Duration // for the last values, at the end of a run
	leaving     time.Duration // for a tracker to return after its context is done
}

var defaultWaits = waits{first: time.Second, last: 5 * time.Minute, closing: 30 * time.Second, leaving: time.Second}

// Sinks are the trackers of a run. It is a [tracking.Sink] that stores nothing: the trackers read the values from
// [tracking.ScalarsFile] in the run's folder. Its methods return no error. Only Close waits for trackers.
type Sinks struct {
	feeds []*feed
	waits
}

// Start opens trackers for a run, each in its own goroutine, and returns at once. The run's folder has been opened by
// tracking.OpenRun. Flush and Close the run's files before the Sinks: tracking.Multi(run, sinks) does so. The
// goroutines call warn at the first failure of a tracker, and at the end with the number of values that it has not
// received. Calls of warn never overlap.
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
	s := &Sinks{waits: p}
	for _, t := range trackers {
		f := &feed{name: t.Name, warn: serial, waits: p, wake: make(chan struct{}, 1), done: make(chan struct{})}
		f.ctx, f.cancel = context.WithCancel(context.Background())
		f.running, f.stop = context.WithCancel(f.ctx)
		s.feeds = append(s.feeds, f)
		var err error
		if f.delivery, err = openDelivery(t, run); err != nil {
			f.report(fmt.Errorf("reading what it has taken: %w", err))
			close(f.done)
			continue
		}
		f.delivery.End = ""
		go f.work(t, run)
	}
	return s
}

// Scalar implements [tracking.Sink]. It does nothing: the run's file has the value.
func (s *Sinks) Scalar(string, int64, float64) {}

// Flush starts the delivery of all values in the run's file and returns at once.
func (s *Sinks) Flush() error {
	for _, f := range s.feeds {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// Finish sets how the run ended, see [Finisher]. Close passes it on. Without Finish the run has completed.
func (s *Sinks) Finish(err error) {
	for _, f := range s.feeds {
		f.mu.Lock()
		f.ended = err
		f.mu.Unlock()
	}
}

// Close delivers the last values and closes the trackers. It waits up to 30 seconds, but only for one more attempt of a
// tracker that has failed. It may be called twice.
func (s *Sinks) Close() error {
	for _, f := range s.feeds {
		f.stop()
	}
	deadline, cancel := context.WithTimeout(context.Background(), s.closing) // one for all
	defer cancel()
	for _, f := range s.feeds {
		f.wait(deadline.Done())
	}
	return nil
}

// feed reads a run's values and gives them to a tracker.
type feed struct {
	name string
	warn func(error)
	waits
	ctx      context.Context // done when the run no longer waits for the tracker
	cancel   context.CancelFunc
	running  context.Context // done when no more values come
	stop     context.CancelFunc
	wake     chan struct{} // holds an element if the file has more values
	done     chan struct{} // closed when the goroutine has ended
	delivery *delivery     // nil if it cannot be read

	mu     sync.Mutex
	warned bool
	ended  error // how the run ended
}

// wait returns when the goroutine has ended, or soon after the deadline. It warns of what the tracker has not taken.
func (f *feed) wait(deadline <-chan struct{}) {
	select {
	case <-f.done:
	case <-deadline:
		f.report(errors.New("it has not taken the last values in time"))
		f.cancel()
		select {
		case <-f.done:
		case <-time.After(f.leaving): // its code ignores the context
		}
	}
	f.cancel()
	if f.delivery == nil {
		return
	}
	missing, err := f.delivery.close(f.end())
	if err != nil {
		f.report(err)
	}
	if missing != nil {
		f.warn(fmt.Errorf("tracker %s: %w", f.name, missing))
	}
}

func (f *feed) end() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

// report warns of a failure, once.
func (f *feed) report(err error) {
	f.mu.Lock()
	first := !f.warned
	f.warned = true
	f.mu.Unlock()
	if first {
		f.warn(fmt.Errorf("tracker %s: %w. Training goes on; the run's folder has all values", f.name, err))
	}
}

// work opens the tracker, delivers values until the run ends, and closes the tracker.
func (f *feed) work(t Tracker, run Run) {
	defer close(f.done)
	var sink tracking.Sink
	if f.try(func() (err error) { sink, err = t.Open(f.ctx, run); return err }) != nil {
		return
	}
	err := f.follow(sink)
	if err == nil {
		_, err = f.delivery.upload(sink)
	} else {
		f.cancel() // Close does not wait for this tracker
	}
	for _, err := range []error{err, finish(sink, f.end)} {
		if err != nil {
			f.report(err)
		}
	}
}

// follow delivers values until the run has ended.
func (f *feed) follow(sink tracking.Sink) error {
	for {
		ended := f.running.Err() != nil
		if _, err := f.delivery.pass(sink, f.try, f.report); err != nil || ended {
			return err
		}
		select {
		case <-f.wake:
		case <-f.running.Done():
		}
	}
}

// try calls g until it succeeds. It returns an error that wraps ErrFinal, and any error after the run has ended.
func (f *feed) try(g func() error) error {
	for pause := f.first; ; pause = min(2*pause, f.last) {
		last := f.running.Err() != nil
		err := attempt(g)
		if err == nil {
			return nil
		}
		f.report(err)
		if last || errors.Is(err, ErrFinal) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-f.running.Done():
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

// finish passes on how the run ended, and closes a sink.
func finish(sink tracking.Sink, ended func() error) error {
	return attempt(func() error {
		if f, ok := sink.(Finisher); ok {
			f.Finish(ended())
		}
		return sink.Close()
	})
}
