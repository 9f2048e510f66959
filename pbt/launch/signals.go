package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
)

// SignalError is the cause of a context that a signal ended.
type SignalError struct {
	Signal os.Signal
}

// Error names the signal.
func (e *SignalError) Error() string { return "signal: " + e.Signal.String() }

// Interrupts returns a context that the first SIGINT or SIGTERM ends, with a *SignalError as its cause, and a channel
// that the second one closes, for [Options].Kill; a third one ends the process. stop ends the watch; it may be called
// twice.
func Interrupts(parent context.Context) (ctx context.Context, kill <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	again := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case s := <-signals:
				cancel(&SignalError{s})
				if n == 1 {
					signal.Stop(signals)
					close(again)
					return
				}
			case <-ended:
				return
			}
		}
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

// requeueJob asks Slurm to run this job again later.
func requeueJob(getenv func(string) string) error {
	id := getenv("SLURM_JOB_ID")
	if array, task := getenv("SLURM_ARRAY_JOB_ID"), getenv("SLURM_ARRAY_TASK_ID"); array != "" && task != "" {
		id = array + "_" + task
	}
	if out, err := exec.Command("scontrol", "requeue", id).CombinedOutput(); err != nil {
		return fmt.Errorf("launch: scontrol requeue %s: %w: %s", id, err, strings.TrimSpace(string(out)))
	}
	return nil
}
