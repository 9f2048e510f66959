package trainers_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
)

// files lists a folder with the sizes and times of what is in it.
func files(t *testing.T, dir string) string {
	t.Helper()
	var list strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info := value(d.Info())(t)
		fmt.Fprintln(&list, path, info.ModTime(), info.Size())
		return nil
	}))
	return list.String()
}

// Two trainers do not write to one folder: the second is refused before anything is changed, until the first is closed.
func TestTwoTrainersOfOneFolder(t *testing.T) {
	cfg := run(t, 12)
	cfg.WriteInterval = every(2)
	first, doneFirst := scenes[0].start(t, cfg)
	must(t, first.Train(t.Context()))
	cfg.Timesteps = 20
	second := scenes[0].open(t, cfg)
	before := files(t, cfg.Directory)
	_, step := second.Step(t.Context())
	for what, err := range map[string]error{"Train": second.Train(t.Context()), "Step": step,
		"Open": second.Open(t.Context())} {
		wantError(t, what, err, "run is being trained by another trainer", "give this run another name")
	}
	if after := files(t, cfg.Directory); after != before {
		t.Errorf("files changed:\n%s\nwere\n%s", after, before)
	}
	doneFirst()
	if err := second.Train(t.Context()); err != nil || second.Timestep() != 20 {
		t.Errorf("after the first was closed: %v at timestep %d", err, second.Timestep())
	}
}

func TestMain(m *testing.M) { os.Exit(tensortest.Run(m)) }
