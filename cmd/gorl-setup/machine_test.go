package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// A machine is a PATH, a home folder and a set of fake programs in which gorl's scripts run without root, without the
// network and without a compiler.
type machine struct {
	t    *testing.T
	root string // holds bin, home, wheels and the log of the fake programs
	env  []string
}

// realTools are the programs of this machine that the scripts may use.
var realTools = strings.Fields(
	`awk basename bash cat chmod cmp cp cut dirname du env find flock getconf go grep head ln ls
	mkdir mktemp mv nproc readlink rm sha256sum sort stat tail tee tr uname xargs`)

// The fake programs. FAKE_... variables choose what they do.
var fakeTools = map[string]string{
	"id":       `echo 1001`,
	"df":       `echo; echo "disk 1 1 ${FAKE_FREE:-9000} 1% /"`,
	"nm":       `printf '%s\n' "${FAKE_SYMBOLS:-_ZN3c106failERKNSt7__cxx1112basic_string}"`,
	"ldconfig": `echo "libgorltorch.so => /usr/local/lib/libgorltorch.so"`,
	"g++": `
echo "g++ $*" >>"$MACHINE/log"
case " $* " in
*" -dumpmachine "*) echo plain; exit ;;
*" -dumpfullversion "*) echo 12; exit ;;
*" -std=c++20 -fsyntax-only "*) exit "${FAKE_OLD_COMPILER:-0}" ;;
esac
while [ $# -gt 0 ] && [ "$1" != -o ]; do shift; done
[ $# -gt 0 ] || exit 0
echo half >"$2"
case $FAKE_GPP in
fail) echo "error writing to /tmp/x.s: No space left on device" >&2; exit 1 ;;
killed) kill -9 "$(cat "$MACHINE/pid")" ;;
esac
echo built >"$2"`,
	"python3": `
case "$*" in
--version) echo "Python 3.5.2" ;;
"-c "*) exit "${FAKE_OLD_PYTHON:-0}" ;;
"-m pip --version") [ "$FAKE_PIP" = none ] && exit 1; echo "pip 24.0 from x" ;;
"-m pip download "*)
	while [ "$1" != -d ]; do shift; done
	read -r requirement hash <"$4"
	echo "pip $requirement $hash" >>"$MACHINE/log"
	case $FAKE_PIP in
	network) echo "NewConnectionError: Failed to establish a new connection" >&2; exit 1 ;;
	full) echo "ERROR: [Errno 28] No space left on device" >&2; exit 1 ;;
	absent) echo "ERROR: No matching distribution found for $requirement" >&2; exit 1 ;;
	killed) kill -9 "$(cat "$MACHINE/pid")"; exit 1 ;;
	esac
	cp "$MACHINE/wheels/${requirement%%==*}.whl" "$2" ;;
*) exec "$PYTHON_REAL" "$@" ;;
esac`,
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	m := &machine{t: t, root: t.TempDir()}
	for _, folder := range []string{"bin", "home", "wheels"} {
		must.Do(t, os.Mkdir(filepath.Join(m.root, folder), 0o755))
	}
	for _, tool := range realTools {
		path, err := exec.LookPath(tool)
		if err != nil {
			continue // each script has its way without flock
		}
		must.Do(t, os.Symlink(path, filepath.Join(m.root, "bin", tool)))
	}
	for tool, body := range fakeTools {
		m.tool(tool, body)
	}
	python, _ := exec.LookPath("python3")
	m.env = []string{
		"PATH=" + filepath.Join(m.root, "bin"), "HOME=" + filepath.Join(m.root, "home"), "MACHINE=" + m.root,
		"PYTHON_REAL=" + python, "SHIM_DIR=" + filepath.Join(m.root, "lib"), "GORL_NATIVE=0",
	}
	for _, name := range []string{"GOMODCACHE", "GOPROXY", "GOFLAGS", "GOROOT"} {
		value := must.Get(exec.Command("go", "env", name).Output())(t)
		m.env = append(m.env, name+"="+strings.TrimSpace(string(value)))
	}
	m.wheel("torch", "torch/include/torch/csrc/api/include/torch/torch.h",
		"torch/include/torch/csrc/api/include/torch/all.h=202002L", "torch/lib/libtorch.so",
		"torch/lib/libtorch_cpu.so", "torch/lib/libc10.so", "torch/lib/libtorch_cuda.so", "torch/lib/libc10_cuda.so",
		"torch/lib/libtorch_python.so", "torch/nn/modules.py", "torch-2.dist-info/licenses/LICENSE")
	m.wheel("nvidia-cuda-runtime", "nvidia/cu13/lib/libcudart.so.13", "nvidia/cu13/include/cuda.h")
	m.wheel("nvidia-cuda-cupti", "nvidia/cu13/lib/libcupti.so.13", "nvidia/cu13/lib/libnvperf_host.so")
	m.wheel("mujoco", "mujoco/include/mujoco/mujoco.h", "mujoco/libmujoco.so.9", "mujoco/_structs.so")
	return m
}

