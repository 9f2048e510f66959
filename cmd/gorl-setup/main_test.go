package main

import (
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
	must.Equal(t, "the script", must.Get(filepath.Abs("../../scripts/setup.sh"))(t), command.Args[1])
	for _, want := range []string{"FROM=pypi", "PREFIX=/opt/gorl", "YES=1", "DRY_RUN=1", "SHIM_DIR=/cache/gorl/lib"} {
		if !slices.Contains(command.Env, want) {
			t.Errorf("the script's environment lacks %s", want)
		}
	}
	if !slices.ContainsFunc(command.Env, func(s string) bool {
		folder, ok := strings.CutPrefix(s, "GOTORCH_SRC=")
		_, err := os.Stat(folder + "/cgotorch/cgotorch.h")
		return ok && err == nil
	}) {
		t.Error("the script's environment lacks a GOTORCH_SRC that holds gotorch")
	}
}

func TestSetupErrors(t *testing.T) {
	must.Refused(setup([]string{"pypi"}, io.Discard))(t, `"pypi" is not a flag`)
	t.Chdir(t.TempDir())
	must.Refused(setup(nil, io.Discard))(t, "run this in the folder of your module, after go get github.com/gorl-dev/")
}

// gorl-setup runs before there is a C compiler or a library to link with.
func TestPureGo(t *testing.T) {
	command := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	output := must.Get(command.Output())(t)
	must.Equal(t, "packages beside the standard library", "github.com/gorl-dev/gorl/cmd/gorl-setup",
		strings.TrimSpace(string(output)))
}
