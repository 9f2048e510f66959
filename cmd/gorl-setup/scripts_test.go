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

// complete fails the test unless output ends with the folder of a complete libtorch for the CPU.
func (m *machine) complete(output string) {
	m.t.Helper()
	want := filepath.Join(m.root, "home", torchFolder)
	if !strings.HasSuffix(output, want+"/torch\n") {
		m.t.Errorf("pypi.sh wrote %q, want the folder %s/torch at the end", output, want)
	}
	must.Equal(m.t, "fetched", []string{
		".files", "nvidia/cu13/lib/libcudart.so.13", "nvidia/cu13/lib/libcupti.so.13",
		"torch-2.dist-info/licenses/LICENSE",
		"torch/include/torch/csrc/api/include/torch/all.h", "torch/include/torch/csrc/api/include/torch/torch.h",
		"torch/lib/libc10.so", "torch/lib/libtorch_cpu.so",
	}, slices.Sorted(maps.Keys(m.tree("home/"+torchFolder))))
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
	if !strings.Contains(output, "fetching mujoco-") || !strings.Contains(output, "go env -w") {
		t.Errorf("the dry run does not name its steps:\n%s", output)
	}
	must.Equal(t, "files after the dry run", before, unchanged())

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
	must.Equal(t, "installed", want, m.tree("home/.local"))
	if log := m.log(); strings.Contains(log, "-ltorch ") || !strings.Contains(log, "-Wl,-rpath,"+libtorch+" ") {
		t.Errorf("compiled by %q, want an rpath to %s and no -ltorch", log, libtorch)
	}
	flags := "-lmine -L" + prefix + "/lib -Wl,-rpath," + prefix + "/lib"
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
	if log := m.log(); strings.Contains(output, "go env") || strings.Contains(log, " -c ") ||
		strings.Contains(log, "pip ") {
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
