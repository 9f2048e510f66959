package checkpoint

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// damage is a way to spoil the snapshot of step 2 in a store that holds 1 and 2.
type damage struct {
	name  string
	spoil func(t *testing.T, dir string)
	file  string // the one that must be named
	want  string // part of the reason
}

func rewrite(file string, change func([]byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, change(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func replace(file, text string) func(*testing.T, string) {
	return rewrite(file, func([]byte) []byte { return []byte(text) })
}

func edit(old, new string) func(*testing.T, string) {
	return rewrite("agent_2.json", func(b []byte) []byte { return []byte(strings.Replace(string(b), old, new, 1)) })
}

var damages = []damage{
	{"empty data", replace("agent_2.safetensors", ""), "agent_2.safetensors", "truncated: 0 bytes of"},
	{"foreign data", replace("agent_2.safetensors", "a picture"), "agent_2.safetensors", "truncated"},
	{"longer foreign data", replace("agent_2.safetensors", strings.Repeat("picture", 9999)), "agent_2.safetensors", "another file"},
	{"foreign data of the same size", rewrite("agent_2.safetensors", func(b []byte) []byte { return make([]byte, len(b)) }), "agent_2.safetensors", "altered"},
	{"bytes appended", rewrite("agent_2.safetensors", func(b []byte) []byte { return append(b, 0) }), "agent_2.safetensors", "another file"},
	{"empty manifest", replace("agent_2.json", ""), "agent_2.json", "not a manifest"},
	{"foreign manifest", replace("agent_2.json", `{"format":"coco","images":[]}`), "agent_2.json", `format is "coco"`},
	{"manifest is a list", replace("agent_2.json", `[]`), "agent_2.json", "not a manifest"},
	{"manifest of a later version", edit(`"version": 1`, `"version": 2`), "agent_2.json", "use a newer gorl"},
	{"step edited", edit(`"step": 2`, `"step": 3`), "agent_2.json", "altered"},
	{"sequence edited", edit(`"sequence": 1`, `"sequence": 9`), "agent_2.json", "altered"},
	{"size edited", edit(`"size": `, `"size": 1`), "agent_2.json", "altered"},
	{"entry added", edit(`"step": 2`, `"step": 2, "note": 1`), "agent_2.json", "unknown field"},
	{"something after the manifest", rewrite("agent_2.json", func(b []byte) []byte { return append(b, '{', '}') }), "agent_2.json", "not a manifest"},
	{"huge manifest", replace("agent_2.json", strings.Repeat(" ", maxManifest+1)), "agent_2.json", "more than"},
	{"missing data", func(t *testing.T, dir string) { remove(t, dir, "agent_2.safetensors") }, "agent_2.safetensors", "missing"},
	{"missing manifest", func(t *testing.T, dir string) { remove(t, dir, "agent_2.json") }, "agent_2.safetensors", "no manifest"},
	{"manifest of another file", func(t *testing.T, dir string) { copyFile(t, dir, "agent_1.json", "agent_2.json") }, "agent_2.json", `manifest of "agent_1.safetensors"`},
	{"data of another snapshot", func(t *testing.T, dir string) { copyFile(t, dir, "agent_1.safetensors", "agent_2.safetensors") }, "agent_2.safetensors", ""},
	{"data is a directory", func(t *testing.T, dir string) {
		remove(t, dir, "agent_2.safetensors")
		if err := os.Mkdir(filepath.Join(dir, "agent_2.safetensors"), 0o755); err != nil {
			t.Fatal(err)
		}
	}, "agent_2.safetensors", ""},
}

func remove(t *testing.T, dir, file string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, file)); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, dir, from, to string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, from))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, to), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Whatever happens to the latest snapshot, it is named with the reason, and the one before is used.
func TestDamage(t *testing.T) {
	t.Parallel()
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			s := diskStore(t, 0)
			mustSave(t, s, 1)
			mustSave(t, s, 2)
			d.spoil(t, s.Dir())
			damaged := wantLatest(t, s, 1)
			path := filepath.Join(s.Dir(), d.file)
			if len(damaged) != 1 || damaged[0].Path != path || !strings.Contains(damaged[0].Error(), path) || !strings.Contains(damaged[0].Reason, d.want) {
				t.Errorf("reported: %v; want %s: …%s…", damaged, path, d.want)
			}
			_, fromLoad := Load(filepath.Join(s.Dir(), "agent_2.safetensors"))
			if _, err := Verify(filepath.Join(s.Dir(), "agent_2.safetensors")); err == nil || err.Error() != fromLoad.Error() {
				t.Errorf("Verify gives %v, Load %v", err, fromLoad)
			}
			if m, err := Verify(filepath.Join(s.Dir(), "agent_1.json")); err != nil || m.Step != 1 {
				t.Errorf("of the valid one Verify gives %+v, %v", m, err)
			}
			var typed *DamagedError
			if d.name != "data is a directory" { // then there is nothing at the path to load
				if _, err := s.Load("agent_2.safetensors"); !errors.As(err, &typed) && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("Load gives %v", err)
				}
			}
			// Saving goes on, and what is damaged stays where it is for its owner to look at.
			mustSave(t, s, 2)
			wantLatest(t, s, 2)
		})
	}
}

