package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// Each way in which a fetch fails says in its last line what to do, and a second run mends it.
func TestFetchFails(t *testing.T) {
	needsPython(t)
	for _, c := range []struct {
		name, env, want string
	}{
		{"no network", "FAKE_PIP=network", "the package index did not answer: check the network"},
		{"disk fills", "FAKE_PIP=full", "is full: make room for 1200 MB"},
		{"incomplete index", "FAKE_PIP=absent", "does not have torch==2.15.0 for"},
		{"old Python", "FAKE_OLD_PYTHON=1",
			"Python 3.5.2 is too old to fetch torch-2.15.0: set PYTHON to 3.6 or later"},
		{"no pip", "FAKE_PIP=none", "has no pip to fetch torch-2.15.0 with: install python3-pip"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			output, status := m.run("pypi.sh torch", c.env)
			lines := strings.Split(strings.TrimSpace(output), "\n")
			if last := lines[len(lines)-1]; status != 1 || !strings.HasPrefix(last, "pypi: ") ||
				!strings.Contains(last, c.want) {
				t.Errorf("exit %d, last line %q, want exit 1 and %q", status, last, c.want)
			}
			if _, err := os.Stat(filepath.Join(m.root, "home", torchFolder)); err == nil {
				t.Error("the folder has its name although the fetch failed")
			}
			m.complete(m.succeeds("pypi.sh torch"))
		})
	}
}

// complete fails the test unless output ends with the folder of a complete libtorch for the CPU.
func (m *machine) complete(output string) {
	m.t.Helper()
	want := filepath.Join(m.root, "home", torchFolder)
	if !strings.HasSuffix(output, want+"/torch\n") {
		m.t.Errorf("pypi.sh wrote %q, want the folder %s/torch at the end", output, want)
	}
	names := []string{}
	for name := range m.tree("home/" + torchFolder) {
		names = append(names, name)
	}
	slices.Sort(names)
	if wanted := []string{
		".files", "nvidia/cu13/lib/libcudart.so.13", "nvidia/cu13/lib/libcupti.so.13",
		"torch-2.dist-info/licenses/LICENSE",
		"torch/include/torch/csrc/api/include/torch/all.h", "torch/include/torch/csrc/api/include/torch/torch.h",
		"torch/lib/libc10.so", "torch/lib/libtorch_cpu.so",
	}; !slices.Equal(names, wanted) {
		m.t.Errorf("fetched %q, want %q", names, wanted)
	}
	if rest, _ := filepath.Glob(want + ".part"); rest != nil {
		m.t.Errorf("%s is left", rest)
	}
}

// A fetch that was killed, or whose folder was damaged, is mended by the next; a complete one is not repeated.
func TestFetchAgain(t *testing.T) {
	needsPython(t)
	m := newMachine(t)
	if output, status := m.run("pypi.sh torch", "FAKE_PIP=killed"); status != -1 {
		t.Fatalf("exit %d, want a killed script\n%s", status, output)
	}
	m.complete(m.succeeds("pypi.sh torch"))
	if got := m.log(); strings.Count(got, "pip torch==2.15.0 --hash=sha256:") != 2 {
		t.Errorf("pip was called for %q, want torch twice", got)
	}
	m.complete(m.succeeds("pypi.sh torch"))
	if got := m.log(); got != "" {
		t.Errorf("a complete libtorch was fetched again: %q", got)
	}
	must.Do(t, os.Truncate(filepath.Join(m.root, "home", torchFolder, "torch/lib/libc10.so"), 0))
	output := m.succeeds("pypi.sh torch")
	m.complete(output)
	if want := "is damaged and is fetched again"; !strings.Contains(output, want) {
		t.Errorf("%q, want %q", output, want)
	}
}

