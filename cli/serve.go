package cli

import (
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/cli/internal/watch"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/durable"
)

// servePort is the default port, if it is free.
const servePort = 8484

func serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve [RUNS]",
		Short: "show runs and populations in the browser while they train",
		Long: `
Starts a web server at 127.0.0.1 and prints its address. The page lists the runs and
populations in the folder RUNS (default: runs), compares curves and settings, and shows
who copied whom in a population and why. The runs may be on another machine that shares
the folder. A click plays a run's newest checkpoint, unless its environment is another
program.

The server only reads, and only below RUNS; it follows no links. Another --address than
a loopback one needs the token in the address that is printed. --export writes the page
into one file instead. Ctrl-C ends the server.`,
		Example: `
gorl serve
gorl serve runs/walker --port 8000
gorl serve --export report.html runs/population`,
		Args: commandline.Arguments(0, 1, "the folder of runs"),
	}
	address := c.Flags().String("address", "127.0.0.1", "`IP` address of the server")
	port := c.Flags().Uint16("port", servePort, "`port` of the server; without the flag a free one, if this is taken")
	export := c.Flags().String("export", "", "HTML `file` to write instead of serving")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		cfg := watch.Config{Root: "runs", Group: groupRuns, Tags: func(all []string) []string {
			return usualTags(all, !slices.Contains(all, rawReturn))
		}}
		if len(args) > 0 {
			cfg.Root = args[0]
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cfg.Play = func(dir, config, socket string) []string {
			return []string{self, "view", dir, "--follow", "--config", config, "--device", "cpu", "--socket", socket}
		}
		ip, err := netip.ParseAddr(*address)
		if err != nil {
			return commandline.Usagef("--address is %q; want an IP address such as 127.0.0.1 or 0.0.0.0", *address)
		}
		query := ""
		if !ip.IsLoopback() {
			cfg.Token = rand.Text()
			query = "/?token=" + cfg.Token
		}
		server, err := watch.New(cfg)
		if err != nil {
			return err
		}
		defer server.Close()
		if *export != "" {
			return durable.WriteFile(*export, func(w io.Writer) error { return server.Export(w, folderName(cfg.Root)) })
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(*address, fmt.Sprint(*port)))
		if err != nil && !cmd.Flags().Changed("port") {
			listener, err = net.Listen("tcp", net.JoinHostPort(*address, "0"))
		}
		if err != nil {
			return commandline.Usagef("--address, --port: %w", err)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "http://%s%s\n", listener.Addr(), query)
		return server.Serve(cmd.Context(), listener)
	}
	return c
}
