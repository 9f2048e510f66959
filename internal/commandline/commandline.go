// Package commandline is what gorl's commands share: exit statuses, wrong use told apart from failure, help with examples
// and the statuses, completion for shells.
//
// It stands on cobra. A command gives every subcommand a file of its own with a function that returns a *cobra.Command:
// its flags are declared there, RunE does the work with cmd.Context(), writes to cmd.OutOrStdout() and cmd.ErrOrStderr(),
// and returns an error, made by [Usagef] where the use was wrong.
package commandline

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit statuses of gorl's commands.
const (
	// Done: all went well.
	Done = 0
	// Failed: something failed; the last line on the standard error says what.
	Failed = 1
	// WrongUse: flags or arguments are wrong; nothing was done.
	WrongUse = 2
	// Stopped: a signal ended the work; what was begun is saved and can be continued. It is pbt/launch's StatusStopped.
	Stopped = 78
)

const statuses = `
Exit status:
  0   done
  1   something failed; the last line on the standard error says what
  2   wrong flags or arguments; nothing was done
  78  stopped by a signal; what was begun is saved and can be continued
`

// UsageError is a wrong use of flags or arguments.
type UsageError struct {
	reason error
}

// Usagef returns a *UsageError.
func Usagef(format string, a ...any) error { return &UsageError{fmt.Errorf(format, a...)} }

func (e *UsageError) Error() string { return e.reason.Error() }

// Unwrap returns what the use was wrong for.
func (e *UsageError) Unwrap() error { return e.reason }

// StoppedError is returned by a subcommand that a signal has ended.
type StoppedError struct {
	// Err says what was stopped, and how to go on.
	Err error
}

func (e *StoppedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *StoppedError) Unwrap() error { return e.Err }

// Execute runs root with args and returns the exit status. What went wrong is written to stderr.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	prepare(root)
	began := false
	watch(root, &began)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ran, err := root.ExecuteContextC(ctx)
	var usage *UsageError
	var stopped *StoppedError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &usage) || !began: // cobra refuses what it does not know before anything runs
		fmt.Fprintf(stderr, "%s: %v (see %s --help)\n", ran.CommandPath(), err, ran.CommandPath())
		return WrongUse
	case errors.As(err, &stopped):
		fmt.Fprintf(stderr, "%s: %v\n", root.Name(), err)
		return Stopped
	}
	fmt.Fprintf(stderr, "%s: %v\n", root.Name(), err)
	return Failed
}

// prepare leaves errors to Execute, and has every help end with the statuses.
func prepare(root *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetHelpTemplate(root.HelpTemplate() + statuses)
}

// watch notes whether a command's own work has begun.
func watch(c *cobra.Command, began *bool) {
	if run := c.RunE; run != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			*began = true
			return run(cmd, args)
		}
	}
	for _, sub := range c.Commands() {
		watch(sub, began)
	}
}
