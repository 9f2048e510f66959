package tensor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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
	library := filepath.Join(t.TempDir(), "openblas.so")
	must.Run(t, exec.Command("cc", "-O1", "-shared", "-fPIC", "-o", library, "testdata/openblas.c"))
	kernels := func(setting string) string {
		t.Helper()
		cmd := exec.Command(os.Args[0], "-test.run=^TestWrongKernels$")
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
			return strings.HasPrefix(v, "OPENBLAS_CORETYPE=")
		}), show+"=1", "LD_PRELOAD="+library, setting)
		_, rest, _ := strings.Cut(must.Run(t, cmd), "kernels=")
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	best, _, found := strings.Cut(kernels("A=1"), " ")
	if !found {
		t.Skipf("gorl knows no better kernels than %s for this processor", best)
	}
	next, remark := "Prescott", ""
	if best == "SkylakeX" {
		next, remark = "Haswell", "checked; "
	}
	for _, test := range []struct{ want, setting string }{
		{best + " (checked)", "A=1"},
		{fmt.Sprintf("%s (%s%s multiplied wrongly)", next, remark, best), "WRONG=" + best},
		{fmt.Sprintf("%s (%s%s crashed)", next, remark, best), "CRASH=" + best},
		{"Prescott", "OPENBLAS_CORETYPE=Prescott"}, // the user's choice is not questioned
	} {
		must.Is(t, kernels(test.setting), test.want, "kernels with %s", test.setting)
	}
}
