package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
)

func diskStore(t *testing.T, keep int) *Store {
	t.Helper()
	s, err := NewStore(filepath.Join(t.TempDir(), "checkpoints"), Options{Keep: keep})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func wantLatest(t *testing.T, s *Store, step int64) []*DamagedError {
	t.Helper()
	got, damaged, err := s.Latest()
	if err != nil {
		t.Fatal(err)
	}
	if got.Manifest.Step != step {
		t.Fatalf("the latest is step %d, want %d (%v)", got.Manifest.Step, step, damaged)
	}
	if err := verify(got); err != nil {
		t.Fatal(err)
	}
	return damaged
}

func TestStore(t *testing.T) {
	s := diskStore(t, 2)
	if _, _, err := s.Latest(); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), s.Dir()) {
		t.Errorf("an empty store gives %v", err)
	}
	for step := int64(1); step <= 5; step++ {
		path := mustSave(t, s, step)
		if want := filepath.Join(s.Dir(), fmt.Sprintf("agent_%d.safetensors", step)); path != want {
			t.Errorf("saved as %s, want %s", path, want)
		}
		if damaged := wantLatest(t, s, step); damaged != nil {
			t.Error(damaged)
		}
	}
	want := []string{"agent_4.json", "agent_4.safetensors", "agent_5.json", "agent_5.safetensors"}
	if got := names(t, s.Dir()); !slices.Equal(got, want) {
		t.Errorf("the directory holds %q, want %q", got, want)
	}
	for _, path := range []string{"agent_4.safetensors", "agent_4.json", filepath.Join(s.Dir(), "agent_4.safetensors")} {
		if got, err := s.Load(path); err != nil || got.Manifest.Step != 4 || verify(got) != nil {
			t.Errorf("loading %s gives %v, %v", path, got, err)
		}
	}
	manifests, damaged, err := s.List()
	if err != nil || damaged != nil || len(manifests) != 2 || manifests[0].Step != 5 {
		t.Errorf("List gives %v, %v, %v", manifests, damaged, err)
	}
	if v := string(manifests[0].Values); !strings.Contains(v, `"step": 5`) {
		t.Errorf("the manifest's summary is %s", v)
	}
}

// A run that was resumed from an earlier step, or started again, goes on from what was saved last.
func TestLatestIsTheLastSaved(t *testing.T) {
	s := diskStore(t, 2)
	for _, step := range []int64{100, 200, 10, 20} {
		mustSave(t, s, step)
		wantLatest(t, s, step)
	}
}

func TestSameName(t *testing.T) {
	s := diskStore(t, 2)
	for step := int64(1); step <= 4; step++ {
		path, err := s.Save("latest", step, contents(step))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Load(path); err != nil || got.Manifest.Step != step || got.Manifest.Name != "latest" {
			t.Errorf("loading %s gives %v, %v", path, got, err)
		}
		wantLatest(t, s, step)
	}
	if n := len(names(t, s.Dir())); n != 4 {
		t.Errorf("%d files, want 4", n)
	}
}

func TestBest(t *testing.T) {
	s := diskStore(t, 1)
	if _, _, err := s.Best(); !errors.Is(err, ErrNone) {
		t.Errorf("no best yet: %v", err)
	}
	mustSave(t, s, 1)
	for step := int64(1); step <= 3; step++ {
		if _, err := s.SaveBest("best", step, contents(step)); err != nil {
			t.Fatal(err)
		}
		got, damaged, err := s.Best()
		if err != nil || damaged != nil || got.Manifest.Step != step || verify(got) != nil {
			t.Fatalf("the best is %v, %v, %v", got, damaged, err)
		}
	}
	if n := len(names(t, filepath.Join(s.Dir(), "best"))); n != 2 {
		t.Errorf("%d files in best, want 2", n)
	}
	if damaged := wantLatest(t, s, 1); damaged != nil {
		t.Error(damaged)
	}
	mustSave(t, s, 2)
	if _, _, err := s.Best(); err != nil {
		t.Errorf("retention took the best: %v", err)
	}
}

func TestSaveRefuses(t *testing.T) {
	s := diskStore(t, 1)
	for _, name := range []string{"", "a/b", "..", ".hidden", "a b", "a.tmp-b", strings.Repeat("x", 129), `a\b`, "ä"} {
		if path, err := s.Save(name, 1, contents(1)); err == nil || path != "" {
			t.Errorf("%q is accepted as a name", name)
		}
	}
	if _, err := s.Save("a", 1, nil); err == nil {
		t.Error("nil is accepted as a snapshot")
	}
	bad := contents(1)
	bad.Arrays["x"] = Array{DType: F32, Shape: []int64{3}}
	if _, err := s.Save("a", 1, bad); err == nil || !strings.Contains(err.Error(), `array "x"`) {
		t.Errorf("a broken array gives %v", err)
	}
	if left := names(t, s.Dir()); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// The files are the same whenever and by whomever they are written.
func TestSaveIsDeterministic(t *testing.T) {
	a, b := diskStore(t, 0), diskStore(t, 0)
	first, err := os.ReadFile(mustSave(t, a, 7))
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(mustSave(t, b, 7))
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Error("two saves of one snapshot differ")
	}
}

