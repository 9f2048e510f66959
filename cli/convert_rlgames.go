package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/trainers/rlgames"
)

// configuration writes gorl's configuration for a file of rl_games, with notes as comments, and returns a report.
func (k conversion) configuration(cmd *cobra.Command, from, to string) (said string, err error) {
	wrongUse := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "env" && f.Name != "num-envs" && f.Name != "force" {
			wrongUse = f.Name
		}
	})
	switch {
	case wrongUse != "":
		return "", commandline.Usagef("--%s is for checkpoints, and FROM is a YAML file", wrongUse)
	case !isYAML(to):
		return "", commandline.Usagef("TO is %s: want a name that ends in .yaml, as FROM is a YAML file", to)
	case sameFile(from, to):
		return "", commandline.Usagef("FROM and TO are the same file")
	}
	if err := vacant(to, *k.force); err != nil {
		return "", err
	}
	if c, err := runfile.Read(from); err == nil && !rlgames.Is(c) && c["agent"] != nil {
		return "", commandline.Usagef("%s is a file of gorl or skrl and needs no conversion: %s train --config %s%s",
			from, program, process.QuoteWord(from), map[bool]string{true: " --env ID"}[c["environment"] == nil])
	}
	made, err := rlgames.Read(from, rlgames.Options{NumEnvs: *k.numEnvs})
	if err != nil {
		return "", wrong(err)
	}
	c := runfile.Sections(made.Sections)
	k.adjust(c)
	if *k.env == "" {
		made.Notes = append(made.Notes, "environment.id is missing: write it into the file, or give "+
			program+" train --env")
	}
	text, err := c.YAML()
	if err != nil {
		return "", err
	}
	head := fmt.Sprintf("# Made of %s by %s convert.\n", filepath.Base(from), program)
	for _, n := range made.Notes {
		head += fmt.Sprintf("#\n# %s\n", strings.Join(wrapped(n, 118), "\n# "))
	}
	if err := writeFile(to, append([]byte(head+"\n"), text...)); err != nil {
		return "", err
	}
	return strings.Join(append([]string{fmt.Sprintf("%s → %s", from, to)}, made.Notes...), "\nnote: "), nil
}

// adjust changes the environment of a configuration by the command line.
func (k conversion) adjust(c runfile.Sections) {
	if *k.env != "" {
		c.Section("environment")["id"] = *k.env
	}
	if *k.numEnvs > 0 {
		c.Section("environment")["num_envs"] = *k.numEnvs
	}
}

// wrapped breaks a text between words into lines of at most width bytes.
func wrapped(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
