package outside

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// program uses gorl's tensors, gotorch's, and the two together: 1·4 + 2·5 + 3·6 = 32, and 32 + 32 by gotorch.
const program = `package main

import (
	"fmt"
	"log"

	"github.com/gorl-dev/gorl/tensor"
	"github.com/wangkuiyi/gotorch"
)

func main() {
	s := tensor.NoGrad()
	defer s.Close()
	a := gotorch.NewTensor([]float32{1, 2, 3})
	b := gotorch.NewTensor([]float32{4, 5, 6})
	dot := s.Sum(s.Mul(a, b))
	twice, err := tensor.Item(gotorch.Add(dot, dot, 1))
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(twice)
}
`

// TestPlainGoBuild builds and runs a module of its own, with none of the variables that could
// tell the compiler, the linker or the loader where anything is.
func TestPlainGoBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	if _, err := os.Stat("/usr/local/lib/libgorltorch.so"); err != nil && os.Getenv("CGO_LDFLAGS") != "" {
		t.Skip("gorl's libraries are not in /usr/local/lib, and elsewhere go needs CGO_LDFLAGS")
	}
	repository := must.Get(filepath.Abs("../.."))(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), module(t, repository))
	write(t, filepath.Join(dir, "main.go"), program)
	sums := must.Read(t, filepath.Join(repository, "go.sum"))
	write(t, filepath.Join(dir, "go.sum"), string(sums))

	run(t, dir, "go", "build", "-o", "program", ".")
	must.Equal(t, "what the program prints", "64", strings.TrimSpace(run(t, dir, "./program")))
	if runtime.GOOS == "linux" {
		checkLibraries(t, filepath.Join(dir, "program"))
	}
}

// checkLibraries reports an error unless the program needs the two shims and no particular libtorch:
// that is what lets one binary run on another machine's libtorch, through shims built there.
func checkLibraries(t *testing.T, path string) {
	t.Helper()
	file := must.Get(elf.Open(path))(t)
	defer file.Close()
	needed := strings.Join(must.Get(file.ImportedLibraries())(t), " ")
	for _, shim := range []string{"libcgotorch.so", "libgorltorch.so"} {
		if !strings.Contains(needed, shim) {
			t.Errorf("the program does not need %s, but %s", shim, needed)
		}
	}
	for _, library := range []string{"libtorch", "libc10"} {
		if strings.Contains(needed, library) {
			t.Errorf("the program needs %s itself, not only through the shims: %s", library, needed)
		}
	}
}

// module is a go.mod that requires gorl, found in the repository, and what gorl requires.
func module(t *testing.T, repository string) string {
	t.Helper()
	text := must.Read(t, filepath.Join(repository, "go.mod"))
	_, requirements, found := strings.Cut(string(text), "\n\n")
	if !found {
		t.Fatal("go.mod has no blank line after its module line")
	}
	return "module example.com/outside\n\n" + requirements +
		"\nrequire github.com/gorl-dev/gorl v0.0.0\n\nreplace github.com/gorl-dev/gorl => " + repository + "\n"
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	command := exec.Command(name, args...)
	command.Dir = dir
	for _, variable := range os.Environ() {
		key, _, _ := strings.Cut(variable, "=")
		switch {
		case strings.HasPrefix(key, "CGO_"), strings.HasPrefix(key, "LD_"), key == "LIBTORCH", key == "GOFLAGS",
			key == "LIBRARY_PATH", strings.HasSuffix(key, "_PATH") && strings.Contains(key, "INCLUDE"), key == "CPATH",
			key == "PKG_CONFIG_PATH", key == "GOWORK":
		default:
			command.Env = append(command.Env, variable)
		}
	}
	return must.Run(t, command)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
}