// Several stores write to one directory, some under the same names; nothing is lost and nothing damaged.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	paths := make([][]string, 4)
	for w := range paths {
		wg.Go(func() {
			s, err := NewStore(dir, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 10 {
				path, err := s.Save(fmt.Sprintf("agent_%d", i%3), int64(w*100+i), contents(int64(w*100+i)))
				if err != nil {
					t.Error(err)
				}
				paths[w] = append(paths[w], path)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for w := range paths {
		for i, path := range paths[w] {
			if seen[path] {
				t.Errorf("%s was given to two saves", path)
			}
			seen[path] = true
			if got, err := Load(path); err != nil || got.Manifest.Step != int64(w*100+i) || verify(got) != nil {
				t.Errorf("loading %s gives %v, %v", path, got, err)
			}
		}
	}
	if got := len(names(t, dir)); got != 80 {
		t.Errorf("%d files, want 80", got)
	}
}

// With retention on, writers delete each other's old snapshots; the latest is always valid.
func TestManyWritersWithRetention(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			s, err := NewStore(dir, Options{Keep: 4})
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 15 {
				step := int64(w*100 + i)
				if _, err := s.Save(fmt.Sprintf("w%d_%d", w, i), step, contents(step)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s, err := NewStore(dir, Options{Keep: 4})
	if err != nil {
		t.Fatal(err)
	}
	mustSave(t, s, 1000)
	if damaged := wantLatest(t, s, 1000); damaged != nil {
		t.Error(damaged)
	}
	if got := names(t, dir); len(got) != 8 {
		t.Errorf("the directory holds %q, want 8 files", got)
	}
}

func TestSweep(t *testing.T) {
	s := diskStore(t, 0)
	mustSave(t, s, 1)
	living := durable.TemporaryName("")
	parts := strings.Split(living, "-") // ".tmp", host, process, nonce, count
	parts[3] = "anotherlife"
	dead := strings.Join(parts, "-")
	elsewhere := durable.Temporary + "00000000-1-abc-1"
	old := durable.Temporary + "00000000-2-abc-1"
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(s.Dir(), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, owner := range []string{dead, living, elsewhere, old} {
		write("x.safetensors"+owner, "half a file")
	}
	write("notes.txt"+dead, "not ours")
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(s.Dir(), "x.safetensors"+old), past, past); err != nil {
		t.Fatal(err)
	}
	// A save that died between its two renames: the data has its name, the manifest has not.
	orphan := mustSave(t, s, 2)
	manifest := strings.TrimSuffix(orphan, dataSuffix) + manifestSuffix
	if err := os.Rename(manifest, manifest+dead); err != nil {
		t.Fatal(err)
	}
	// The same, but another writer has since put its own data under the name.
	taken := mustSave(t, s, 3)
	manifest = strings.TrimSuffix(taken, dataSuffix) + manifestSuffix
	if err := os.Rename(manifest, manifest+dead); err != nil {
		t.Fatal(err)
	}
	write("agent_3.safetensors", "another's")
	write("policy.safetensors", "the user's own")

	mustSave(t, s, 4)
	want := []string{"agent_1.json", "agent_1.safetensors", "agent_3.safetensors", "agent_4.json", "agent_4.safetensors", "notes.txt" + dead,
		"policy.safetensors", "x.safetensors" + living, "x.safetensors" + elsewhere}
	slices.Sort(want)
	if got := names(t, s.Dir()); !slices.Equal(got, want) {
		t.Errorf("the directory holds\n%q, want\n%q", got, want)
	}
}

// Retention deletes nothing where the new snapshot cannot be read back.
func TestRetentionVerifiesFirst(t *testing.T) {
	m := &damaging{memFS: newMemFS()}
	s, err := newStore("runs", Options{Keep: 1}, m)
	if err != nil {
		t.Fatal(err)
	}
	mustSave(t, s, 1)
	m.on = true
	path, err := s.Save("agent_2", 2, contents(2))
	var d *DamagedError
	if path == "" || !errors.As(err, &d) || d.Path != path {
		t.Fatalf("a disk that alters what it is given: %q, %v", path, err)
	}
	damaged := wantLatest(t, s, 1)
	if len(damaged) != 1 || damaged[0].Path != path {
		t.Errorf("reported: %v", damaged)
	}
}

// damaging flips a bit of every data file when it is synced.
type damaging struct {
	*memFS
	on bool
}

func (d *damaging) Create(name string) (durable.File, error) {
	f, err := d.memFS.Create(name)
	if err != nil || !d.on || !strings.Contains(name, dataSuffix) {
		return f, err
	}
	return flipping{f.(*memHandle)}, nil
}

type flipping struct{ *memHandle }

func (f flipping) Sync() error {
	f.file.data[len(f.file.data)-1] ^= 4
	return f.memHandle.Sync()
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.txt")
	write := func(text string, fail error) error {
		return WriteFile(path, func(w io.Writer) error {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			return fail
		})
	}
	for _, text := range []string{"one", "two"} {
		if err := write(text, nil); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("the file holds %q, %v", got, err)
		}
	}
	if err := write("thr", fs.ErrClosed); !errors.Is(err, fs.ErrClosed) || !strings.Contains(err.Error(), path) {
		t.Errorf("a failing writer gives %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "two" {
		t.Errorf("after a failure the file holds %q, %v", got, err)
	}
	if left := names(t, filepath.Dir(path)); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
	if err := WriteFile(filepath.Join(path, "below a file"), func(io.Writer) error { return nil }); err == nil {
		t.Error("a path below a file is accepted")
	}
}
