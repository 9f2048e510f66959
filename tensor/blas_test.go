package tensor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tensor"
)

// Kernels that the library chooses for a processor that OpenBLAS does not know are used only where they multiply
// correctly. A library put before OpenBLAS plays one that does not know the processor and has wrong kernels; the choice
// is made once in a process, so the test starts itself again.
func TestWrongKernels(t *testing.T) {
	const show = "GORL_TEST_SHOW_KERNELS"
	if os.Getenv(show) != "" {
		fmt.Printf("kernels=%s\n", tensor.BLASKernels())
		return
	}
	if tensor.BLASKernels() == "" || runtime.GOARCH != "amd64" {
		t.Skip("libtorch multiplies with another library than OpenBLAS here, whose kernels gorl does not choose")
	}
	compile := func(name string, flags ...string) string {
		t.Helper()
		library := filepath.Join(t.TempDir(), name)
		must.Run(t, exec.Command("cc", append(flags, "-O1", "-shared", "-fPIC", "-o", library,
			"testdata/openblas.c")...))
		return library
	}
	library := compile("openblas.so")
	kernels := func(settings ...string) string {
		t.Helper()
		cmd := exec.Command(os.Args[0], "-test.run=^TestWrongKernels$")
		for _, v := range os.Environ() {
			if !strings.HasPrefix(v, "OPENBLAS_CORETYPE=") {
				cmd.Env = append(cmd.Env, v)
			}
		}
		cmd.Env = append(append(cmd.Env, show+"=1", "LD_PRELOAD="+library), settings...)
		_, rest, _ := strings.Cut(must.Run(t, cmd), "kernels=")
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	check := func(want string, settings ...string) {
		t.Helper()
		if got := kernels(settings...); got != want {
			t.Errorf("with %v the kernels are %q, want %q", settings, got, want)
		}
	}
	best, _, found := strings.Cut(kernels(), " ")
	if !found {
		t.Skipf("gorl knows no better kernels than %s for this processor", best)
	}
	check(best + " (checked)")
	next, remark := "Prescott", ""
	if best == "SkylakeX" {
		next, remark = "Haswell", "checked; "
	}
	check(fmt.Sprintf("%s (%s%s multiplied wrongly)", next, remark, best), "WRONG="+best)
	check(fmt.Sprintf("%s (%s%s crashed)", next, remark, best), "CRASH="+best)
	if best == "SkylakeX" {
		check("Prescott (SkylakeX multiplied wrongly; Haswell crashed)", "WRONG=SkylakeX", "CRASH=Haswell")
	}
	check("Prescott", "OPENBLAS_CORETYPE=Prescott") // the user's choice is not questioned

	library = compile("fixed.so", "-DFIXED") // which does not let others switch its kernels
	if got := kernels(); !strings.HasPrefix(got, "Prescott (") || !strings.HasSuffix(got,
		"Haswell cannot be switched to: to try them, set OPENBLAS_CORETYPE before the program starts)") {
		t.Errorf("the kernels are %q", got)
	}
}
