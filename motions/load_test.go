package motions

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/npz"
)

func npzOf(t testing.TB, arrays ...*npz.Array) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := npz.Write(&out, arrays...); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Every format is known by its content.
func TestLoadKnowsFormats(t *testing.T) {
	walk := stroll(t, 10)
	var own bytes.Buffer
	if err := walk.Save(&own, "made up"); err != nil {
		t.Fatal(err)
	}
	for want, data := range map[string][]byte{
		"legs": []byte(legs), "amass": npzOf(t, amassFile(t)...), "rows": []byte("a,b,c,d,e,f,g,h\n0,0,0.8,0,0,0.6,0.8,0.1\n"),
		"mimickit": pickled(map[string]any{"fps": 30, "frames": mimicKitFrames()}), "own": own.Bytes(),
	} {
		path := filepath.Join(t.TempDir(), want+".dat")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(path)
		if err != nil || c.Name() != want {
			t.Errorf("%s: %v", want, err)
		}
		for name, direct := range map[string]func() (*Clip, error){
			"legs": func() (*Clip, error) { return LoadBVH(path, BVHConfig{}) }, "amass": func() (*Clip, error) { return LoadAMASS(path) },
			"rows": func() (*Clip, error) { return LoadCSV(path, CSVConfig{}) }, "mimickit": func() (*Clip, error) { return LoadMimicKit(path, nil) },
		} {
			d, err := direct()
			if (err == nil) != (name == want) || (err == nil && d.Width() != c.Width()) {
				t.Errorf("%s read as %s: %v", want, name, err)
			}
			if err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("the error does not name the path: %v", err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte("not a clip"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "not a clip: neither JSON") {
		t.Error(err)
	}
}

func FuzzLoad(f *testing.F) {
	trot, err := Trot(TrotConfig{})
	if err != nil {
		f.Fatal(err)
	}
	var file bytes.Buffer
	if err := trot.Save(&file, ""); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := load(data, "fuzz", "fuzz"); err == nil {
			Check(c)
		}
	})
}
