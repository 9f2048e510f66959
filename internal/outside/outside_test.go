package outside

import (
	"debug/elf"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// checkLibraries reports an error unless the program needs the two shims and no particular libtorch:
// that is what lets one binary run on another machine's libtorch, through shims built there.
func checkLibraries(t *testing.T, path string) {
	t.Helper()
	file := must.Get(elf.Open(path))(t)
	defer file.Close()
	needed := strings.Join(must.Get(file.ImportedLibraries())(t), " ")
	for library, want := range map[string]bool{"libcgotorch.so": true, "libgorltorch.so": true, "libtorch": false,
		"libc10": false} {
		must.Equal(t, "the program needs "+library+" itself: "+needed, want, strings.Contains(needed, library))
	}
}

// run runs a command with none of the variables that could tell the compiler, the linker or the loader where anything
// is.
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
