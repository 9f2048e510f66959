package trainers_test

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/trainers"
)

// files lists a folder with the sizes and times of what is in it.
func files(t *testing.T, dir string) string {
	t.Helper()
	var list strings.Builder
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			list.WriteString(path + " " + info.ModTime().String() + " " + strings.Repeat("x", int(info.Size()%97)) + "\n")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return list.String()
}

// refused fails the test where a trainer whose folder another one has does anything but return an error.
func refused(t *testing.T, tr *trainers.Trainer) {
	t.Helper()
	_, step := tr.Step(t.Context())
	for what, err := range map[string]error{"Train": tr.Train(t.Context()), "Step": step, "Open": tr.Open(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "run is being trained by another trainer") || !strings.Contains(err.Error(), "give this run another name") {
			t.Errorf("%s: %v, want an error that names the folder", what, err)
		}
	}
}

// Two trainers do not write to one folder: the second is refused before anything is changed, until the first is closed.
// A run that writes nothing has no folder, and a trainer of its own.
func TestTwoTrainersOfOneFolder(t *testing.T) {
	checkLiveTensors(t)
	cfg := run(t, 12)
	cfg.WriteInterval = every(2)
	first, doneFirst := scenes[0].start(t, cfg)
	if err := first.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, resume := range []bool{true, false} {
		cfg.Resume = resume
		second, done := scenes[0].start(t, cfg)
		before := files(t, cfg.Directory)
		refused(t, second)
		if after := files(t, cfg.Directory); after != before {
			t.Errorf("files changed:\n%s\nwere\n%s", after, before)
		}
		done()
	}
	cfg.Resume, cfg.Timesteps = true, 20
	third, doneThird := scenes[0].start(t, cfg)
	refused(t, third)
	doneFirst()
	if err := third.Train(t.Context()); err != nil || third.Timestep() != 20 {
		t.Errorf("after the first was closed: %v at timestep %d", err, third.Timestep())
	}
	doneThird()
	for range 2 { // without a folder
		tr, done := scenes[0].start(t, trainers.Config{Timesteps: 2})
		defer done()
		if err := tr.Train(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A folder in which another process trains is refused; where that process has been killed it is free.
func TestTwoProcessesOfOneFolder(t *testing.T) {
	checkLiveTensors(t)
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 4 { // a checkpoint is there
		if !lines.Scan() {
			t.Fatal("the child does not train")
		}
	}
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close()
	agent, err := newPPO(env)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	tr := sequential(t, env, agent, killed(dir, 10))
	defer tr.Close()
	refused(t, tr)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // to its end
	}
	_ = child.Wait()
	if err := tr.Open(t.Context()); err != nil || tr.Timestep() == 0 {
		t.Errorf("after the child was killed: %v at timestep %d", err, tr.Timestep())
	}
}

// Timestep is that of the newest valid checkpoint before anything else happens, and reading it changes nothing.
func TestTimestepBeforeTrain(t *testing.T) {
	checkLiveTensors(t)
	cfg := run(t, 21)
	cfg.CheckpointInterval = every(10)
	first, doneFirst := scenes[0].start(t, cfg) // of a run that is not there
	if _, err := os.Stat(filepath.Join(cfg.Directory, "run")); first.Timestep() != 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a new run: timestep %d; its folder: %v", first.Timestep(), err)
	}
	if err := first.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	doneFirst()
	dir := filepath.Join(cfg.Directory, "run")
	for _, want := range []int64{21, 20, 10, 0} {
		before := files(t, dir)
		tr, done := scenes[0].start(t, cfg)
		if tr.Timestep() != want {
			t.Errorf("timestep %d, want %d", tr.Timestep(), want)
		}
		done()
		if files(t, dir) != before {
			t.Error("files changed")
		}
		// The newest of those that are whole is damaged next.
		store, err := checkpoint.NewStore(filepath.Join(dir, "checkpoints"), checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		latest, _, err := store.Latest()
		if errors.Is(err, checkpoint.ErrNone) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(latest.Path, latest.Manifest.Size-1); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Resume = false
	tr, done := scenes[0].start(t, cfg)
	defer done()
	if tr.Timestep() != 0 {
		t.Errorf("without Resume: timestep %d", tr.Timestep())
	}
}
