package outside

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

const guest = "testdata/guest"

// compile makes a program, or with -shared a library, of a C file. It skips the test if there is no C compiler.
func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler:", err)
	}
	output := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c"))
	command := exec.Command(cc, slices.Concat([]string{"-O1", "-I../../tensor/csrc", "-o", output}, flags,
		[]string{source, "-ldl"})...)
	must.Run(t, command)
	return output
}

// counted runs a program that count.c counts in, with further libraries before the C library. It returns what the
// program printed, and the counted calls by the step of the program: "fork libgorltorch.so".
func counted(t *testing.T, program string, args, env []string, preload ...string) (output string,
	calls map[string][]string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	preload = append(preload, compile(t, filepath.Join(guest, "count.c"), "-shared", "-fPIC"))
	command := exec.Command(program, args...)
	command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OPENBLAS_") })
	command.Env = append(append(command.Env, "GUEST_LOG="+log, "LD_PRELOAD="+strings.Join(preload, " ")), env...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", command.Args, err, out, stderr.String())
	}
	text := must.Read(t, log)
	calls = map[string][]string{}
	var step []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ends := strings.CutPrefix(line, "= "); ends {
			calls[name], step = step, nil
			continue
		}
		step = append(step, line)
	}
	calls[""] = step // after the last step, or all
	return string(out), calls
}

