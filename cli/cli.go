// Package cli is the command gorl: it trains agents from YAML files, evaluates them, and looks at, converts, exports
// and draws what training wrote.
//
// Every subcommand stands in a file of its own and says with --help what it does.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/tensor"
)

// Main runs the subcommand that the program's arguments name, and ends the program with its exit status. The first
// signal (Ctrl-C, SIGTERM) saves what trains and ends with status 78, a second one ends at once. Main is for a program
// that does nothing else: it sets the process's allocator, too ([tensor.TuneAllocator]).
func Main() {
	tensor.TuneAllocator()
	program = strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	ctx, kill, stop := launch.Interrupts(context.Background())
	go func() { // a second Ctrl-C does not wait for anything
		<-kill
		os.Exit(commandline.Stopped)
	}()
	status := commandline.Execute(ctx, command(), os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// program is the name under which the program was started. Help and advice on the next call use it.
var program = "gorl"

// command returns the whole command, under the program's name.
func command() *cobra.Command {
	root := &cobra.Command{
		Use:   program,
		Short: "reinforcement learning from the command line",
		Long: program + ` trains agents from YAML files, evaluates them, and looks at, converts, exports
and draws what training wrote. Populations of processes have a command of their
own, gorl-pbt.`,
	}
	root.AddCommand(trainCommand(), evalCommand(), inspectCommand(), convertCommand(), exportCommand(), plotCommand(),
		sweepCommand(), listCommand(), schemaCommand(), initCommand(), viewCommand(), serveCommand(), memberCommand(),
		syncCommand(), retargetCommand(), commandline.VersionCommand(program, computesWith))
	for _, c := range root.Commands() {
		c.Long, c.Example = called(c.Long), called(c.Example)
	}
	return root
}

// call matches gorl before one of its subcommands.
var call = regexp.MustCompile(
	`\bgorl (train|sweep|eval|inspect|convert|export|plot|list|schema|init|view|serve|member|sync|retarget|version)\b`)

// called puts the program's name into calls of gorl.
func called(text string) string { return call.ReplaceAllString(text, program+" $1") }

// console is where a subcommand reads and prints, and which flags it was given.
type console struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	given          func(flag string) bool
}

func consoleOf(c *cobra.Command) console {
	return console{c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr(), c.Flags().Changed}
}

// note prints notes.
func (c console) note(notes ...string) {
	for _, n := range notes {
		fmt.Fprintln(c.stderr, "note:", n)
	}
}

// computesWith names the libraries that the program computes with.
func computesWith() string {
	said := "libtorch " + tensor.TorchVersion()
	if kernels := tensor.BLASKernels(); kernels != "" {
		said += ", OpenBLAS with kernels " + kernels
	}
	return said
}
