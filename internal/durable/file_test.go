package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestWriteFileReplacesOrLeaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	if err := WriteFile(path, text("old")); err != nil {
		t.Fatal(err)
	}
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
	if err := WriteFile(path, text("new")); err != nil {
		t.Fatal(err)
	}
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

func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	if err := SyncDir(dir); err != nil {
		t.Error(err)
	}
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
