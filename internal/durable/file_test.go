package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestWriteFileReplacesOrLeaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	must.Do(t, WriteFile(path, text("old")))
	failure := errors.New("the disk says no")
	err := WriteFile(path, func(w io.Writer) error {
		fmt.Fprint(w, "half of the n")
		return failure
	})
	if !errors.Is(err, failure) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that wraps the writer's and names the path", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("after a failed write the file holds %q, want the old contents", got)
	}
	must.Do(t, WriteFile(path, text("new")))
	if got, _ := os.ReadFile(path); string(got) != "new" {
		t.Errorf("the file holds %q, want the new contents", got)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v), want the file alone", entries, err)
	}
	if err := WriteFile(filepath.Join(path, "below", "a", "file"), text("x")); err == nil {
		t.Error("writing below a file succeeded")
	}
}

// The names of all folders that MkdirAll makes are synced, and that of a folder which an earlier process made.
func TestMkdirAll(t *testing.T) {
	root := t.TempDir()
	var synced []string
	sync := func(dir string) error { synced = append(synced, dir); return SyncDir(dir) }
	runs := filepath.Join(root, "runs")
	for _, want := range [][]string{{filepath.Join(runs, "walker"), runs, root}, {filepath.Join(runs, "walker")}} {
		synced = nil
		if err := mkdirAll(filepath.Join(runs, "walker", "seed-1")+"/", 0o755, sync); err != nil ||
			!slices.Equal(synced, want) {
			t.Errorf("%v; synced are %q, want %q", err, synced, want)
		}
	}
	gone := func(string) error { return fs.ErrInvalid }
	if err := mkdirAll(filepath.Join(root, "other"), 0o755, gone); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a failed sync gave %v", err)
	}
}

func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, SyncDir(dir))
	if err := SyncDir(filepath.Join(dir, "absent")); runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	// The files of /proc are in no storage that could be synced.
	if _, err := os.Stat("/proc/self"); runtime.GOOS == "linux" && err == nil {
		if err := SyncDir("/proc/self"); err != nil {
			t.Errorf("a folder that cannot be synced: %v", err)
		}
	}
}
