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

// choice is the value of a flag that takes one of a few words.
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

// Choice declares a flag whose value is one of a few words, which shells complete. value is the default, "" for none.
func Choice(c *cobra.Command, name, value, usage string, of ...string) *string {
	v := value
	short := ""
	if len(name) == 1 {
		short = name // cobra completes flags of one letter only if they have a short form
	}
	c.Flags().VarP(choice{&v, of}, name, short, usage)
	err := c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag is declared in the line before, once
	}
	return &v
}

// count is the value of a flag that takes a whole number, also written as 1e6.
type count struct{ value *int64 }

func (c count) String() string { return strconv.FormatInt(*c.value, 10) }
func (c count) Type() string   { return "int64" }

func (c count) Set(s string) error {
	n, ok := config.Whole(s)
	if !ok {
		return errors.New("want a whole number")
	}
	*c.value = int64(n)
	return nil
}

// CountVar declares a flag for a whole number that may also be written as 1e6. The default is the value of v.
func CountVar(flags *pflag.FlagSet, v *int64, name, usage string) { flags.Var(count{v}, name, usage) }

// bounded is the value of a flag for a whole number of at least least.
type bounded struct {
	pflag.Value
	name  string
	least int
}

func (b bounded) Set(s string) error {
	if n, ok := config.Whole(s); ok && n < b.least {
		return Usagef("--%s is %s; want %d or more", b.name, s, b.least)
	}
	return b.Value.Set(s)
}

// AtLeast makes flags of whole numbers refuse numbers below least. Defaults may be below it.
func AtLeast(c *cobra.Command, least int, names ...string) {
	for _, name := range names {
		f := c.Flags().Lookup(name)
		f.Value = bounded{f.Value, name, least}
	}
}

// once is the value of a flag that may be given once.
type once struct {
	pflag.Value
	given bool
}

func (o *once) Set(s string) error {
	if o.given {
		return fmt.Errorf("it is given twice, first as %q; give it once", o.String())
	}
	o.given = true
	return o.Value.Set(s)
}

// Once makes a second occurrence of a flag an error. Without it the last one counts.
func Once(c *cobra.Command, name string) {
	f := c.Flags().Lookup(name)
	f.Value = &once{Value: f.Value}
}
