package trackers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tracking"
)

// eager has no pauses between attempts, and no limit at the end.
var eager = waits{closing: time.Hour, leaving: time.Hour}

// warnings collects warnings.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) warn(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, err.Error())
}

// are fails the test unless these are the warnings. The texts of one are separated by " ... ".
func (w *warnings) are(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	must.Equal(t, fmt.Sprintf("warnings in %q", w.texts), len(want), len(w.texts))
	for i, text := range w.texts {
		for part := range strings.SplitSeq(want[i], " ... ") {
			must.Not(t, !strings.Contains(text, part), "the warning %q does not say %q", text, part)
		}
	}
}

// noGoroutines fails the test if goroutines of this package remain at its end.
func noGoroutines(t *testing.T) {
	t.Cleanup(func() {
		buf, until := make([]byte, 1<<20), time.Now().Add(time.Minute)
		for {
			stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
			stacks = slices.DeleteFunc(stacks, func(s string) bool {
				return strings.Contains(s, "testing.tRunner") || !strings.Contains(s, "trackers.") &&
					!strings.Contains(s, "net/http") && !strings.Contains(s, "os/exec")
			})
			if len(stacks) == 0 {
				return
			}
			must.Not(t, time.Now().After(until), "goroutines are left:\n%s", strings.Join(stacks, "\n\n"))
			runtime.Gosched() // one that has done its work takes a moment to end
		}
	})
}

// sink is a tracker's sink that fails as its function flush says.
type sink struct {
	scalars []tracking.Scalar
	flush   func() error
	ended   chan error
}

func (s *sink) Scalar(tag string, step int64, value float64) {
	s.scalars = append(s.scalars, tracking.Scalar{Step: step, Tag: tag, Value: value})
}

func (s *sink) Close() error { return nil }

func (s *sink) Flush() error {
	if s.flush == nil {
		return nil
	}
	return s.flush()
}

func (s *sink) Finish(err error) { s.ended <- err }

// begin opens the files of a run and its tracker. What it returns first is what a trainer writes to.
func begin(t *testing.T, mine Tracker, run Run, w *warnings, p waits) (tracking.Sink, *Sinks) {
	t.Helper()
	if run.Dir == "" {
		run.Dir = t.TempDir()
	}
	files := must.Get(tracking.OpenRun(run.Dir, tracking.Options{}))(t)
	s := start([]Tracker{mine}, run, w.warn, p)
	return tracking.Multi(files, s), s
}

func tracker(s tracking.Sink, open func(ctx context.Context) error) Tracker {
	return Tracker{Name: "mine", Open: func(ctx context.Context, _ Run) (tracking.Sink, error) {
		if open == nil {
			return s, nil
		}
		return s, open(ctx)
	}}
}

func steps(scalars []tracking.Scalar) (list []int64) {
	for _, s := range scalars {
		list = append(list, s.Step)
	}
	return list
}

func upTo(n int64) (list []int64) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// Values reach the sink in order, also of a tracker that fails for a while, and the sink gets the end of the run. There
// is one warning.
func TestSinksTryAgain(t *testing.T) {
	noGoroutines(t)
	for _, failures := range []int{0, 2} {
		var w warnings
		opened, flushed, taken := 0, 0, make(chan struct{})
		mine := &sink{ended: make(chan error, 1)}
		mine.flush = func() error {
			if flushed++; flushed <= failures {
				return errors.New("the server answers 500")
			}
			if flushed == failures+1 {
				close(taken)
			}
			return nil
		}
		late := func(context.Context) error {
			if opened++; opened <= failures {
				return errors.New("connection refused")
			}
			return nil
		}
		s, sinks := begin(t, tracker(mine, late), Run{}, &w, eager)
		for i := range int64(2500) {
			s.Scalar("a", i, float64(i)/3)
			if i%10 == 0 {
				must.Do(t, s.Flush())
			}
		}
		_ = s.Flush()
		<-taken // a run that ends before gives it only one more attempt
		sinks.Finish(context.Canceled)
		for range 2 {
			must.Do(t, s.Close())
		}
		must.Equal(t, "the end", context.Canceled, <-mine.ended, cmpopts.EquateErrors())
		must.Equal(t, "steps", upTo(2500), steps(mine.scalars))
		w.are(t, []string{"tracker mine ... connection refused ... Training goes on"}[:min(failures, 1)]...)
	}
}

// After a final error or a panic there is no second attempt.
func TestSinksGiveUp(t *testing.T) {
	noGoroutines(t)
	for i, fail := range []func() error{
		func() error { return fmt.Errorf("wrong password (%w)", ErrFinal) },
		func() error { panic("wrong password") },
	} {
		for _, inOpen := range []bool{true, false} {
			var w warnings
			attempts := 0
			failing := func() error { attempts++; return fail() }
			open, mine := func(context.Context) error { return failing() }, &sink{ended: make(chan error, 1)}
			if !inOpen {
				open, mine.flush = nil, failing
			}
			s, sinks := begin(t, tracker(mine, open), Run{}, &w, eager)
			s.Scalar("a", 1, 1)
			_ = s.Flush()
			<-sinks.feeds[0].done
			s.Scalar("a", 2, 1)
			_ = s.Close()
			must.Equal(t, fmt.Sprint("attempts of failure ", i), 1, attempts)
			w.are(t, "wrong password", "not received 2 of the run's 2 values")
		}
	}
}

// A tracker that hangs does not block, and Close does not wait for it.
func TestSinksDoNotWait(t *testing.T) {
	noGoroutines(t)
	var w warnings
	hangs := make(chan struct{})
	s, _ := begin(t, tracker(nil, func(ctx context.Context) error {
		close(hangs)
		<-ctx.Done()
		return ctx.Err()
	}), Run{}, &w, waits{leaving: time.Hour})
	<-hangs
	for i := range int64(3) {
		s.Scalar("a", i, 1)
		_ = s.Flush()
	}
	_ = s.Close()
	w.are(t, "in time", "not received 3 of the run's 3 values")
}

// A record that cannot be saved does not end a tracker: it gets all later values.
func TestSinksWithoutRecord(t *testing.T) {
	noGoroutines(t)
	var w warnings
	run := Run{Dir: t.TempDir()}
	must.Do(t, os.MkdirAll(filepath.Join(run.Dir, "sent-mine.json", "in the way"), 0o700))
	mine := &sink{ended: make(chan error, 1)}
	first := make(chan struct{}, 9)
	mine.flush = func() error { first <- struct{}{}; return nil }
	s, _ := begin(t, tracker(mine, nil), run, &w, eager)
	for i := range int64(2) {
		s.Scalar("a", i, 1)
		must.Do(t, s.Flush())
		<-first
	}
	must.Do(t, s.Close())
	must.Equal(t, "steps", upTo(2), steps(mine.scalars))
	w.are(t, "sent-mine.json")
}

// Without the run's file there is nothing to send, which is said at once.
func TestSinksNeedTheFile(t *testing.T) {
	var w warnings
	_ = start([]Tracker{tracker(nil, nil)}, Run{Dir: t.TempDir()}, w.warn, eager).Close()
	w.are(t, "scalars.jsonl: no such file")
}
