package trackers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// python returns a Python whose package wandb is the given text. It skips the test if there is no Python.
func python(t *testing.T, wandb string) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "wandb.py"), []byte(wandb), 0o600))
	t.Setenv("PYTHONPATH", dir)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	return path
}

func wandbOf(t *testing.T, python string) Tracker {
	t.Helper()
	return must.Get(WandB(WandBSettings{Python: python, Project: "walker", Mode: "offline"}))(t)
}

// A missing package does not stop a run.
func TestWandBMissing(t *testing.T) {
	noGoroutines(t)
	var w warnings
	s, sinks := begin(t, wandbOf(t, python(t, `raise ImportError("no package")`)), Run{}, &w, eager)
	s.Scalar("a", 1, 1)
	_ = s.Flush()
	<-sinks.feeds[0].done // no second attempt is made
	_ = s.Close()
	w.are(t, "tracker wandb ... pip install wandb", "not received 1 of the run's 1 values")
}

// CheckInstalled finds out whether there is a Python with the package.
func TestWandBInstalled(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.Mkdir("wandb", 0o700)) // which the package makes in the current folder
	t.Setenv("PYTHONPATH", "")
	must.Do(t, os.WriteFile("bare", []byte("#!/bin/sh\nexec python3 -S \"$@\"\n"), 0o700)) // without installed packages
	for _, path := range []string{"./bare", "./none"} {
		err := CheckInstalled(t.Context(), []Tracker{{Name: "mine"}, wandbOf(t, path)})
		must.Refuse(t, err, path+" has no package wandb")
	}
	must.Do(t, CheckInstalled(t.Context(), []Tracker{wandbOf(t, python(t, ""))}))
}

// dying is a package that writes its calls to a file. Its process is killed at the second row.
const dying = `
import os, signal, sys
log = open(os.environ["GORL_TEST_LOG"], "a+", buffering=1)
class errors:
    class Error(Exception): pass
    class CommError(Error): pass
class Settings:
    def __init__(self, **settings): pass
class Run:
    url = None
    def define_metric(self, *args, **kwargs): pass
    def log(self, row, step):
        assert step == row["global_step"]
        if not 1.7e9 < row.pop("_timestamp") < 1e10: raise ValueError("no time")
        log.seek(0)
        if row["global_step"] == 2 and "killed" not in log.read():
            log.write("killed\n")
            print("1\n2\n3\n4\n5\n6\n", file=sys.stderr)
            os.kill(os.getpid(), signal.SIGKILL)
        log.write(f"{row}\n")
    def finish(self, exit_code): log.write(f"finish {exit_code}\n")
def init(**kwargs):
    same = kwargs["id"] == os.environ.get("GORL_TEST_ID", kwargs["id"])
    log.write(f"init {kwargs['project']} {kwargs['group']} {kwargs['mode']} {kwargs['resume']} {same}\n")
    run = Run()
    run.id = kwargs["id"]
    return run
`

// A process that dies is restarted and continues the run. No values are lost.
func TestWandBDies(t *testing.T) {
	noGoroutines(t)
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("GORL_TEST_LOG", log)
	run := Run{Name: "r", Group: "crew", Dir: t.TempDir()}
	var w warnings
	s, _ := begin(t, wandbOf(t, python(t, dying)), run, &w, eager)
	for step := int64(1); step <= 3; step++ {
		s.Scalar("a", step, float64(step)/4)
		s.Scalar("b", step, float64(step))
	}
	_ = s.Flush()
	said := func() string {
		text, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(text)
	}
	for !strings.Contains(said(), "'global_step': 3") { // before the run ends, which gives it only one more attempt
	}
	_ = s.Close()
	w.are(t, "tracker wandb ... killed). The end of what it printed: 1\n2\n3\n4\n5\n6")
	const row = "{'a': 0.25, 'b': 1.0, 'global_step': 1}\n"
	want := "init walker crew offline allow True\n" + row + "killed\ninit walker crew offline allow True\n" + row +
		"{'a': 0.5, 'b': 2.0, 'global_step': 2}\n{'a': 0.75, 'b': 3.0, 'global_step': 3}\nfinish 0\n"
	must.Equal(t, "what the package was told", want, said())
}
