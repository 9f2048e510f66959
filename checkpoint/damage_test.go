package checkpoint

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// Whatever happens to the latest snapshot, Latest names it with the reason and returns the one before.
func TestDamage(t *testing.T) {
	t.Parallel()
	const data, manifest = "agent_2.safetensors", "agent_2.json"
	type change = func([]byte) []byte
	replaceAll := func(text string) change { return func([]byte) []byte { return []byte(text) } }
	edit := func(old, new string) change {
		return func(b []byte) []byte { return []byte(strings.Replace(string(b), old, new, 1)) }
	}
	appendText := func(text string) change { return func(b []byte) []byte { return append(b, text...) } }
	for name, d := range map[string]struct {
		file   string // the one that is changed
		change change // nil removes it
		want   string // part of the reason
	}{
		"empty data":                    {data, replaceAll(""), "truncated: 0 bytes of"},
		"foreign data of the same size": {data, func(b []byte) []byte { return make([]byte, len(b)) }, "altered"},
		"bytes appended":                {data, appendText("\x00"), "another file"},
		"missing data":                  {data, nil, "missing"},
		"empty manifest":                {manifest, replaceAll(""), "not a manifest"},
		"manifest of a later version":   {manifest, edit(`"version": 1`, `"version": 2`), "use a newer gorl"},
		"step edited":                   {manifest, edit(`"step": 2`, `"step": 3`), "altered"},
		"missing manifest":              {manifest, nil, "no manifest"},
		"manifest of another snapshot":  {manifest, edit("", ""), `manifest of "agent_1.safetensors"`},
		"a directory instead of data":   {data, edit("", ""), ""},
		"a truncated manifest":          {manifest, func(b []byte) []byte { return b[:len(b)/2] }, "not a manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			s := diskStore(t, 0)
			mustSave(t, s, 1)
			path := mustSave(t, s, 2)
			changed := filepath.Join(s.Dir(), d.file)
			text := must.Get(os.ReadFile(changed))(t)
			must.Do(t, os.Remove(changed))
			switch {
			case strings.HasPrefix(name, "a directory"):
				must.Do(t, os.Mkdir(changed, 0o755))
			case strings.HasPrefix(name, "manifest of another"):
				text = must.Get(os.ReadFile(filepath.Join(s.Dir(), "agent_1.json")))(t)
				fallthrough
			case d.change != nil:
				must.Do(t, os.WriteFile(changed, d.change(text), 0o644))
			}
			reported := changed
			if name == "missing manifest" {
				reported = path
			}
			damaged := wantLatest(t, s, 1)
			if len(damaged) != 1 || damaged[0].Path != reported || !strings.Contains(damaged[0].Error(), reported) ||
				!strings.Contains(damaged[0].Reason, d.want) {
				t.Errorf("reported: %v; want %s: …%s…", damaged, reported, d.want)
			}
			var typed *DamagedError
			_, fromLoad := Load(path)
			if !errors.As(fromLoad, &typed) && !errors.Is(fromLoad, fs.ErrNotExist) {
				t.Errorf("Load gives %v", fromLoad)
			}
			if _, err := Verify(path); err == nil || err.Error() != fromLoad.Error() {
				t.Errorf("Verify gives %v, Load %v", err, fromLoad)
			}
			if _, err := ReadManifest(path); (err != nil) != (d.file == manifest) {
				t.Errorf("ReadManifest gives %v", err)
			}
			// Saving goes on, and the damaged file stays for its owner to look at.
			mustSave(t, s, 2)
			wantLatest(t, s, 2)
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	s := diskStore(t, 0)
	path := mustSave(t, s, 1)
	manifest := strings.TrimSuffix(path, dataSuffix) + manifestSuffix
	for _, of := range []string{path, manifest} {
		if m, err := Verify(of); err != nil || m.Step != 1 {
			t.Errorf("Verify gives %+v, %v", m, err)
		}
		if m, err := ReadManifest(of); err != nil || m.Step != 1 || m.SHA256 == "" {
			t.Errorf("ReadManifest gives %+v, %v", m, err)
		}
	}
	must.Do(t, os.Truncate(path, 30))
	got, damaged, err := s.Latest()
	if got != nil || len(damaged) != 1 || !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, %v, %v", got, damaged, err)
	}
	must.Do(t, os.Remove(manifest))
	if _, err := Load(path); !errors.Is(err, ErrUncommitted) {
		t.Errorf("a file without manifest gives %v", err)
	}
	for path, want := range map[string]string{
		s.Dir():               "is a folder: want a file in it (.safetensors)",
		s.Dir() + "/agent.pt": "gorl convert",
	} {
		must.RefusedAs(Load(path))(t, path, want)
	}
}

// A flipped bit is noticed, or (in a manifest, whose keys are read in upper or lower case) changes nothing.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	s := diskStore(t, 0)
	mustSave(t, s, 1)
	data := mustSave(t, s, 2)
	good := must.Get(Load(data))(t)
	for _, path := range []string{data, strings.TrimSuffix(data, dataSuffix) + manifestSuffix} {
		whole := must.Get(os.ReadFile(path))(t)
		unnoticed := 0
		for range 300 {
			flipped := bytes.Clone(whole)
			flipped[r.IntN(len(whole))] ^= 1 << r.IntN(8)
			must.Do(t, os.WriteFile(path, flipped, 0o644))
			got, damaged, err := s.Latest()
			must.Do(t, err)
			if got.Manifest.Step == 1 {
				if len(damaged) != 1 || damaged[0].Path != path {
					t.Fatalf("reported %v, want %s", damaged, path)
				}
				continue
			}
			unnoticed++
			if diff := cmp.Diff(good, got); diff != "" {
				t.Fatalf("a flipped bit in %s was not noticed:\n%s", path, diff)
			}
		}
		if path == data && unnoticed > 0 || unnoticed > 75 {
			t.Errorf("%d of 300 flips in %s were not noticed", unnoticed, path)
		}
		must.Do(t, os.WriteFile(path, whole, 0o644))
	}
}
