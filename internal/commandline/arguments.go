package commandline

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gorl-dev/gorl/internal/config"
)

// NoArguments refuses arguments, which a subcommand with flags only would otherwise ignore.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("what is %q? This subcommand takes flags only", args[0])
	}
	return nil
}

// Arguments requires at least low and at most high arguments. A high of 0 allows any number. what names them in errors.
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

// checked is the value of a flag that looks at every text before it takes it.
type checked struct {
	pflag.Value
	look func(text string) (taken string, err error)
}

func (c checked) Set(text string) error {
	text, err := c.look(text)
	if err != nil {
		return err
	}
	return c.Value.Set(text)
}

// check makes a flag look at texts.
func check(flags *pflag.FlagSet, name string, look func(text string) (taken string, err error)) {
	f := flags.Lookup(name)
	f.Value = checked{f.Value, look}
}

// Choice declares a flag whose value is one of a few words, which shells complete. value is the default, "" for none.
func Choice(c *cobra.Command, name, value, usage string, of ...string) *string {
	short := ""
	if len(name) == 1 {
		short = name // cobra completes flags of one letter only if they have a short form
	}
	v := c.Flags().StringP(name, short, value, usage)
	check(c.Flags(), name, func(text string) (string, error) {
		if !slices.Contains(of, text) {
			return "", fmt.Errorf("want %s", strings.Join(of, " or "))
		}
		return text, nil
	})
	_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
	return v
}

// CountVar declares a flag for a whole number that may also be written as 1e6. The default is the value of v.
func CountVar(flags *pflag.FlagSet, v *int64, name, usage string) {
	flags.Int64Var(v, name, *v, usage)
	check(flags, name, func(text string) (string, error) {
		n, ok := config.Whole(text)
		if !ok {
			return "", errors.New("want a whole number")
		}
		return strconv.Itoa(n), nil
	})
}

// AtLeast makes flags of whole numbers refuse numbers below least. Defaults may be below it.
func AtLeast(c *cobra.Command, least int, names ...string) {
	for _, name := range names {
		check(c.Flags(), name, func(text string) (string, error) {
			if n, ok := config.Whole(text); ok && n < least {
				return "", Usagef("--%s is %s; want %d or more", name, text, least)
			}
			return text, nil
		})
	}
}

// Once makes a second occurrence of a flag an error. Without it the last one counts.
func Once(c *cobra.Command, name string) {
	f, given := c.Flags().Lookup(name), false
	check(c.Flags(), name, func(text string) (string, error) {
		if given {
			return "", fmt.Errorf("it is given twice, first as %q; give it once", f.Value)
		}
		given = true
		return text, nil
	})
}
