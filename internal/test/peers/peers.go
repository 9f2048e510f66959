// Package peers lets tests compare gorl with the Python programs that it works with: PyTorch, skrl and what else
// `make peers` sets up, and the simulators of `make simulators`. Only tests use it.
package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// Environment and SimulatorsEnvironment are the variables that name the folders of `make peers` and `make simulators`.
// `make test-peers` and `make test-simulators` set them.
const (
	Environment           = "GORL_PEERS"
	SimulatorsEnvironment = "GORL_SIMULATORS"
)

// Python returns the interpreter of `make peers`, which has the given modules. Where [Environment] is not set the test
// is skipped; where it is, a missing interpreter or module is the test's failure, so that what was asked for is not
// left out unnoticed. The name of the test must begin with TestPeers, by which `make test-peers` finds it.
func Python(t testing.TB, modules ...string) string {
	t.Helper()
	return python(t, "peers", Environment, modules)
}

// JAX returns the interpreter with JAX, which `make peers` installs into a folder of its own if it can. Without it the
// test is skipped. The name of the test must begin with TestPeersJAX, by which `make test-peers` leaves it out then.
func JAX(t testing.TB) string {
	t.Helper()
	python := filepath.Join(os.Getenv(Environment), "jax", "bin", "python")
	if err := exec.Command(python, "-c", "import jax").Run(); err != nil {
		t.Skipf("needs %s, and JAX in its folder jax, which `make peers` sets up: %v", Environment, err)
	}
	return python
}

// Simulators returns the interpreter of `make simulators`, as [Python] does that of `make peers`. The name of the test
// must begin with TestSimulators, and `make test-simulators` runs it.
func Simulators(t testing.TB, modules ...string) string {
	t.Helper()
	return python(t, "simulators", SimulatorsEnvironment, modules)
}

func python(t testing.TB, what, variable string, modules []string) string {
	t.Helper()
	prefix := "Test" + strings.ToUpper(what[:1]) + what[1:]
	if _, benchmark := t.(*testing.B); !benchmark && !strings.HasPrefix(t.Name(), prefix) {
		t.Fatalf("%s needs %s, so its name must begin with %s: `make test-%s` runs no other", t.Name(), what, prefix,
			what)
	}
	folder := os.Getenv(variable)
	if folder == "" {
		t.Skipf("needs %s, which `make test-%s` sets, and Python with %s, which `make %s` sets up", variable, what,
			strings.Join(modules, ", "), what)
	}
	python := filepath.Join(folder, "bin", "python")
	if out, err := exec.Command(python, "-W", "ignore", "-c",
		"import "+strings.Join(append([]string{"sys"}, modules...), ", ")).CombinedOutput(); err != nil {
		t.Fatalf("%s cannot import %s; `make %s` sets it up: %v\n%s", python, strings.Join(modules, ", "), what, err,
			out)
	}
	return python
}

// Run runs Python with arguments and returns what it printed. A failure is the test's, with what Python said.
func Run(t testing.TB, python string, args ...string) string {
	t.Helper()
	cmd := exec.Command(python, append([]string{"-W", "ignore"}, args...)...)
	cmd.Env = append(os.Environ(), "OPENBLAS_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
	return must.Run(t, cmd)
}
