package commandline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NoArguments refuses what a subcommand with flags only would otherwise silently ignore.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("what is %q? This subcommand takes flags only", args[0])
	}
	return nil
}

// Arguments wants at least low and at most high arguments, however many where high is 0; what says which, for people.
func Arguments(low, high int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if n := len(args); n < low || high > 0 && n > high {
			if n == 1 {
				return Usagef("1 argument: want %s", what)
			}
			return Usagef("%d arguments: want %s", n, what)
		}
		return nil
	}
}

// Files completes arguments with the names of folders, and of files with one of the extensions, which have no dot.
// Without extensions it completes folders alone.
func Files(extensions ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(extensions) == 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	}
}

// choice is the value of a flag with few possible ones.
type choice struct {
	value *string
	of    []string
}

func (c choice) String() string { return *c.value }
func (c choice) Type() string   { return "string" }

func (c choice) Set(s string) error {
	if !slices.Contains(c.of, s) {
		return fmt.Errorf("want %s", strings.Join(c.of, " or "))
	}
	*c.value = s
	return nil
}

// Choice declares a flag whose value is one of a few, which shells complete. value is the default; "" is none.
func Choice(c *cobra.Command, name, value, usage string, of ...string) *string {
	v := value
	short := ""
	if len(name) == 1 {
		short = name // cobra completes flags of one letter where they have a short form
	}
	c.Flags().VarP(choice{&v, of}, name, short, usage)
	complete(c, name, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
	return &v
}

// FileFlag declares a flag for the path of a file, which shells complete by the extensions as [Files] does.
func FileFlag(c *cobra.Command, name, value, usage string, extensions ...string) *string {
	v := c.Flags().String(name, value, usage)
	complete(c, name, Files(extensions...))
	return v
}

// complete has a flag's value completed by f.
func complete(c *cobra.Command, name string, f cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(name, f); err != nil {
		panic(err) // the flag is declared in the line before, once
	}
}

// Flags lists a prepared command's own flags, sorted by name, without those that every command has.
func Flags(c *cobra.Command) []*pflag.Flag {
	var list []*pflag.Flag
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			list = append(list, f)
		}
	})
	return list
}

// FilesFlag declares a flag for the path of a file that may be given several times.
func FilesFlag(c *cobra.Command, name, usage string, extensions ...string) *[]string {
	v := c.Flags().StringArray(name, nil, usage)
	complete(c, name, Files(extensions...))
	return v
}
