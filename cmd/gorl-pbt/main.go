// Command gorl-pbt runs populations of processes and looks after them: on this machine, under Slurm, on Kubernetes.
//
//	gorl-pbt help
//	gorl-pbt run -config population.yaml
//
// Every subcommand stands in a file of its own and says with --help what it does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/tracking"
)

// The exit statuses.
const (
	statusDone   = 0
	statusFailed = 1
	statusUsage  = 2
)

const statuses = `exit status:
  0   done
  1   something failed; the last line on the standard error says what
  2   wrong flags or arguments
  78  stopped by a signal; what was started can be continued
`

// command is one subcommand.
type command struct {
	// name is what it is called by, arguments what follows its flags, e.g. "DIR".
	name, arguments string
	// summary is one line, about and examples are for --help.
	summary, about, examples string
	// define declares flags and returns what runs the command once they are parsed.
	define func(flags *flag.FlagSet) func(i invocation) error
}

// invocation is one use of a subcommand.
type invocation struct {
	// ctx ends with the first Ctrl-C or SIGTERM; kill is closed by the second.
	ctx  context.Context
	kill <-chan struct{}
	// args are what is left beside flags.
	args           []string
	stdout, stderr io.Writer
}

// usageError is a wrong use, as told to people.
type usageError string

func (e usageError) Error() string { return string(e) }

var commands = map[string]command{}

// register is called by the init functions of the subcommands' files.
func register(c command) { commands[c.name] = c }

func main() {
	ctx, kill, stop := launch.Interrupts(context.Background())
	status := execute(invocation{ctx: ctx, kill: kill, args: os.Args[1:], stdout: os.Stdout, stderr: os.Stderr})
	stop()
	os.Exit(status)
}

// execute runs the subcommand that the first argument names and returns the exit status.
func execute(i invocation) int {
	if len(i.args) == 0 {
		help(i.stderr)
		return statusUsage
	}
	name := i.args[0]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(i.args) == 1 {
			help(i.stdout)
			return statusDone
		}
		name, i.args = i.args[1], []string{i.args[1], "--help"}
	}
	c, ok := commands[name]
	if !ok {
		fmt.Fprintf(i.stderr, "gorl-pbt: there is no subcommand %q: want one of %s\n", name, strings.Join(slices.Sorted(maps.Keys(commands)), ", "))
		return statusUsage
	}
	err := c.invoke(i)
	var usage usageError
	var signal *launch.SignalError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return statusDone
	case errors.As(err, &usage):
		fmt.Fprintf(i.stderr, "gorl-pbt %s: %s (see gorl-pbt %s --help)\n", name, usage, name)
		return statusUsage
	case errors.Is(err, launch.ErrStopped) || errors.As(err, &signal):
		fmt.Fprintf(i.stderr, "gorl-pbt: %v\n", err)
		return launch.StatusStopped
	}
	fmt.Fprintf(i.stderr, "gorl-pbt: %v\n", err)
	return statusFailed
}

// invoke parses flags, which may stand before and after arguments, and runs the command.
func (c command) invoke(i invocation) error {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	run := c.define(flags)
	rest, args := i.args[1:], []string(nil)
	for {
		if err := flags.Parse(rest); errors.Is(err, flag.ErrHelp) {
			c.help(flags, i.stdout)
			return err
		} else if err != nil {
			return usageError(err.Error())
		}
		parsed := rest[:len(rest)-flags.NArg()]
		rest = flags.Args()
		if len(parsed) > 0 && parsed[len(parsed)-1] == "--" {
			args = append(args, rest...)
			break
		}
		if len(rest) == 0 {
			break
		}
		args, rest = append(args, rest[0]), rest[1:]
	}
	i.args = args
	return run(i)
}

func (c command) help(flags *flag.FlagSet, w io.Writer) {
	fmt.Fprintf(w, "usage: gorl-pbt %s [flags]", c.name)
	if c.arguments != "" {
		fmt.Fprintf(w, " %s", c.arguments)
	}
	fmt.Fprintf(w, "\n\n%s\n\nflags:\n", strings.TrimSpace(c.about))
	flags.SetOutput(w)
	flags.PrintDefaults()
	fmt.Fprintf(w, "\nexamples:\n")
	for line := range strings.Lines(strings.TrimSpace(c.examples) + "\n") {
		fmt.Fprintf(w, "  %s", line)
	}
	fmt.Fprintf(w, "\n%s", statuses)
}

func help(w io.Writer) {
	fmt.Fprint(w, "usage: gorl-pbt SUBCOMMAND [flags] [arguments]\n\n")
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		rows = append(rows, []string{name, commands[name].summary})
	}
	if err := tracking.Table(w, []string{"subcommand", "what it does"}, rows); err != nil {
		fmt.Fprintln(w, err)
	}
	fmt.Fprintf(w, "\ngorl-pbt SUBCOMMAND --help says more.\n\n%s", statuses)
}

// noArguments refuses what a subcommand would otherwise silently ignore.
func (i invocation) noArguments() error {
	if len(i.args) > 0 {
		return usageError(fmt.Sprintf("what is %q? This subcommand takes flags only", i.args[0]))
	}
	return nil
}

// configFlag declares the flag of the population's file, which must be given.
func configFlag(flags *flag.FlagSet) func(i invocation) (*launch.File, error) {
	path := flags.String("config", "", "the population's YAML `file` (required)")
	return func(i invocation) (*launch.File, error) {
		if err := i.noArguments(); err != nil {
			return nil, err
		}
		if *path == "" {
			return nil, usageError("-config is missing: give the population's YAML file")
		}
		return launch.ReadFile(*path)
	}
}
