// Package peers lets tests compare gorl with the Python programs that it works with: PyTorch, skrl and what else
// `make peers` sets up. Only tests use it.
package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Environment is the variable that names the folder of `make peers`. `make test-peers` sets it.
const Environment = "GORL_PEERS"

// Python returns the interpreter that has the given modules. Where [Environment] is not set the test is skipped; where
// it is, a missing interpreter or module is the test's failure, so that what was asked for is not left out unnoticed.
// The name of the test must begin with TestPeers, by which `make test-peers` finds it.
func Python(t testing.TB, modules ...string) string {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestPeers") {
		t.Fatalf("%s needs peers, so its name must begin with TestPeers: `make test-peers` runs no other", t.Name())
	}
	folder := os.Getenv(Environment)
	if folder == "" {
		t.Skipf("needs %s, which `make test-peers` sets, and Python with %s, which `make peers` sets up", Environment,
			strings.Join(modules, ", "))
	}
	python := filepath.Join(folder, "bin", "python")
	if out, err := exec.Command(python, "-W", "ignore", "-c",
		"import "+strings.Join(append([]string{"sys"}, modules...), ", ")).CombinedOutput(); err != nil {
		t.Fatalf("%s cannot import %s; `make peers` sets it up: %v\n%s", python, strings.Join(modules, ", "), err, out)
	}
	return python
}

// Run runs Python with arguments and returns what it printed. A failure is the test's, with what Python said.
func Run(t testing.TB, python string, args ...string) string {
	t.Helper()
	cmd := exec.Command(python, append([]string{"-W", "ignore"}, args...)...)
	cmd.Env = append(os.Environ(), "OPENBLAS_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}
