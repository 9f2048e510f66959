package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// The script of the required gorl runs with the settings that the flags stand for.
func TestSetup(t *testing.T) {
	t.Setenv("SHIM_DIR", "")
	t.Setenv("XDG_CACHE_HOME", "/cache")
	command := must.Get(setup([]string{"--from", "pypi", "--prefix", "/opt/gorl", "--yes", "--dry-run"}, io.Discard))(t)
	script := must.Get(filepath.Abs("../../scripts/setup.sh"))(t)
	if got := command.Args[1]; got != script {
		t.Errorf("runs %s, want %s", got, script)
	}
	for _, want := range []string{"FROM=pypi", "PREFIX=/opt/gorl", "YES=1", "DRY_RUN=1", "SHIM_DIR=/cache/gorl/lib"} {
		if !slices.Contains(command.Env, want) {
			t.Errorf("the script's environment lacks %s", want)
		}
	}
	if i := slices.IndexFunc(command.Env, func(s string) bool { return strings.HasPrefix(s, "GOTORCH_SRC=") }); i < 0 {
		t.Error("the script's environment lacks GOTORCH_SRC")
	} else if _, err := os.Stat(strings.TrimPrefix(command.Env[i],
		"GOTORCH_SRC=") + "/cgotorch/cgotorch.h"); err != nil {
		t.Errorf("%s does not hold gotorch: %v", command.Env[i], err)
	}

}

func TestSetupErrors(t *testing.T) {
	if _, err := setup([]string{"pypi"}, io.Discard); err == nil ||
		!strings.Contains(err.Error(), `"pypi" is not a flag`) {
		t.Errorf("an argument that is no flag: %v", err)
	}
	var usage bytes.Buffer
	if _, err := setup([]string{"--help"}, &usage); !errors.Is(err, flag.ErrHelp) ||
		!strings.Contains(usage.String(), "-dry-run") {
		t.Errorf("--help: %v, %q", err, usage.String())
	}
	t.Chdir(t.TempDir())
	_, err := setup(nil, io.Discard)
	if want := "run this in the folder of your module, after go get github.com/gorl-dev/gorl/..."; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("outside of a module: %v, want %q", err, want)
	}
}

// gorl-setup runs before there is a C compiler or a library to link with.
func TestPureGo(t *testing.T) {
	command := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	output := must.Get(command.Output())(t)
	must.Equal(t, "packages beside the standard library", "github.com/gorl-dev/gorl/cmd/gorl-setup",
		strings.TrimSpace(string(output)))
}
