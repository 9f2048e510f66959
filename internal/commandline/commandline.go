// Package commandline is what gorl's commands share: exit statuses, errors of wrong use, help with examples, and
// completion for shells.
//
// It builds on cobra. Every subcommand has a file with a function that returns a *cobra.Command. The function declares
// the flags. RunE does the work with cmd.Context() and writes to cmd.OutOrStdout() and cmd.ErrOrStderr(). It returns an
// error of [Usagef] if flags or arguments are wrong, and a *[StoppedError] if a signal ended the work.
package commandline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gorl-dev/gorl/internal/config"
)

// The exit statuses of gorl's commands.
const (
	// Done: all went well.
	Done = 0
	// Failed: something failed; the last line on the standard error says what.
	Failed = 1
	// WrongUse: flags or arguments are wrong; nothing was done.
	WrongUse = 2
	// Stopped: a signal ended the work, which is saved and can be continued. The number is pbt/launch's StatusStopped.
	Stopped = 78
)

// UsageError is a wrong use of flags or arguments.
type UsageError struct {
	reason error
}

// Usagef returns a *UsageError.
func Usagef(format string, a ...any) error { return &UsageError{fmt.Errorf(format, a...)} }

func (e *UsageError) Error() string { return e.reason.Error() }

// Unwrap returns the reason.
func (e *UsageError) Unwrap() error { return e.reason }

// StoppedError is the error of a subcommand that a signal has ended.
type StoppedError struct {
	// Err says what was stopped, and how to go on.
	Err error
}

func (e *StoppedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *StoppedError) Unwrap() error { return e.Err }

// StatusError ends a subcommand with a status and prints nothing: the subcommand has printed everything.
type StatusError struct{ Status int }

func (e *StatusError) Error() string { return fmt.Sprintf("status %d", e.Status) }

// Execute runs root with args, without the program's name, and returns the exit status. It writes errors to stderr. The
// status is Stopped for a [StoppedError], and for an error that wraps the cause of ctx's end. Execute a root only once.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SetOut(stdout)
	root.SetErr(stderr)
	Prepare(root)
	began := false
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	root.SetArgs(append([]string{}, args...)) // cobra replaces nil by the arguments of the process
	ran, err := root, misnamed(root, args)
	if err == nil {
		ran, err = root.ExecuteContextC(ctx)
	}
	if err == nil {
		return Done
	}
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Status
	}
	_, usage := errors.AsType[*UsageError](err)
	switch {
	case errors.Is(err, errNothing):
		_ = writeHelp(stderr, root)
		return WrongUse
	case usage || !began: // cobra refuses unknown flags before anything runs
		fmt.Fprintf(stderr, "%s: %v (see %s --help)\n", ran.CommandPath(), err, ran.CommandPath())
		return WrongUse
	}
	fmt.Fprintf(stderr, "%s: %v\n", root.Name(), err)
	switch {
	case stopped(ctx, err):
		return Stopped
	case missing(ran, err):
		return WrongUse
	}
	return Failed
}

// missing reports whether an error says that an argument names no file.
func missing(c *cobra.Command, err error) bool {
	file, ok := errors.AsType[*fs.PathError](err)
	return ok && errors.Is(file, fs.ErrNotExist) && slices.Contains(c.Flags().Args(), file.Path)
}

// stopped reports whether a signal has ended the work.
func stopped(ctx context.Context, err error) bool {
	_, saved := errors.AsType[*StoppedError](err)
	return saved || ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx)))
}

// errNothing is the error of a call without a subcommand.
var errNothing = errors.New("no subcommand")

// Prepare adds what all of gorl's commands have: the subcommands help and completion, the form of help, and suggestions
// for misspelt words. [Execute] calls it. Tests and documentation that read a tree of commands call it themselves.
func Prepare(root *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SuggestionsMinimumDistance = 2
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { _ = writeHelp(c.OutOrStdout(), c) })
	root.SetFlagErrorFunc(wrongFlag)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	version := root
	for _, c := range root.Commands() {
		switch c.Name() {
		case "version":
			version = c
		case "help": // cobra's own prints all help for a subcommand that does not exist
			c.Use, c.Short, c.Long = "help [SUBCOMMAND]", "describe a subcommand", "Describes a subcommand."
			c.Args = func(_ *cobra.Command, args []string) error { return misnamed(root, args) }
		case "completion":
			c.Short, c.Args = "print a script that has a shell complete this command", cobra.ArbitraryArgs
			c.RunE = func(*cobra.Command, []string) error { return Usagef("want bash, fish, powershell or zsh") }
		}
	}
	if root.RunE == nil {
		root.Args = known
		root.RunE = func(c *cobra.Command, _ []string) error {
			if asked, _ := c.Flags().GetBool("version"); asked {
				return version.RunE(c, nil)
			}
			return errNothing
		}
		if version != root {
			root.Flags().Bool("version", false, version.Short)
		}
	}
}

// misnamed refuses a first word that is no subcommand. cobra itself would complain of the flags behind it first.
func misnamed(root *cobra.Command, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil
	}
	if c, _, err := root.Find(args); err != nil || c == root {
		return known(root, args)
	}
	return nil
}

// known refuses a word that is no subcommand.
func known(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		return Usagef("there is no subcommand %q; did you mean %s?", args[0], strings.Join(near, " or "))
	}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	return Usagef("there is no subcommand %q: want one of %s", args[0], strings.Join(names, ", "))
}

// kinds describes the types of flags for people, instead of Go's own errors.
var kinds = map[string]string{
	"int": "a whole number", "int64": "a whole number", "float64": "a number", "bool": "true or false",
	"duration": `a time such as "90s" or "1h30m"`,
}

// wrongFlag returns an error that suggests a flag, or says what its value must be.
func wrongFlag(c *cobra.Command, err error) error {
	if usage, ok := errors.AsType[*UsageError](err); ok {
		return usage
	}
	if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if want := kinds[value.GetFlag().Value.Type()]; want != "" {
			return Usagef("--%s is %q: want %s", value.GetFlag().Name, value.GetValue(), want)
		}
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		// -config is a group of short flags, of which c is none
		name := cmp.Or(strings.TrimLeft(unknown.GetSpecifiedShortnames(), "-"), unknown.GetSpecifiedName())
		name, _, _ = strings.Cut(name, "=")
		if near := config.Nearest(name, names); near != "" {
			return Usagef("%w; did you mean --%s?", err, near)
		}
	}
	return &UsageError{err}
}
