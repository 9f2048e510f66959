package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/test/must"
)

func openStore(t *testing.T, dir string, keep int) *Store {
	t.Helper()
	s := must.Get(NewStore(dir, Options{Keep: keep}))(t)
	return s
}

func diskStore(t *testing.T, keep int) *Store {
	t.Helper()
	return openStore(t, filepath.Join(t.TempDir(), "checkpoints"), keep)
}

func fileNames(t *testing.T, dir string) []string {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func wantFiles(t *testing.T, dir, want string) {
	t.Helper()
	list := strings.Fields(want)
	slices.Sort(list)
	if got := fileNames(t, dir); !slices.Equal(got, list) {
		t.Errorf("the directory holds\n%q, want\n%q", got, list)
	}
}

func wantLatest(t *testing.T, s *Store, step int64) []*DamagedError {
	t.Helper()
	got, damaged, err := s.Latest()
	must.Do(t, err)
	if got.Manifest.Step != step {
		t.Fatalf("the latest is step %d, want %d (%v)", got.Manifest.Step, step, damaged)
	}
	must.Do(t, verify(got))
	return damaged
}

// The snapshot that was saved last is the latest, whatever its step or name. Keep retains the newest.
func TestStore(t *testing.T) {
	s := diskStore(t, 2)
	if _, _, err := s.Latest(); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), s.Dir()) {
		t.Errorf("an empty store gives %v", err)
	}
	for _, step := range []int64{100, 200, 10, 4, 5} {
		path := mustSave(t, s, step)
		if want := filepath.Join(s.Dir(), fmt.Sprintf("agent_%d.safetensors", step)); path != want {
			t.Errorf("saved as %s, want %s", path, want)
		}
		if damaged := wantLatest(t, s, step); damaged != nil {
			t.Error(damaged)
		}
	}
	wantFiles(t, s.Dir(), "agent_4.json agent_4.safetensors agent_5.json agent_5.safetensors")
	for _, path := range []string{"agent_4.safetensors", "agent_4.json",
		filepath.Join(s.Dir(), "agent_4.safetensors")} {
		if got, err := s.Load(path); err != nil || got.Manifest.Step != 4 || verify(got) != nil {
			t.Errorf("loading %s gives %v, %v", path, got, err)
		}
	}
	manifests, damaged, err := s.List()
	if err != nil || damaged != nil || len(manifests) != 2 || manifests[0].Step != 5 {
		t.Errorf("List gives %v, %v, %v", manifests, damaged, err)
	}
	if v := string(manifests[0].Values); !strings.Contains(v, `"step": 5`) {
		t.Errorf("the manifest's values are %s", v)
	}
	for step := range int64(3) { // a name that is taken
		path := must.Get(s.Save("same", step, contents(step)))(t)
		if got, err := Load(path); err != nil || got.Manifest.Step != step || got.Manifest.Name != "same" {
			t.Errorf("loading %s gives %v, %v", path, got, err)
		}
	}
}

func TestBest(t *testing.T) {
	s := diskStore(t, 1)
	if _, _, err := s.Best(); !errors.Is(err, ErrNone) {
		t.Errorf("no best yet: %v", err)
	}
	for step := int64(1); step <= 3; step++ {
		must.Get(s.SaveBest("best", step, contents(step)))(t)
		mustSave(t, s, step) // retention keeps the best
		got, damaged, err := s.Best()
		if err != nil || damaged != nil || got.Manifest.Step != step || verify(got) != nil {
			t.Fatalf("the best is %v, %v, %v", got, damaged, err)
		}
	}
	if n := len(fileNames(t, filepath.Join(s.Dir(), "best"))); n != 2 {
		t.Errorf("%d files in best, want 2", n)
	}
	wantLatest(t, s, 3)
}

func TestSaveRefuses(t *testing.T) {
	s := diskStore(t, 1)
	for _, name := range []string{"", "a/b", "..", ".hidden", "a b", "a.tmp-b", strings.Repeat("x", 129)} {
		if path, err := s.Save(name, 1, contents(1)); err == nil || path != "" {
			t.Errorf("%q is accepted as a name", name)
		}
	}
	bad := contents(1)
	bad.Arrays["x"] = Array{DType: F32, Shape: []int64{3}}
	must.RefusedAs(s.Save("a", 1, bad))(t, "a broken array", `array "x"`)
	wantFiles(t, s.Dir(), "")
	if _, err := NewStore(t.TempDir(), Options{Keep: -1}); err == nil {
		t.Error("a negative Keep is accepted")
	}
}

