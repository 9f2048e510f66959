package commandtest

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// Reference describes all subcommands of a command in Markdown: how each is called, what it does, its flags. Those that
// every command has, help and completion, are left out.
func Reference(root *cobra.Command) string {
	commandline.Prepare(root)
	var b strings.Builder
	b.WriteString("| subcommand | what it does |\n|---|---|\n")
	for _, c := range root.Commands() {
		if shown(c) {
			fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", c.Name(), strings.ReplaceAll(c.CommandPath(), " ", "-"), c.Short)
		}
	}
	b.WriteByte('\n')
	for _, c := range root.Commands() {
		if !shown(c) {
			continue
		}
		fmt.Fprintf(&b, "### %s\n\n```\n%s\n```\n\n", c.CommandPath(), commandline.UseLine(c))
		fmt.Fprintf(&b, "%s\n\n", markdown(c.Long))
		if list := flags(c); len(list) > 0 {
			b.WriteString("| flag | default | meaning |\n|---|---|---|\n")
			for _, f := range list {
				b.WriteString(row(f))
			}
			b.WriteByte('\n')
		}
		if lines := commandline.Examples(c); len(lines) > 0 {
			fmt.Fprintf(&b, "```\n%s\n```\n\n", strings.Join(lines, "\n"))
		}
	}
	return b.String()
}

// shown says whether a command is in the reference.
func shown(c *cobra.Command) bool { return c.Name() != "help" && c.Name() != "completion" && !c.Hidden }

// flags lists a prepared command's own flags, sorted by name, without --help.
func flags(c *cobra.Command) (list []*pflag.Flag) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			list = append(list, f)
		}
	})
	return list
}

// row is a flag's in the table.
func row(f *pflag.Flag) string {
	kind, meaning := pflag.UnquoteUsage(f)
	name := "`--" + f.Name
	if kind != "" {
		name += " " + strings.ToUpper(kind)
	}
	name += "`"
	if f.Shorthand != "" {
		name += ", `-" + f.Shorthand + "`"
	}
	value := "none"
	if f.DefValue != "" && f.DefValue != "[]" {
		value = "`" + f.DefValue + "`"
	}
	if strings.Contains(meaning, "(default") || strings.Contains(meaning, "(required") {
		value = "" // the meaning says more
	}
	return fmt.Sprintf("| %s | %s | %s |\n", name, value,
		strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`).Replace(meaning))
}

// markdown leaves paragraphs of prose, and makes blocks of what is indented.
func markdown(text string) string {
	var out []string
	block := false
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
		switch {
		case indented && !block:
			out, block = append(out, "```"), true
		case !indented && block:
			out, block = append(out, "```"), false
		}
		if !block {
			line = strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`).Replace(line)
		}
		out = append(out, line)
	}
	if block {
		out = append(out, "```")
	}
	return strings.Join(out, "\n")
}
