package commandline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/test/commandtest"
)

// interrupted is a signal as pbt/launch tells of it.
type interrupted struct{}

func (interrupted) Error() string { return "signal: interrupt" }

// tree is a command with subcommands that fail in every way.
func tree() *cobra.Command {
	root := &cobra.Command{Use: "tool", Short: "works", Long: "Works."}
	add := func(name, arguments string, args cobra.PositionalArgs,
		run func(c *cobra.Command, args []string) error) *cobra.Command {
		c := &cobra.Command{
			Use: strings.TrimSpace(name + " " + arguments), Short: "work on " + name, Long: "Works on " + name + ".",
			Example: "tool " + name + strings.ReplaceAll(" "+arguments, " FILE", " a.png"), Args: args, RunE: run,
		}
		root.AddCommand(c)
		return c
	}
	fine := func(c *cobra.Command, args []string) error {
		_, err := fmt.Fprintln(c.OutOrStdout(), "worked on", args)
		return err
	}
	draw := add("draw", "FILE", commandline.Arguments(1, 1, "a picture"), fine)
	draw.Flags().BoolP("quiet", "q", false, "say nothing")
	draw.Flags().Int("columns", 3, "`number` of columns")
	steps := int64(7)
	commandline.CountVar(draw.Flags(), &steps, "steps", "`number` of steps")
	commandline.Choice(draw, "format", "wide", "`form` of it", "wide", "tall")
	commandline.Choice(draw, "x", "step", "what it is `over`", "step", "time")
	draw.Flags().String("config", "", "`file` of settings")
	commandline.Once(draw, "config")
	commandline.AtLeast(draw, 1, "columns", "steps")
	add("nothing", "", commandline.NoArguments, fine)
	add("misuse", "", commandline.NoArguments, func(*cobra.Command, []string) error {
		return fmt.Errorf("after a look: %w", commandline.Usagef("--a and --b exclude each other: %w", os.ErrInvalid))
	})
	add("fail", "", commandline.NoArguments, func(*cobra.Command, []string) error { return errors.New("out of luck") })
	add("open", "FILE", nil, func(_ *cobra.Command, args []string) error {
		_, err := os.Open(args[0])
		return fmt.Errorf("looking: %w", err)
	})
	add("stop", "", commandline.NoArguments, func(*cobra.Command, []string) error {
		return &commandline.StoppedError{Err: fmt.Errorf("stopped: %w", os.ErrClosed)}
	})
	add("wait", "", commandline.NoArguments, func(c *cobra.Command, _ []string) error {
		return fmt.Errorf("waiting: %w", context.Cause(c.Context()))
	})
	add("cancel", "", commandline.NoArguments, func(c *cobra.Command, _ []string) error {
		return fmt.Errorf("waiting: %w", c.Context().Err())
	})
	return root
}

func TestStatuses(t *testing.T) {
	ended, end := context.WithCancelCause(t.Context())
	end(interrupted{})
	for _, c := range []struct {
		args           string
		status         int
		stdout, stderr string
	}{
		{"draw a.png", commandline.Done, "worked on [a.png]\n", ""},
		{"draw -- -a.png", commandline.Done, "worked on [-a.png]\n", ""},
		{"daw", commandline.WrongUse, "",
			"tool: there is no subcommand \"daw\"; did you mean draw? (see tool --help)\n"},
		{"gibberish", commandline.WrongUse, "",
			"tool: there is no subcommand \"gibberish\": want one of cancel, completion, draw, fail, "},
		{"draw", commandline.WrongUse, "", "tool draw: 0 arguments: want a picture (see tool draw --help)\n"},
		{"nothing at-all", commandline.WrongUse, "",
			"tool nothing: what is \"at-all\"? This subcommand takes flags only (see tool nothing --help)\n"},
		{"draw --colums 4 a.png", commandline.WrongUse, "",
			"tool draw: unknown flag: --colums; did you mean --columns? (see tool draw --help)\n"},
		{"draw -columns 4 a.png", commandline.WrongUse, "",
			"tool draw: unknown shorthand flag: 'c' in -columns; did you mean --columns? (see tool draw --help)\n"},
		{"draw --columns x a.png", commandline.WrongUse, "",
			"tool draw: --columns is \"x\": want a whole number (see tool draw --help)\n"},
		{"draw --format round a.png", commandline.WrongUse, "",
			"tool draw: invalid argument \"round\" for \"--format\" flag: want wide or tall (see tool draw --help)\n"},
		{"draw --steps 2e3 a.png", commandline.Done, "worked on [a.png]\n", ""},
		{"draw --steps 0 a.png", commandline.WrongUse, "", "tool draw: --steps is 0; want 1 or more (see tool draw"},
		{"draw --config a.yaml --config b.yaml a.png", commandline.WrongUse, "", "tool draw: invalid argument " +
			"\"b.yaml\" for \"--config\" flag: it is given twice, first as \"a.yaml\"; give it once (see"},
		{"open nowhere", commandline.WrongUse, "", "tool: looking: open nowhere: no such file or directory\n"},
		{"--colour draw a.png", commandline.WrongUse, "", "unknown flag: --colour"},
		{"misuse", commandline.WrongUse, "",
			"tool misuse: after a look: --a and --b exclude each other: invalid argument (see tool misuse --help)\n"},
		{"fail", commandline.Failed, "", "tool: out of luck\n"},
		{"stop", commandline.Stopped, "", "tool: stopped: file already closed\n"},
		{"wait", commandline.Stopped, "", "tool: waiting: signal: interrupt\n"},
		{"cancel", commandline.Stopped, "", "tool: waiting: context canceled\n"},
	} {
		status, stdout, stderr := commandtest.Run(ended, tree(), strings.Fields(c.args)...)
		if status != c.status || stdout != c.stdout || !strings.HasPrefix(stderr, c.stderr) &&
			!strings.Contains(c.args, "colour") || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: %d and %q, %q; want %d and %q, %q", c.args, status, stdout, stderr, c.status, c.stdout,
				c.stderr)
		}
	}
}

func TestCommon(t *testing.T) { commandtest.Hold(t, tree) }

// Help of a subcommand without examples, such as cobra's own, has no list of them.
func TestHelpWithoutExamples(t *testing.T) {
	_, stdout, _ := commandtest.Run(t.Context(), tree(), "help", "--help")
	if !strings.Contains(stdout, "flags:") || strings.Contains(stdout, "examples:") {
		t.Errorf("help says %q", stdout)
	}
}

func TestVersion(t *testing.T) {
	var said [2]string
	for i, arg := range []string{"version", "--version"} {
		root := tree()
		root.AddCommand(commandline.VersionCommand("tool"))
		_, said[i], _ = commandtest.Run(t.Context(), root, arg)
	}
	if !strings.HasPrefix(said[0], "tool ") || !strings.Contains(said[0], "\ngo1") || said[0] != said[1] {
		t.Errorf("version says %q, --version %q", said[0], said[1])
	}
}
