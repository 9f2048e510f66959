package trainers_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/trainers"
)

// files lists a folder with the sizes and times of what is in it.
func files(t *testing.T, dir string) string {
	t.Helper()
	var list strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			list.WriteString(path + " " + info.ModTime().String() + " " + strings.Repeat("x", int(info.Size()%97)) +
				"\n")
		}
		return err
	}))
	return list.String()
}

// taken fails the test if a trainer whose folder another one has does anything but return an error.
func taken(t *testing.T, tr *trainers.Trainer) {
	t.Helper()
	_, step := tr.Step(t.Context())
	for what, err := range map[string]error{"Train": tr.Train(t.Context()), "Step": step,
		"Open": tr.Open(t.Context())} {
		wantError(t, what, err, "run is being trained by another trainer", "give this run another name")
	}
}

// Two trainers do not write to one folder: the second is refused before anything is changed, until the first is closed.
func TestTwoTrainersOfOneFolder(t *testing.T) {
	cfg := run(t, 12)
	cfg.WriteInterval = every(2)
	first, doneFirst := scenes[0].start(t, cfg)
	must(t, first.Train(t.Context()))
	for _, resume := range []bool{true, false} {
		cfg.Resume = resume
		second, done := scenes[0].start(t, cfg)
		before := files(t, cfg.Directory)
		if taken(t, second); files(t, cfg.Directory) != before {
			t.Errorf("files changed:\n%s\nwere\n%s", files(t, cfg.Directory), before)
		}
		done()
	}
	cfg.Resume, cfg.Timesteps = true, 20
	third, doneThird := scenes[0].start(t, cfg)
	taken(t, third)
	doneFirst()
	if err := third.Train(t.Context()); err != nil || third.Timestep() != 20 {
		t.Errorf("after the first was closed: %v at timestep %d", err, third.Timestep())
	}
	doneThird()
}

// A trainer of a program's own records every start that trains in its folder, and what has changed since the one
// before.
func TestStartsAreRecorded(t *testing.T) {
	cfg := trainers.Config{Directory: t.TempDir(), Name: "run", Resume: true, SaveBuffers: true}
	for _, cfg.Timesteps = range []int{20, 20, 30} { // nothing is left for the second to train
		tr, done := scenes[0].start(t, cfg)
		must(t, tr.Train(t.Context()))
		done()
	}
	starts := value(runfile.Starts(filepath.Join(cfg.Directory, "run")))(t)
	if len(starts) != 2 || starts[0].Timestep != 0 || len(starts[0].Changes) != 0 || starts[1].Timestep != 20 ||
		starts[1].Libtorch != tensor.TorchVersion() ||
		!slices.Equal(starts[1].Changes, []runfile.Change{{Key: "trainer.timesteps", Old: 20, New: 30}}) {
		t.Errorf("the starts are recorded as %+v", starts)
	}
}

func TestMain(m *testing.M) { os.Exit(tensortest.Run(m)) }
