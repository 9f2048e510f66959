package tracking

import (
	"errors"
	"time"
)

// ErrClosed is returned by Flush and Close of a [Sink] that got scalars after Close.
var ErrClosed = errors.New("tracking: scalar written after Close; close the sink after the last one")

// Sink stores scalars. Several goroutines may call its methods.
type Sink interface {
	// Scalar stores one value of a tag at a step. It buffers values. After a failure it drops later scalars, and Flush
	// and Close return the failure. NaN and infinities are stored as such.
	Scalar(tag string, step int64, value float64)
	// Flush passes all buffered values to the operating system, so that other processes see them.
	Flush() error
	// Close flushes, syncs and releases the file. It may be called twice.
	Close() error
}

// syncer is a [Sink] of files. The sinks of this package that write files implement it.
type syncer interface {
	Sync() error // see [Run.Sync]
}

// Scalar is one stored value.
type Scalar struct {
	// Time is the wall-clock time of writing.
	Time time.Time
	// Step is the timestep of the trainer at which the value was written.
	//
	// In an event file it is the number of environment steps if gorl has counted them.
	Step int64
	// Tag names the quantity, e.g. "Loss / Policy loss".
	Tag string
	// Value is the quantity.
	Value float64
	// EnvSteps is the number of environment steps at which the value was written, of all environments and ranks. It is
	// 0 if the file has none, such as an event file or JSON lines of an earlier gorl.
	EnvSteps int64
}

// Options are common to the sinks that write files.
type Options struct {
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// ResumeStep is the step at which a resumed run continues. Values beyond it, which the interrupted run stored, are
	// removed (JSON lines) or declared obsolete (TensorBoard). 0 keeps all values, unless Restart is set.
	ResumeStep int64
	// Restart removes values beyond ResumeStep even if ResumeStep is 0. Set it if a run starts again in the folder of a
	// run that failed before its first checkpoint. Default false.
	Restart bool
	// StepsPerTimestep is the number of environment steps in a timestep: the number of environments of all ranks. JSON
	// lines then have both counts, and the steps of TensorBoard are environment steps. 0 leaves them unknown, and
	// TensorBoard gets timesteps.
	StepsPerTimestep int64
	// Config is the configuration that TensorBoard shows as a table and in its tab HPARAMS: mappings, lists, texts,
	// numbers. Nil shows none.
	Config map[string]any
}

// cuts reports whether values stored beyond ResumeStep are removed.
func (o Options) cuts() bool { return o.ResumeStep > 0 || o.Restart }

// boardStep returns the step of TensorBoard's event at a timestep.
func (o Options) boardStep(step int64) int64 { return step * max(o.StepsPerTimestep, 1) }

func (o Options) now() func() time.Time {
	if o.Now == nil {
		return time.Now
	}
	return o.Now
}

// Multi returns a Sink that passes scalars to all given sinks. Flush, Close and Sync reach all of them, also
// if one fails, and join their errors. Nil sinks are ignored. Without sinks, scalars are discarded.
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
	if file, ok := s.(syncer); ok {
		return file.Sync()
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
