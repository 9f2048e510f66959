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

func diskStore(t *testing.T, keep int) *Store {
	t.Helper()
	return must.Get(NewStore(filepath.Join(t.TempDir(), "checkpoints"), Options{Keep: keep}))(t)
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
	must.Same(t, fileNames(t, dir), slices.Sorted(slices.Values(strings.Fields(want))), "files")
}

func wantLatest(t *testing.T, s *Store, step int64) []*DamagedError {
	t.Helper()
	got, damaged, err := s.Latest()
	must.Do(t, err)
	must.Is(t, got.Manifest.Step, step, "the latest step (%v)", damaged)
	must.Do(t, verify(got))
	return damaged
}

// The snapshot that was saved last is the latest, whatever its step or name. Keep retains the newest.
func TestStore(t *testing.T) {
	s := diskStore(t, 2)
	_, _, err := s.Latest()
	must.Not(t, !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), s.Dir()), "an empty store gives %v", err)
	for _, step := range []int64{100, 200, 10, 4, 5} {
		path := mustSave(t, s, step)
		must.Is(t, path, filepath.Join(s.Dir(), fmt.Sprintf("agent_%d.safetensors", step)), "path")
		must.Is(t, len(wantLatest(t, s, step)), 0, "damaged")
	}
	wantFiles(t, s.Dir(), "agent_4.json agent_4.safetensors agent_5.json agent_5.safetensors")
	for _, path := range []string{"agent_4.safetensors", "agent_4.json",
		filepath.Join(s.Dir(), "agent_4.safetensors")} {
		got := must.Get(s.Load(path))(t)
		must.Is(t, got.Manifest.Step, 4, "step")
		must.Do(t, verify(got))
	}
	manifests, damaged, err := s.List()
	must.Not(t, err != nil || damaged != nil || len(manifests) != 2 || manifests[0].Step != 5 ||
		!strings.Contains(string(manifests[0].Values), `"step": 5`), "List gives %v, %v, %v", manifests, damaged, err)
	for step := range int64(3) { // a name that is taken
		got := must.Get(Load(must.Get(s.Save("same", step, contents(step)))(t)))(t)
		must.Not(t, got.Manifest.Step != step || got.Manifest.Name != "same", "loaded %v", got)
	}
}

func TestBest(t *testing.T) {
	s := diskStore(t, 1)
	_, _, err := s.Best()
	must.Not(t, !errors.Is(err, ErrNone), "no best yet: %v", err)
	for step := int64(1); step <= 3; step++ {
		must.Get(s.SaveBest("best", step, contents(step)))(t)
		mustSave(t, s, step) // retention keeps the best
		got, damaged, err := s.Best()
		must.Not(t, err != nil || damaged != nil || got.Manifest.Step != step || verify(got) != nil,
			"the best is %v, %v, %v", got, damaged, err)
	}
	must.Is(t, len(fileNames(t, filepath.Join(s.Dir(), "best"))), 2, "files in best")
	wantLatest(t, s, 3)
}

func TestSaveRefuses(t *testing.T) {
	s := diskStore(t, 1)
	for _, name := range []string{"", "a/b", "..", "a.tmp-b"} {
		must.RefusedAs(s.Save(name, 1, contents(1)))(t, name)
	}
	bad := contents(1)
	bad.Arrays["x"] = Array{DType: F32, Shape: []int64{3}}
	must.RefusedAs(s.Save("a", 1, bad))(t, "a broken array", `array "x"`)
	wantFiles(t, s.Dir(), "")
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
				s, _ := NewStore(dir, Options{Keep: keep})
				for i := range 10 {
					step := int64(w*100 + i)
					name := fmt.Sprintf("agent_%d", i%3)
					if keep > 0 {
						name = fmt.Sprintf("w%d_%d", w, i)
					}
					path, err := s.Save(name, step, contents(step))
					if err != nil {
						t.Error(err)
						return
					}
					paths[w] = append(paths[w], path)
				}
			})
		}
		wg.Wait()
		s := must.Get(NewStore(dir, Options{Keep: keep}))(t)
		mustSave(t, s, 1000)
		must.Is(t, len(wantLatest(t, s, 1000)), 0, "damaged")
		want := 2 * keep
		if keep == 0 {
			want = 2 * (4*10 + 1)
			seen := map[string]bool{}
			for w := range paths {
				for i, path := range paths[w] {
					got := must.Get(Load(path))(t)
					must.Not(t, seen[path] || got.Manifest.Step != int64(w*100+i) || verify(got) != nil,
						"%s (given before: %v) is %v", path, seen[path], got)
					seen[path] = true
				}
			}
		}
		must.Is(t, len(fileNames(t, dir)), want, "files that keep %d leaves", keep)
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
	write := func(name, text string) { must.Do(t, os.WriteFile(filepath.Join(s.Dir(), name), []byte(text), 0o644)) }
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
		path := must.Get(s.Save("agent_1", c.again, contents(c.again)))(t)
		must.Is(t, filepath.Base(path), c.want, "%s: saved as", c.name)
		wantLatest(t, s, c.again)
	}
}

// Tidy deletes what a killed process did not delete, but nothing if the newest snapshot is damaged.
func TestTidy(t *testing.T) {
	all := diskStore(t, 0)
	for step := range int64(3) {
		mustSave(t, all, step)
	}
	s := must.Get(NewStore(all.Dir(), Options{Keep: 2}))(t)
	must.Do(t, os.Truncate(filepath.Join(s.Dir(), "agent_2.safetensors"), 3))
	must.Do(t, s.Tidy())
	must.Is(t, len(fileNames(t, s.Dir())), 6, "files beside a damaged newest snapshot")
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
	must.Not(t, path == "" || !errors.As(err, &d) || d.Path != path, "a disk that alters its data: %q, %v", path, err)
	damaged := wantLatest(t, s, 1)
	must.Not(t, len(damaged) != 1 || damaged[0].Path != path, "reported: %v", damaged)
}
