package commandline

import (
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version says which version of a module a program is of, as the Go toolchain recorded it: a module's version, or the
// commit that was built.
func Version(info *debug.BuildInfo) string {
	version, revision, at, changed := info.Main.Version, "", "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.time":
			at = " of " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ", with changes"
		}
	}
	if version == "" {
		version = "(devel)"
	}
	if revision != "" {
		version += fmt.Sprintf(" (commit %.12s%s%s)", revision, at, changed)
	}
	return version
}

// VersionCommand makes the subcommand of the command of that name which prints the program's version, Go's, the
// platform, and further lines.
func VersionCommand(name string, further ...func() string) *cobra.Command {
	last := "and for which platform."
	if len(further) > 0 {
		last = "for which\nplatform, and what it computes with."
	}
	return &cobra.Command{
		Use:     "version",
		Short:   "print the version",
		Long:    "Prints the version or the commit of gorl, the version of Go that built it, " + last,
		Example: name + " version",
		Args:    NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return fmt.Errorf("the program was built without a record of its version")
			}
			platform := map[string]string{}
			for _, s := range info.Settings {
				platform[s.Key] = s.Value
			}
			text := fmt.Sprintf("%s %s\n%s %s/%s\n", c.Root().Name(), Version(info), info.GoVersion,
				platform["GOOS"], platform["GOARCH"])
			for _, line := range further {
				text += line() + "\n"
			}
			_, err := io.WriteString(c.OutOrStdout(), text)
			return err
		},
	}
}