func TestNothingValid(t *testing.T) {
	s := diskStore(t, 0)
	path := mustSave(t, s, 1)
	if err := os.Truncate(path, 30); err != nil {
		t.Fatal(err)
	}
	got, damaged, err := s.Latest()
	if got != nil || len(damaged) != 1 || !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, %v, %v", got, damaged, err)
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(filepath.Join(dir, "a.safetensors")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gives %v", err)
	}
	if _, err := Load(filepath.Join(dir, "agent.pt")); err == nil || !strings.Contains(err.Error(), "pickles") {
		t.Errorf("a pickle gives %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b.safetensors"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(filepath.Join(dir, "b.safetensors")); !errors.Is(err, ErrUncommitted) {
		t.Errorf("a file without manifest gives %v", err)
	}
}

// Every truncation of the data file and of the manifest is noticed.
func TestTruncated(t *testing.T) {
	t.Parallel()
	s := diskStore(t, 0)
	mustSave(t, s, 1)
	path := mustSave(t, s, 2)
	for _, path := range []string{path, strings.TrimSuffix(path, dataSuffix) + manifestSuffix} {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(whole)-1; n += 1 + n/40 { // the manifest's last byte is a newline, and not missed
			if err := os.WriteFile(path, whole[:n], 0o644); err != nil {
				t.Fatal(err)
			}
			damaged := wantLatest(t, s, 1)
			if len(damaged) != 1 || damaged[0].Path != path {
				t.Fatalf("%s cut to %d bytes: reported %v", path, n, damaged)
			}
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wantLatest(t, s, 2)
}

// A flipped bit is noticed, or (in a manifest, whose keys are read in any case) changes nothing.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	s := diskStore(t, 0)
	mustSave(t, s, 1)
	path := mustSave(t, s, 2)
	good, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, strings.TrimSuffix(path, dataSuffix) + manifestSuffix} {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		unnoticed := 0
		for range 400 {
			flipped := append([]byte{}, whole...)
			flipped[r.IntN(len(whole))] ^= 1 << r.IntN(8)
			if err := os.WriteFile(path, flipped, 0o644); err != nil {
				t.Fatal(err)
			}
			got, damaged, err := s.Latest()
			if err != nil {
				t.Fatal(err)
			}
			if got.Manifest.Step == 1 {
				if len(damaged) != 1 || damaged[0].Path != path {
					t.Fatalf("reported %v, want %s", damaged, path)
				}
				continue
			}
			unnoticed++
			if diff := cmp.Diff(good, got); diff != "" {
				t.Fatalf("a flipped bit in %s went unnoticed:\n%s", path, diff)
			}
		}
		if strings.HasSuffix(path, dataSuffix) && unnoticed > 0 || unnoticed > 100 {
			t.Errorf("%d of 400 flips in %s went unnoticed", unnoticed, path)
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
