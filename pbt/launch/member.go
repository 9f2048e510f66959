package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/gorl-dev/gorl/pbt"
)

// Member runs a member process: it reads the environment that a launcher sets, runs train, and returns the exit status
// that tells the launcher what to do next.
//
// SIGINT and SIGTERM end the context, and so does SIGUSR1, which under Slurm also puts the job back into its queue once
// train has returned; context.Cause is then a *SignalError. train is to save and return the context's error, or an
// error that wraps pbt.ErrYield or pbt.ErrRestart; nil says that the policy is trained to its end. Other errors are
// written to the standard error. In a pod of Kubernetes, which would wait before it starts another, a restart is done
// on the spot.
func Member(train func(ctx context.Context, p Process) error) (status int) {
	p, ok, err := FromEnvironment()
	if err == nil && !ok {
		err = fmt.Errorf("launch: %s is not set: a member is started by a launcher", EnvPolicy)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return statusUsage
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, append([]os.Signal{os.Interrupt, syscall.SIGTERM}, requeueSignals...)...)
	status = member(signals, os.Stderr, os.Getenv, func(ctx context.Context) error { return train(ctx, p) })
	if status == StatusRestart && os.Getenv(envCompletionIndex) != "" {
		fmt.Fprintln(os.Stderr, replaceProcess()) // returns only what went wrong
	}
	return status
}

// maxInterrupts is the number of Ctrl-C after which a member no longer waits for its state to be saved.
const maxInterrupts = 3

// member runs train under signals and says how it ended.
func member(signals <-chan os.Signal, stderr io.Writer, getenv func(string) string, train func(context.Context) error) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- train(ctx) }()
	requeue, interrupts := false, 0
	for {
		select {
		case s := <-signals:
			if s == os.Interrupt {
				if interrupts++; interrupts == maxInterrupts {
					fmt.Fprintln(stderr, "launch: interrupted again; not waiting for the state to be saved")
					return 130
				}
			}
			for _, r := range requeueSignals {
				requeue = requeue || s == r
			}
			cancel(&SignalError{s})
		case err := <-done:
			status := statusOf(ctx, err)
			if err != nil {
				fmt.Fprintf(stderr, "%v\n", err)
			}
			if status == StatusStopped && requeue && getenv("SLURM_JOB_ID") != "" {
				if err := requeueJob(getenv); err != nil {
					fmt.Fprintln(stderr, err)
				}
			}
			return status
		}
	}
}

// statusOf is the exit status that says what train's error says.
func statusOf(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return StatusFinished
	case errors.Is(err, pbt.ErrYield):
		return StatusYielded
	case errors.Is(err, pbt.ErrRestart):
		return StatusRestart
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		return StatusStopped
	}
	return 1
}
