// Command gorl-setup prepares a machine for programs that import gorl, without a clone of gorl. Run it in the folder
// of a Go module that requires gorl:
//
//	go get github.com/gorl-dev/gorl/...
//	go run github.com/gorl-dev/gorl/cmd/gorl-setup
//
// It runs gorl's scripts/setup.sh from Go's module cache, as make setup does in a clone. The script gets libtorch and
// MuJoCo from Debian's packages or from PyPI, builds gorl's C++ libraries in the user's cache folder and installs them.
// It asks before it uses sudo or changes go env.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	gorlModule    = "github.com/gorl-dev/gorl"
	gotorchModule = "github.com/wangkuiyi/gotorch"
)

func main() {
	command, err := setup(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
		err = command.Run()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
			os.Exit(exit.ExitCode()) // the script has said why
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gorl-setup:", err)
		os.Exit(1)
	}
}

// setup returns the command that runs the script with the given arguments of gorl-setup.
func setup(args []string, usage io.Writer) (*exec.Cmd, error) {
	flags := flag.NewFlagSet("gorl-setup", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.Usage = func() {
		fmt.Fprintln(usage, "gorl-setup prepares this machine for programs that import gorl.")
		fmt.Fprint(usage, "Run it in the folder of your module.\n\n")
		flags.PrintDefaults()
	}
	from := flags.String("from", "",
		"where libtorch and MuJoCo come from: `debian` or pypi (default: as last time; at first debian if there is "+
			"apt-get)")
	prefix := flags.String("prefix", "", "the `folder` to install to (default: /usr/local, or ~/.local without root)")
	yes := flags.Bool("yes", false, "answer yes to all questions: use sudo, run go env -w")
	dry := flags.Bool("dry-run", false, "say what would be done, and change nothing")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag; gorl-setup takes flags only (--help lists them)", flags.Arg(0))
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		return nil, errors.New("there is no bash, which gorl's scripts need: install it")
	}
	gorl, err := moduleFolder(gorlModule)
	if err != nil {
		return nil, fmt.Errorf("gorl's sources were not found: %w; run this in the folder of your module, after go "+
			"get %s/...", err, gorlModule)
	}
	gotorch, err := moduleFolder(gotorchModule)
	if err != nil {
		return nil, fmt.Errorf("gotorch's sources were not found: %w; run go get %s/...", err, gorlModule)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no folder to build in: %w", err)
	}
	command := exec.Command(bash, filepath.Join(gorl, "scripts", "setup.sh"))
	command.Env = append(os.Environ(), "GOTORCH_SRC="+gotorch)
	if os.Getenv("SHIM_DIR") == "" {
		command.Env = append(command.Env, "SHIM_DIR="+filepath.Join(cache, "gorl", "lib"))
	}
	for _, setting := range []struct {
		set         bool
		name, value string
	}{{*from != "", "FROM", *from}, {*prefix != "", "PREFIX", *prefix}, {*yes, "YES", "1"}, {*dry, "DRY_RUN", "1"}} {
		if setting.set {
			command.Env = append(command.Env, setting.name+"="+setting.value)
		}
	}
	return command, nil
}

// moduleFolder returns the folder with the sources of a module that the module in the current folder requires. It
// downloads them if they are not in Go's module cache.
func moduleFolder(path string) (string, error) {
	folder, err := goCommand("list", "-mod=readonly", "-m", "-f", "{{.Dir}}", path)
	if err != nil || folder != "" {
		return folder, err
	}
	if _, err := goCommand("mod", "download", path); err != nil {
		return "", err
	}
	folder, err = goCommand("list", "-mod=readonly", "-m", "-f", "{{.Dir}}", path)
	if err == nil && folder == "" {
		err = fmt.Errorf("go list -m names no folder for %s", path)
	}
	return folder, err
}

// goCommand runs the go command and returns its output. Its error holds the last line that the go command wrote.
func goCommand(args ...string) (string, error) {
	command := exec.Command("go", args...)
	var messages bytes.Buffer
	command.Stderr = &messages
	output, err := command.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(messages.String()), "\n")
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, lines[len(lines)-1])
	}
	return strings.TrimSpace(string(output)), nil
}