// Several stores write to one directory, some under the same names. Nothing is lost or damaged. With retention they
// delete each other's old snapshots, and the latest is always valid.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	for _, keep := range []int{0, 4} {
		dir := t.TempDir()
		var wg sync.WaitGroup
		paths := make([][]string, 4)
		for w := range paths {
			wg.Go(func() {
				s, err := NewStore(dir, Options{Keep: keep})
				if err != nil {
					t.Error(err)
					return
				}
				for i := range 10 {
					step := int64(w*100 + i)
					name := fmt.Sprintf("agent_%d", i%3)
					if keep > 0 {
						name = fmt.Sprintf("w%d_%d", w, i)
					}
					path, err := s.Save(name, step, contents(step))
					if err != nil {
						t.Error(err)
					}
					paths[w] = append(paths[w], path)
				}
			})
		}
		wg.Wait()
		s := openStore(t, dir, keep)
		mustSave(t, s, 1000)
		if damaged := wantLatest(t, s, 1000); damaged != nil {
			t.Error(damaged)
		}
		want := 2 * keep
		if keep == 0 {
			want = 2 * (4*10 + 1)
			seen := map[string]bool{}
			for w := range paths {
				for i, path := range paths[w] {
					if got, err := Load(path); seen[path] || err != nil || got.Manifest.Step != int64(w*100+i) ||
						verify(got) != nil {
						t.Errorf("loading %s (given before: %v) gives %v, %v", path, seen[path], got, err)
					}
					seen[path] = true
				}
			}
		}
		if got := len(fileNames(t, dir)); got != want {
			t.Errorf("keep %d: %d files, want %d", keep, got, want)
		}
	}
}

// ofEndedProcess is the suffix of a temporary file of a process that has ended.
func ofEndedProcess() string {
	parts := strings.Split(durable.TemporaryName(""), "-") // ".tmp", host, process, nonce, count
	parts[3] = "anotherlife"
	return strings.Join(parts, "-")
}

// Save deletes what processes that have ended left, and nothing else.
func TestLeftovers(t *testing.T) {
	s := diskStore(t, 0)
	mustSave(t, s, 1)
	ended, living := ofEndedProcess(), durable.TemporaryName("")
	elsewhere, old := durable.Temporary+"00000000-1-abc-1", durable.Temporary+"00000000-2-abc-1"
	write := func(name, text string) {
		must.Do(t, os.WriteFile(filepath.Join(s.Dir(), name), []byte(text), 0o644))
	}
	for _, owner := range []string{ended, living, elsewhere, old} {
		write("x.safetensors"+owner, "half a file")
	}
	write("notes.txt"+ended, "not a store's")
	past := time.Now().Add(-2 * time.Hour)
	must.Do(t, os.Chtimes(filepath.Join(s.Dir(), "x.safetensors"+old), past, past))
	// Two saves that died between their renames: the data has its name, the manifest does not. Another writer has since
	// put its own data under the second name.
	for step := int64(2); step <= 3; step++ {
		manifest := strings.TrimSuffix(mustSave(t, s, step), dataSuffix) + manifestSuffix
		must.Do(t, os.Rename(manifest, manifest+ended))
	}
	write("agent_3.safetensors", "another's")
	write("policy.safetensors", "the user's own")

	mustSave(t, s, 4)
	wantFiles(t, s.Dir(), "agent_1.json agent_1.safetensors agent_3.safetensors agent_4.json agent_4.safetensors "+
		"policy.safetensors notes.txt"+ended+" x.safetensors"+living+" x.safetensors"+elsewhere)
}

// A save that was interrupted between data and manifest does not occupy the name.
func TestNameAfterInterruption(t *testing.T) {
	for _, c := range []struct {
		name  string
		proof bool // the temporary manifest is there
		again int64
		want  string
	}{
		{"killed", true, 2, "agent_1.safetensors"},
		{"power cut, the same data again", false, 1, "agent_1.safetensors"},
		{"foreign data", false, 2, "agent_1-2.safetensors"},
	} {
		s := diskStore(t, 0)
		manifest := strings.TrimSuffix(mustSave(t, s, 1), dataSuffix) + manifestSuffix
		if c.proof {
			must.Do(t, os.Rename(manifest, manifest+ofEndedProcess()))
		} else {
			must.Do(t, os.Remove(manifest))
		}
		path, err := s.Save("agent_1", c.again, contents(c.again))
		if err != nil || filepath.Base(path) != c.want {
			t.Errorf("%s: saved as %s (%v), want %s", c.name, filepath.Base(path), err, c.want)
		}
		wantLatest(t, s, c.again)
	}
}

// Tidy deletes what a killed process did not delete, but nothing if the newest snapshot is damaged.
func TestTidy(t *testing.T) {
	all := diskStore(t, 0)
	for step := range int64(3) {
		mustSave(t, all, step)
	}
	s := openStore(t, all.Dir(), 2)
	must.Do(t, os.Truncate(filepath.Join(s.Dir(), "agent_2.safetensors"), 3))
	must.Do(t, s.Tidy())
	if left := fileNames(t, s.Dir()); len(left) != 6 {
		t.Errorf("with a damaged newest snapshot %q are left, want all", left)
	}
	must.Do(t, os.Remove(filepath.Join(s.Dir(), "agent_2.json")))
	mustSave(t, all, 3)
	must.Do(t, s.Tidy())
	wantFiles(t, s.Dir(), "agent_1.json agent_1.safetensors agent_2.safetensors agent_3.json agent_3.safetensors")
}

// Retention deletes nothing if the new snapshot cannot be read back.
func TestRetentionVerifiesFirst(t *testing.T) {
	m := newMemFS()
	s := memStore(t, m, 1)
	mustSave(t, s, 1)
	m.flipAtSync = true
	path, err := s.Save("agent_2", 2, contents(2))
	var d *DamagedError
	if path == "" || !errors.As(err, &d) || d.Path != path {
		t.Fatalf("a disk that alters what it is given: %q, %v", path, err)
	}
	if damaged := wantLatest(t, s, 1); len(damaged) != 1 || damaged[0].Path != path {
		t.Errorf("reported: %v", damaged)
	}
}
