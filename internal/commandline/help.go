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
	return strings.FieldsFunc(c.Example, func(r rune) bool { return r == '\n' })
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
		fmt.Fprintf(&b, "\nexamples:\n  %s\n", strings.Join(lines, "\n  "))
	}
	fmt.Fprintf(&b, "\n%s", statuses)
	_, err := io.WriteString(w, b.String())
	return err
}
