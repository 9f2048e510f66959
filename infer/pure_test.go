package infer

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestNeedsNoCgo builds the package and its exports for machines that have no libtorch, and keeps them from importing what
// needs it.
func TestNeedsNoCgo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds for other machines")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	for _, target := range []string{"linux/arm64", "js/wasm", "linux/arm"} {
		goos, goarch, _ := strings.Cut(target, "/")
		run := func(args ...string) string {
			t.Helper()
			command := exec.Command("go", args...)
			command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
			out, err := command.CombinedOutput()
			if err != nil {
				t.Errorf("%s: go %s: %v\n%s", target, strings.Join(args, " "), err, out)
			}
			return string(out)
		}
		run("build", ".", "./onnx")
		for _, path := range strings.Fields(run("list", "-deps", ".")) {
			name, ours := strings.CutPrefix(path, "github.com/gorl-dev/gorl/")
			switch {
			case ours && !slices.Contains([]string{"infer", "checkpoint", "checkpoint/layout", "spaces", "models/description",
				"internal/durable", "internal/exclusive", "internal/number"}, name):
				t.Errorf("%s: infer imports %s", target, path)
			case !ours && strings.Contains(strings.SplitN(path, "/", 2)[0], ".") && !strings.HasPrefix(path, "vendor/"):
				t.Errorf("%s: infer imports %s, which is not of the standard library", target, path)
			}
		}
	}
}
