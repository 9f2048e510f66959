package commandline

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// statuses end every help.
const statuses = `exit status:
  0   done
  1   something failed; the last line on the standard error says what
  2   wrong flags or arguments; nothing was done
  78  stopped by a signal; what was begun is saved and can be continued
`

// useLine returns how to call a command, for example "gorl plot [flags] PATH...".
func useLine(c *cobra.Command) string {
	if c.HasSubCommands() {
		return c.CommandPath() + " SUBCOMMAND [flags] [arguments]"
	}
	line := c.CommandPath() + " [flags]"
	if _, arguments, ok := strings.Cut(c.Use, " "); ok {
		line += " " + arguments
	}
	return line
}

// Examples returns the lines of a command's examples.
func Examples(c *cobra.Command) []string {
	if strings.TrimSpace(c.Example) == "" {
		return nil
	}
	return strings.Split(strings.TrimSpace(c.Example), "\n")
}

func writeHelp(w io.Writer, c *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s\n\n%s\n", useLine(c), strings.TrimSpace(c.Long))
	if c.HasAvailableSubCommands() {
		b.WriteString("\nsubcommands:\n")
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				fmt.Fprintf(&b, "  %-12s%s\n", sub.Name(), sub.Short)
			}
		}
		fmt.Fprintf(&b, "\n%s SUBCOMMAND --help describes one.\n", c.CommandPath())
	}
	c.InitDefaultHelpFlag()
	fmt.Fprintf(&b, "\nflags:\n%s", c.LocalFlags().FlagUsages())
	if lines := Examples(c); len(lines) > 0 {
		b.WriteString("\nexamples:\n")
		for _, line := range lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	fmt.Fprintf(&b, "\n%s", statuses)
	_, err := io.WriteString(w, b.String())
	return err
}

// helpCommand replaces cobra's, which does not refuse unknown subcommands.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [SUBCOMMAND]",
		Short: "describe a subcommand",
		Long:  "Describes a subcommand, as its flag --help does.",
		Args:  Arguments(0, 1, "one subcommand"),
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]cobra.Completion,
			cobra.ShellCompDirective) {
			var names []cobra.Completion
			for _, sub := range c.Root().Commands() {
				if len(args) == 0 && !sub.Hidden {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return known(c.Root(), rest)
			}
			return writeHelp(c.OutOrStdout(), about)
		},
	}
}
