// Package peers lets tests compare gorl with the Python programs that it works with: PyTorch, skrl and what else
// `make peers` sets up. Only tests use it.
package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Environment is the variable that names the folder of `make peers`. `make test-peers` sets it.
const Environment = "GORL_PEERS"

// Python returns the interpreter that has the given modules. Where there is none the test is skipped, with a word of why.
func Python(t testing.TB, modules ...string) string {
	t.Helper()
	folder := os.Getenv(Environment)
	if folder == "" {
		t.Skipf("%s is not set: `make test-peers` compares with PyTorch and skrl", Environment)
	}
	python := filepath.Join(folder, "bin", "python")
	for _, m := range append([]string{"sys"}, modules...) {
		if err := exec.Command(python, "-c", "import "+m).Run(); err != nil {
			t.Skipf("%s cannot import %s (%v): `make peers` sets it up", python, m, err)
		}
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
