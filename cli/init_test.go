package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// TestInit writes a project, and builds, vets, tests and uses it with this checkout of gorl, without a network.
func TestInit(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and trains a project")
	}
	checkout := get(filepath.Abs(".."))(t)
	t.Chdir(t.TempDir())
	stdout, _ := gorl(t, 0, "init", "hover", "--module", "example.com/robots/hover", "--replace", checkout)
	matches(t, stdout, `^Wrote README.md, environment.go, environment_test.go, go.mod, main.go, train.yaml\. `+
		`Next:\n\n  cd hover\n  go mod tidy `, `\./hover train --config train.yaml`)
	t.Chdir("hover")
	write(t, "go.sum", text(filepath.Join(checkout, "go.sum"))) // which the network would give
	do := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
		out, err := c.CombinedOutput()
		if err != nil && strings.Contains(string(out), "module lookup disabled") {
			t.Skipf("the cache of modules lacks what a new project needs:\n%s", out)
		}
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	do("go", "mod", "tidy")
	same(t, "files that are not formatted", "", do("gofmt", "-l", "."))
	do("go", "vet", "./...")
	matches(t, do("go", "test", "-count=1", "-v", "./..."), `PASS: TestContract`, `PASS: TestLearns`)
	do("go", "build")
	matches(t, do("./hover", "list", "environments"), `(?m)^Push +num_envs +1 `, `(?m)^ +episode_length +100 +`,
		`(?m)^ +force +1 `)
	matches(t, do("./hover", "train", "--config", "train.yaml", "--timesteps", "100"),
		`Evaluate it: hover eval runs/push`)
	matches(t, do("./hover", "eval", "runs/push", "--episodes", "4", "--record", "push.gif"), `episodes of Push`)
	decodeGIF(t, "push.gif")
	matches(t, do("./hover", "export", "runs/push", "push.onnx"), `push.onnx`)
	matches(t, do("./hover", "plot", "runs/push"), `plot.png`)
}

// TestInitRefuses checks that nothing is replaced or half written, and that what cannot be a module is refused.
func TestInitRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	stdout, _ := gorl(t, 0, "init", "one")
	matches(t, stdout, `go mod edit -replace github.com/gorl-dev/gorl=PATH`)
	matches(t, text("one/go.mod"), `^module one\n\ngo 1\.\d+\n\nrequire github.com/gorl-dev/gorl v0.0.0\n$`)
	must(t, os.Mkdir("two", 0o755))
	write(t, "two/main.go", "mine")
	refuses(t, commandline.WrongUse, [][2]string{
		{"init two", "two has main.go already, and nothing is replaced"},
		{"init 'a folder'", `the module's path would be "a folder"`},
		{"init three --replace one", "it is no checkout of gorl"},
	})
}
