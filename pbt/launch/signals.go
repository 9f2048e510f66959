package launch

// This file turns signals at a launcher into what Run understands: a context that ends, so that members save, and a
// channel that closes, so that they are killed. Signals at a member are handled in member.go.

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// SignalError is the cause of a context that a signal ended.
type SignalError struct {
	// Signal is the first one that came.
	Signal os.Signal
}

// Error names the signal.
func (e *SignalError) Error() string { return "signal: " + e.Signal.String() }

// together is the time within which several signals are one: a terminal, a shell and programs like timeout may each
// hand on the same one.
const together = time.Second

// Interrupts returns a context that the first SIGINT, SIGTERM or SIGHUP ends, with a *SignalError as its cause, and a
// channel that the second one closes, for [Options].Kill; a third one ends the process. Signals within a second of the
// first are taken for the same, and SIGHUP counts unless it is ignored, as under nohup. stop ends the watch; it may be
// called twice.
func Interrupts(parent context.Context) (ctx context.Context, kill <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	again, ended := make(chan struct{}), make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it, so that the run survives the end of the terminal
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		watch(signals, ended, time.Now, cancel, func() {
			// The default action returns, so that a third signal ends the process.
			signal.Stop(signals)
			close(again)
		})
	}()
	var once sync.Once
	return ctx, again, func() {
		once.Do(func() {
			signal.Stop(signals)
			close(ended)
			cancel(context.Canceled)
		})
	}
}

// watch calls first at the first signal and second at the next one that comes later than together after it, and
// returns then. It also returns when ended is closed. now is the clock, which tests replace.
func watch(signals <-chan os.Signal, ended <-chan struct{}, now func() time.Time, first context.CancelCauseFunc,
	second func()) {
	var since time.Time
	for {
		select {
		case s := <-signals:
			switch at := now(); {
			case since.IsZero():
				since = at
				first(&SignalError{s})
			case at.Sub(since) >= together:
				second()
				return
			}
		case <-ended:
			return
		}
	}
}
