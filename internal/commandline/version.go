package commandline

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// VersionCommand returns the subcommand that prints the program's version, Go's version, the platform, and further
// lines. The version is that of the module, or of the commit that was built.
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
			text := fmt.Sprintf("%s %s\n%s %s/%s\n", c.Root().Name(), cmp.Or(info.Main.Version, "(devel)"),
				info.GoVersion, platform["GOOS"], platform["GOARCH"])
			for _, line := range further {
				text += line() + "\n"
			}
			_, err := io.WriteString(c.OutOrStdout(), text)
			return err
		},
	}
}