// From nothing, a user without root gets libraries in a folder of the user's, links to MuJoCo, linker scripts for what
// gotorch asks for, and flags for go that keep the user's own.
func TestSetupWithoutRoot(t *testing.T) {
	needsPython(t)
	m := newMachine(t)
	m.env = append(m.env, "GOENV="+filepath.Join(m.root, "goenv"))
	must.Do(t, os.WriteFile(filepath.Join(m.root, "goenv"), []byte("CGO_LDFLAGS=-lmine\n"), 0o644))

	// A dry run names the steps and changes nothing.
	unchanged := func() map[string]string {
		files := m.tree(".")
		maps.DeleteFunc(files, func(name, _ string) bool {
			return name == "pid" || strings.HasPrefix(name, "home/.config/go/") // the go command's own counters
		})
		return files
	}
	before := unchanged()
	output := m.succeeds("setup.sh", "FROM=pypi", "DRY_RUN=1")
	prefix := filepath.Join(m.root, "home/.local")
	for _, want := range []string{"fetching torch-2.15.0", "fetching mujoco-", "building libcgotorch.so",
		"installing " + prefix + "/lib/libgorltorch.so", "go env -w"} {
		if !strings.Contains(output, want) {
			t.Errorf("the dry run does not say %q:\n%s", want, output)
		}
	}
	if after := unchanged(); !maps.Equal(before, after) {
		t.Errorf("the dry run changed files: %d before, %d after", len(before), len(after))
	}

	// Without a terminal, go env stays as it is; make's recipes read env.sh.
	output = m.succeeds("setup.sh", "FROM=pypi")
	libtorch := filepath.Join(m.root, "home", torchFolder, "torch/lib")
	mujoco := filepath.Join(m.root, "home/.cache/gorl/pypi", mujocoVersion(t))
	want := map[string]string{
		"lib/libcgotorch.so":  "built\n",
		"lib/libgorltorch.so": "built\n",
		"lib/libtorch.a":      "INPUT(AS_NEEDED(\"" + libtorch + "/libtorch_cpu.so\"))\n",
		"lib/libtorch_cpu.a":  "INPUT(AS_NEEDED(\"" + libtorch + "/libtorch_cpu.so\"))\n",
		"lib/libc10.a":        "INPUT(AS_NEEDED(\"" + libtorch + "/libc10.so\"))\n",
		"lib/libmujoco.so":    "-> libmujoco.so.9",
		"lib/libmujoco.so.9":  "-> " + mujoco + "/mujoco/libmujoco.so.9",
		"include/mujoco":      "-> " + mujoco + "/mujoco/include/mujoco",
	}
	got := m.tree("home/.local")
	for name := range got {
		if got[name] != want[name] {
			t.Errorf("%s is %q, want %q", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("installed %v, want %v", got, want)
	}
	if log := m.log(); strings.Contains(log, "-ltorch ") || !strings.Contains(log, "-Wl,-rpath,"+libtorch+" ") {
		t.Errorf("compiled by %q, want an rpath to %s and no -ltorch", log, libtorch)
	}
	flags := "-lmine -L" + prefix + "/lib -Wl,-rpath," + prefix + "/lib"
	for line := range strings.Lines(output) {
		if strings.HasSuffix(line, "make works without it\n") && !strings.HasPrefix(line, "setup: ready") {
			t.Errorf("setup does not write in its name: %q", line)
		}
	}
	if line := "go env -w 'CGO_CFLAGS=-O2 -g -I" + prefix + "/include' 'CGO_LDFLAGS=" +
		flags + "'"; !strings.Contains(output, line) {
		t.Errorf("setup wrote %q, want %q in it", output, line)
	}
	must.Equal(t, "the settings of go env, which setup must not change", "CGO_LDFLAGS=-lmine\n", m.tree(".")["goenv"])
	// A go command that is a bash script itself must not read env.sh again, which calls go.
	recipe := exec.Command(filepath.Join(m.root, "bin/bash"), "-c", "go env CGO_LDFLAGS; echo ${BASH_ENV-once}")
	recipe.Env = append(slices.Clone(m.env), "BASH_ENV="+filepath.Join(m.root, "lib/env.sh"))
	if got, err := recipe.Output(); err != nil || string(got) != flags+"\nonce\n" {
		t.Errorf("a recipe has CGO_LDFLAGS %q, %v, want %q, once", got, err, flags)
	}

	// The choices are remembered, even if there is apt-get; YES=1 sets go env; the run after it has nothing to say.
	m.tool("apt-get", "exit 1")
	m.tool("dpkg-query", "exit 1")
	if output = m.succeeds("setup.sh", "YES=1"); !strings.Contains(m.tree(".")["goenv"], "CGO_LDFLAGS="+flags+"\n") {
		t.Errorf("go env holds %q, want %q:\n%s", m.tree(".")["goenv"], flags, output)
	}
	m.log()
	output = m.succeeds("setup.sh")
	if log := m.log(); strings.Contains(output, "go env") || strings.Contains(output, "installing") ||
		strings.Contains(log, " -c ") || strings.Contains(log, "pip ") {
		t.Errorf("a second run does something: %s", output)
	}
}

// mujocoVersion returns the name of MuJoCo's folder in pypi.sh.
func mujocoVersion(t *testing.T) string {
	t.Helper()
	data := must.Read(t, "../../scripts/pypi.sh")
	_, rest, _ := strings.Cut(string(data), "name=mujoco-")
	version, _, _ := strings.Cut(rest, " ")
	return "mujoco-" + version
}

// What is missing for a build is said before anything is fetched, a build that was killed is repeated, and libtorch's
// two kinds of C++ strings are told apart.
func TestBuildFails(t *testing.T) {
	needsPython(t)
	m := newMachine(t)
	m.without("g++")
	output, status := m.run("setup.sh", "FROM=pypi")
	if want := "no C++ compiler 'g++' found: install g++"; status != 1 || !strings.Contains(output, want) ||
		m.log() != "" {
		t.Errorf("exit %d, %q, want exit 1 and %q before pip is called", status, output, want)
	}
	m.tool("g++", fakeTools["g++"])
	libtorch := strings.TrimSpace(m.succeeds("pypi.sh torch"))
	libtorch = "LIBTORCH=" + libtorch[strings.LastIndex(libtorch, "\n")+1:]

	for _, c := range []struct{ env, want string }{
		{"FAKE_OLD_COMPILER=1", "this libtorch needs C++20, which g++ 12 does not know: install g++ 11 or later"},
		{"FAKE_GPP=fail", "could not be built; the compiler's message stands above"},
		{"FAKE_FREE=3", "has only 3 MB free; make room for 200 MB and run this again"},
	} {
		fail := "FAKE_GPP=fail"
		if strings.HasPrefix(c.env, "FAKE_OLD") {
			fail = "FAKE_GPP="
		}
		if output, status := m.run("shim.sh", libtorch, "JOBS=1", fail, c.env); status == 0 ||
			!strings.Contains(output, c.want) {
			t.Errorf("%s: exit %d, %q, want a failure and %q", c.env, status, output, c.want)
		}
	}
	if output, status := m.run("shim.sh", libtorch, "FAKE_GPP=killed"); status != -1 {
		t.Fatalf("exit %d, want a killed script\n%s", status, output)
	}
	m.succeeds("shim.sh", libtorch)
	built := m.tree("lib")
	if built["libgorltorch.so"] != "built\n" || built["libcgotorch.so"] != "built\n" {
		t.Errorf("after a build that was killed, the libraries are %q and %q", built["libgorltorch.so"],
			built["libcgotorch.so"])
	}
	for name := range built {
		if strings.Contains(name, ".work") {
			t.Errorf("%s of the build that was killed is left", name)
		}
	}

	m.log()
	m.succeeds("shim.sh", libtorch, "FAKE_SYMBOLS=_ZN3c106failERKSs\n_ZNSt11logic_errorC1ERKNSt7__cxx1112basic_string")
	if log := m.log(); !strings.Contains(log, "-D_GLIBCXX_USE_CXX11_ABI=0 ") ||
		strings.Contains(log, "-D_GLIBCXX_USE_CXX11_ABI=1 ") {
		t.Errorf("a libtorch with the older strings was compiled against by %q", log)
	}
}

// Debian's packages need root: setup.sh says so, and asks before it uses sudo.
func TestDebianNeedsRoot(t *testing.T) {
	m := newMachine(t)
	m.tool("dpkg-query", "exit 1")
	m.tool("apt-get", `echo "apt-get $*" >>"$MACHINE/log"; exit 1`)
	output, status := m.run("setup.sh")
	if want := "this needs root, and there is no sudo"; status != 1 || !strings.Contains(output, want) ||
		!strings.Contains(output, "FROM=pypi") {
		t.Errorf("exit %d, %q, want exit 1, %q and FROM=pypi", status, output, want)
	}
	m.tool("sudo", `echo "sudo $*" >>"$MACHINE/log"; "$@"`)
	output, status = m.run("setup.sh")
	if want := "was not allowed to use sudo: allow it with YES=1"; status != 1 || !strings.Contains(output, want) ||
		m.log() != "" {
		t.Errorf("exit %d, %q, want exit 1, %q and no sudo", status, output, want)
	}
	output, status = m.run("setup.sh", "YES=1")
	if want := "apt-get could not install g++ libmujoco-dev libtorch-dev"; status != 1 ||
		!strings.Contains(output, want) || !strings.Contains(m.log(), "sudo env") {
		t.Errorf("exit %d, %q, want exit 1, %q and sudo", status, output, want)
	}
	// Without apt-get, set-up takes PyPI.
	m.without("apt-get")
	if output := m.succeeds("setup.sh", "DRY_RUN=1"); !strings.Contains(output,
		"there is no apt-get: taking libtorch and MuJoCo from PyPI") {
		t.Errorf("without apt-get: %q", output)
	}
}