// field returns what follows a word at the beginning of a line of output.
func field(t *testing.T, output, word string) string {
	t.Helper()
	for line := range strings.Lines(output) {
		if value, found := strings.CutPrefix(line, word+" "); found {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no line begins with %q:\n%s", word, output)
	return ""
}

// host runs host.c with gorl's library in a folder, "" for the installed one.
func host(t *testing.T, folder string, preload ...string) (output string, calls map[string][]string) {
	t.Helper()
	return counted(t, compile(t, filepath.Join(guest, "host.c")),
		[]string{"libcgotorch.so", filepath.Join(folder, "libgorltorch.so")}, nil, preload...)
}

// unknown is a library that lets OpenBLAS believe that it does not know the processor.
func unknown(t *testing.T) string {
	return compile(t, "../../tensor/testdata/unknown.c", "-shared", "-fPIC")
}

// TestGuestLoads loads gorl's library into a program that has libtorch already, with an OpenBLAS that knows the
// processor and with one that does not. Loading calls none of the counted functions and leaves the process as it was.
func TestGuestLoads(t *testing.T) {
	for name, preload := range map[string][]string{"processor that OpenBLAS knows": nil,
		"processor that OpenBLAS does not know": {unknown(t)}} {
		t.Run(name, func(t *testing.T) {
			output, calls := host(t, "", preload...)
			t.Logf("loading libtorch and OpenBLAS, which gorl does not decide:\n%s\n%q", output, calls["libtorch"])
			if got := calls["gorl"]; len(got) > 0 {
				t.Errorf("loading libgorltorch.so calls %q", got)
			}
			if before, after := field(t, output, "libtorch:"), field(t, output, "gorl:"); before != after {
				t.Errorf("loading libgorltorch.so changes the process:\n%s\n%s", before, after)
			}
			for _, call := range calls["use"] {
				if function, caller, _ := strings.Cut(call, " "); strings.HasPrefix(caller, "libgorltorch") &&
					function != "posix_spawn" {
					t.Errorf("the first operation calls %s", call)
				}
			}
			must.Equal(t, "the sum of 64 × 64 ones times themselves", "262144", field(t, output, "sum"))
			// gorl_tune_allocator, when it is asked.
			if got := calls["tuned"]; len(got) != 4 || !slices.Contains(got, "mallopt libgorltorch.so") {
				t.Errorf("gorl_tune_allocator calls %q; want mallopt four times", got)
			}
			_, after, maps := strings.Cut(output, "allocator maps\n")
			if maps && field(t, after, "allocator") != "keeps" {
				t.Errorf("afterwards the allocator does not keep blocks of 31 MB:\n%s", after)
			}
		})
	}
}

// TestCommandTunesAllocator builds gorl's command and runs it. Its process is its own. The build needs no variable that
// says where a library is.
func TestCommandTunesAllocator(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	gorl := filepath.Join(t.TempDir(), "gorl")
	if _, err := os.Stat("/usr/local/lib/libgorltorch.so"); err != nil && os.Getenv("CGO_LDFLAGS") != "" {
		t.Log("gorl's libraries are not in /usr/local/lib: go needs CGO_LDFLAGS")
		must.Run(t, exec.Command("go", "build", "-o", gorl, "../../cmd/gorl"))
	} else {
		run(t, "../..", "go", "build", "-o", gorl, "./cmd/gorl")
		if runtime.GOOS == "linux" {
			checkLibraries(t, gorl)
		}
	}
	_, calls := counted(t, gorl, []string{"version"}, nil)
	tunes := slices.DeleteFunc(calls[""], func(c string) bool { return !strings.HasPrefix(c, "mallopt ") })
	must.Equal(t, "calls of mallopt", 4, len(tunes))
}

// TestGuestChoosesKernels uses gorl's library beside the files that `make setup` writes, and without them. OpenBLAS is
// the real one, which is made to believe that it does not know the processor.
func TestGuestChoosesKernels(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("gorl chooses kernels on x86-64 only")
	}
	preload := unknown(t)
	output, _ := host(t, "", preload)
	installed, checked := field(t, output, "library"), field(t, output, "kernels")
	if checked != "SkylakeX (checked)" && checked != "Haswell (checked)" {
		t.Skipf("there is nothing to choose here: %s", checked)
	}
	folder := t.TempDir()
	check, file := filepath.Join(folder, "gorl-blas-check"), filepath.Join(folder, "libgorltorch.blas")
	library := filepath.Join(folder, "libgorltorch.so")
	must.Do(t, os.WriteFile(library, must.Read(t, installed), 0o755))
	must.Do(t, os.WriteFile(check, must.Read(t, filepath.Join(filepath.Dir(installed), "gorl-blas-check")), 0o755))
	expect := func(what, kernels string, spawns int, env ...string) {
		t.Helper()
		output, calls := counted(t, compile(t, filepath.Join(guest, "host.c")), []string{"libcgotorch.so", library},
			env, preload)
		own := slices.DeleteFunc(calls["use"], func(c string) bool { return !strings.Contains(c, "gorltorch") })
		if got := field(t, output, "kernels"); !strings.HasPrefix(got, kernels) {
			t.Errorf("%s: the kernels are %q, want %q", what, got, kernels)
		}
		if len(own) != spawns || spawns > 0 && own[0] != "posix_spawn libgorltorch.so" {
			t.Errorf("%s: gorl calls %q, want %d starts of gorl-blas-check", what, own, spawns)
		}
	}
	expect("not checked", checked, 1)
	command := exec.Command(check, installed, file) // as scripts/shim.sh does
	command.Env = append(os.Environ(), "LD_PRELOAD="+preload)
	must.Equal(t, "it says what gorl takes", true, strings.Contains(must.Run(t, command), "gorl takes "))
	expect("checked by make setup", checked, 0)
	expect("the user's choice", "Nehalem", 0, "OPENBLAS_CORETYPE=Nehalem")
	text := must.Read(t, file)
	for what, change := range map[string][2]string{
		"checked for another processor": {"processor: ", "processor: another "},
		"checked for another OpenBLAS":  {"openblas: ", "openblas: /another"},
		"cut short":                     {"\nremark: checked\n", "\nremark: chec"},
	} {
		write(t, file, strings.Replace(string(text), change[0], change[1], 1))
		expect(what, checked, 1)
	}
	must.Do(t, os.Remove(file))
	write(t, check, "#!/bin/sh\necho kernels: SkylakeX\nexit 1\n")
	expect("a check that fails", "Prescott (slow on this processor; checking faster kernels failed: run "+check, 1)
	must.Do(t, os.Remove(check))
	expect("nothing to check with", "Prescott (slow on this processor; faster kernels could not be checked, because "+
		check+" is missing: run make setup)", 0)
}

// TestGuestImports compares a program that imports all of gorl's packages, and does nothing, with one that imports
// gotorch.
func TestGuestImports(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	const module = "github.com/gorl-dev/gorl/"
	list := must.Get(exec.Command("go", "list", "-C", "../..", "-f", `{{if ne .Name "main"}}{{.ImportPath}}{{end}}`,
		"./...").Output())(t)
	var program strings.Builder
	program.WriteString("package main\n\nimport (\n\t\"" + module + "internal/outside/" + guest + "/report\"\n")
	packages := 0
	for name := range strings.FieldsSeq(string(list)) {
		if strings.HasPrefix(name, module) && !strings.Contains(name, "/internal/") &&
			!strings.Contains(name, "/snippets") {
			fmt.Fprintf(&program, "\t_ %q\n", name)
			packages++
		}
	}
	if packages < 40 {
		t.Fatalf("go list names %d packages of gorl:\n%s", packages, list)
	}
	program.WriteString(")\n\nfunc main() { report.Print() }\n")
	dir := t.TempDir()
	here := must.Get(os.Getwd())(t)
	write(t, filepath.Join(dir, "main.go"), program.String())
	overlay := must.Get(json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(here, guest, "gorl", "main.go"): filepath.Join(dir, "main.go"),
	}}))(t)
	write(t, filepath.Join(dir, "overlay.json"), string(overlay))
	state, called := map[string]map[string]any{}, map[string]map[string]int{}
	for _, name := range []string{"gotorch", "gorl"} {
		build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"),
			"-o", filepath.Join(dir, name), "./"+filepath.Join(guest, name))
		must.Run(t, build)
		output, calls := counted(t, filepath.Join(dir, name), nil, nil, unknown(t))
		var s map[string]any
		if err := json.Unmarshal([]byte(output), &s); err != nil {
			t.Fatalf("%v:\n%s", err, output)
		}
		state[name] = s
		called[name] = map[string]int{}
		for _, call := range calls[""] {
			function, caller, _ := strings.Cut(call, " ")
			if caller == name {
				caller = "Go"
			}
			called[name][function+" by "+caller]++
		}
		delete(called[name], "pthread_create by Go") // whose number is up to its scheduler
	}
	if state["gorl"]["locked"] != false {
		t.Error("the main goroutine is locked to its OS thread, as gotorch's init leaves it")
	}
	for _, s := range state { // apart from gotorch's lock, and what tells the two programs where to write
		delete(s, "locked")
		s["environment"] = slices.DeleteFunc(s["environment"].([]any), func(v any) bool {
			return strings.HasPrefix(v.(string), "GUEST_LOG=") || strings.HasPrefix(v.(string), "LD_PRELOAD=")
		})
	}
	must.Equal(t, "what importing gorl makes of the process", state["gotorch"], state["gorl"])
	must.Equal(t, "what importing gorl calls", called["gotorch"], called["gorl"])
}
