package tracking

import (
	"errors"
	"time"
)

// ErrClosed is returned by Flush and Close of a [Sink] that was given scalars after it was closed.
var ErrClosed = errors.New("tracking: scalar written after Close; close the sink after the last one")

// Sink stores scalars. Its methods may be called from several goroutines at once.
type Sink interface {
	// Scalar stores one value of one tag at one step. Values are buffered; the first failure is kept, later scalars
	// are dropped, and Flush and Close return that failure. NaN and infinities are stored as such.
	Scalar(tag string, step int64, value float64)
	// Flush hands everything buffered to the operating system, so that other processes see it.
	Flush() error
	// Close flushes, syncs and releases the file. It may be called twice.
	Close() error
}

// Syncer is a [Sink] of files. The sinks of this package that make files implement it.
type Syncer interface {
	// Sync writes everything buffered to stable storage, so that it survives a power cut. It takes milliseconds. Call
	// it before storing something that relies on these scalars, such as a checkpoint.
	Sync() error
}

// Scalar is one stored value.
type Scalar struct {
	// Time is the wall-clock time of writing, the zero time where the format has none (CSV).
	Time time.Time
	// Step is the timestep of the trainer at which the value was written.
	Step int64
	// Tag names the quantity, e.g. "Loss / Policy loss".
	Tag string
	// Value is the quantity.
	Value float64
}

// Options are common to the sinks that make files.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// ResumeStep is the step that a resumed run continues from. What an interrupted run stored beyond it is removed
	// (JSON lines, CSV) or declared obsolete (TensorBoard). 0 appends to whatever is there, unless Restart is set.
	ResumeStep int64
	// Restart removes what is stored beyond ResumeStep even if ResumeStep is 0. Set it if a run starts again in the
	// folder of a run that failed before its first checkpoint. Default false.
	Restart bool
}

// cuts reports whether values stored beyond ResumeStep are removed.
func (o Options) cuts() bool { return o.ResumeStep > 0 || o.Restart }

func (o Options) now() func() time.Time {
	if o.Now == nil {
		return time.Now
	}
	return o.Now
}

// Multi returns a Sink that passes everything to each of the given sinks. Flush, Close and Sync ([Syncer]) reach all
// of them even if one fails, and join their errors. Nil sinks are left out. Without sinks, scalars are discarded.
func Multi(sinks ...Sink) Sink {
	m := make(multi, 0, len(sinks))
	for _, s := range sinks {
		if s != nil {
			m = append(m, s)
		}
	}
	return m
}

type multi []Sink

func (m multi) Scalar(tag string, step int64, value float64) {
	for _, s := range m {
		s.Scalar(tag, step, value)
	}
}

func (m multi) Flush() error { return m.each(Sink.Flush) }

func (m multi) Close() error { return m.each(Sink.Close) }

func (m multi) Sync() error { return m.each(syncSink) }

// syncSink syncs a sink of files, and flushes any other.
func syncSink(s Sink) error {
	if syncer, ok := s.(Syncer); ok {
		return syncer.Sync()
	}
	return s.Flush()
}

// each calls f for every sink, also after an error, and joins the errors.
func (m multi) each(f func(Sink) error) error {
	var errs []error
	for _, s := range m {
		errs = append(errs, f(s))
	}
	return errors.Join(errs...)
}
