package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/durable"
)

// A save that was interrupted between data and manifest does not take the name from the one that follows.
func TestNameAfterInterruption(t *testing.T) {
	snap := func(x float32) *Snapshot {
		s := NewSnapshot()
		s.Arrays["x"] = ArrayFloat32([]int64{1}, []float32{x})
		return s
	}
	for _, c := range []struct {
		name  string
		proof bool // the temporary manifest is there
		again float32
		want  string
	}{
		{"killed", true, 2, "agent.safetensors"},
		{"power cut, the same data again", false, 1, "agent.safetensors"},
		{"foreign data", false, 2, "agent-2.safetensors"},
	} {
		dir := t.TempDir()
		store, err := NewStore(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Save("agent", 1, snap(1)); err != nil {
			t.Fatal(err)
		}
		manifest := filepath.Join(dir, "agent.json")
		if c.proof { // of an earlier process with this number
			parts := strings.Split(durable.TemporaryName(manifest), "-")
			parts[len(parts)-2] = "EARLIER"
			err = os.Rename(manifest, strings.Join(parts, "-"))
		} else {
			err = os.Remove(manifest)
		}
		if err != nil {
			t.Fatal(err)
		}
		path, err := store.Save("agent", 1, snap(c.again))
		if err != nil || filepath.Base(path) != c.want {
			t.Errorf("%s: saved as %s (%v), want %s", c.name, filepath.Base(path), err, c.want)
		}
		if saved, _, err := store.Latest(); err != nil || saved.Path != path {
			t.Errorf("%s: the latest is %+v (%v)", c.name, saved, err)
		}
	}
}

// Tidy deletes what a killed process did not come to delete.
func TestTidy(t *testing.T) {
	dir := t.TempDir()
	all, err := NewStore(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if _, err := all.Save(name, 1, NewSnapshot()); err != nil {
			t.Fatal(err)
		}
	}
	store, err := NewStore(dir, Options{Keep: 2})
	if err != nil {
		t.Fatal(err)
	}
	names := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if err := os.Truncate(filepath.Join(dir, "c.safetensors"), 3); err != nil {
		t.Fatal(err)
	}
	if err := store.Tidy(); err != nil || len(names()) != 6 {
		t.Errorf("with a damaged newest snapshot: %v, %v are left, want all", err, names())
	}
	if err := os.Remove(filepath.Join(dir, "c.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := all.Save("d", 2, NewSnapshot()); err != nil {
		t.Fatal(err)
	}
	want := "b.json b.safetensors c.safetensors d.json d.safetensors"
	if err := store.Tidy(); err != nil || strings.Join(names(), " ") != want {
		t.Errorf("%v, left are %v", err, names())
	}
}