// tool makes a fake program.
func (m *machine) tool(name, body string) {
	m.t.Helper()
	path := filepath.Join(m.root, "bin", name)
	must.Do(m.t, os.WriteFile(path, []byte("#!"+filepath.Join(m.root, "bin", "bash")+"\n"+body+"\n"), 0o755))
}

// without removes a program.
func (m *machine) without(name string) {
	m.t.Helper()
	must.Do(m.t, os.Remove(filepath.Join(m.root, "bin", name)))
}

// wheel makes a wheel with the given files. A name may be followed by = and the content.
func (m *machine) wheel(name string, files ...string) {
	m.t.Helper()
	var buffer bytes.Buffer
	archive := zip.NewWriter(&buffer)
	for _, file := range files {
		file, content, _ := strings.Cut(file, "=")
		w := must.Get(archive.Create(file))(m.t)
		must.Get(w.Write([]byte(content + "\n")))(m.t)
	}
	must.Do(m.t, archive.Close())
	must.Do(m.t, os.WriteFile(filepath.Join(m.root, "wheels", name+".whl"), buffer.Bytes(), 0o644))
}

// run runs a script of gorl's, with an argument if a blank follows its name, and with further environment variables. It
// returns what the script wrote and its exit status,
// -1 if it was killed.
func (m *machine) run(script string, env ...string) (output string, status int) {
	m.t.Helper()
	script, argument, _ := strings.Cut(script, " ")
	path := must.Get(filepath.Abs(filepath.Join("../../scripts", script)))(m.t)
	arguments := []string{"-c", `echo $$ >"$MACHINE/pid"; exec bash "$@"`, "bash", path}
	if argument != "" {
		arguments = append(arguments, argument)
	}
	command := exec.Command(filepath.Join(m.root, "bin", "bash"), arguments...)
	command.Env = append(slices.Clone(m.env), env...)
	written, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return string(written), command.ProcessState.ExitCode()
}

// succeeds runs a script and fails the test unless the script exits with 0.
func (m *machine) succeeds(script string, env ...string) string {
	m.t.Helper()
	output, status := m.run(script, env...)
	if status != 0 {
		m.t.Fatalf("%s %v: exit %d\n%s", script, env, status, output)
	}
	return output
}

// log returns what the fake programs were called with, and empties it.
func (m *machine) log() string {
	m.t.Helper()
	path := filepath.Join(m.root, "log")
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	os.Remove(path)
	return string(data)
}

// tree returns the names under a folder of the machine, with the content of regular files and the targets of links.
func (m *machine) tree(folder string) map[string]string {
	m.t.Helper()
	found := map[string]string{}
	root := filepath.Join(m.root, folder)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == root {
			return fs.SkipAll
		}
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		switch {
		case entry.Type().IsRegular():
			data, err := os.ReadFile(path)
			found[name] = string(data)
			return err
		case entry.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			found[name] = "-> " + target
			return err
		}
		return nil
	})
	must.Do(m.t, err)
	return found
}

func needsPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3, which unpacks wheels")
	}
}

const torchFolder = ".cache/gorl/pypi/torch-2.15.0"
