//go:build unix

package inspection_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// A run by a link, and one whose checkpoints lie elsewhere, are what they link to. Links to nowhere, as files are that
// a training just removes, and what is no file are passed over.
func TestLinks(t *testing.T) {
	dir := run(t)
	link, moved := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "elsewhere")
	must.Do(t, os.Rename(filepath.Join(dir, "checkpoints"), moved))
	must.Do(t, errors.Join(os.Symlink(moved, filepath.Join(dir, "checkpoints")), os.Symlink(dir, link),
		os.Symlink("nowhere", filepath.Join(moved, "agent_8.json")),
		syscall.Mkfifo(filepath.Join(moved, "agent_9.safetensors"), 0o666),
		os.Symlink(dir, filepath.Join(dir, "best")), os.Symlink("..", filepath.Join(moved, "checkpoints"))))
	done := time.AfterFunc(time.Minute, func() { panic("it waits for the pipe") })
	defer done.Stop()
	for _, path := range []string{dir, link} {
		r := of(t, path, inspection.Options{})
		if r.Kind != "run" || len(r.Checkpoints) != 3 || r.Damaged() != 0 {
			t.Errorf("%s: %s with %+v", path, r.Kind, r.Checkpoints)
		}
		want := filepath.Join(path, "checkpoints", "best", "agent_20.safetensors")
		must.Equal(t, path, want, must.Get(inspection.Find(path))(t))
	}
}
