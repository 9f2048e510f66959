package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadManifest(t *testing.T) {
	dir := t.TempDir()
	s, err := NewStore(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	mustSave(t, s, 3)
	list, _, err := s.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	data := filepath.Join(dir, list[0].File)
	manifest := strings.TrimSuffix(data, dataSuffix) + manifestSuffix
	for _, path := range []string{data, manifest} {
		m, err := ReadManifest(path)
		if err != nil || m.SHA256 != list[0].SHA256 || m.Size != list[0].Size || m.Step != 3 {
			t.Errorf("%s: %+v, %v", path, m, err)
		}
	}
	if err := os.Truncate(manifest, 20); err != nil {
		t.Fatal(err)
	}
	var d *DamagedError
	if _, err := ReadManifest(data); !errors.As(err, &d) || d.Path != manifest {
		t.Errorf("truncated: %v", err)
	}
	if err := os.Remove(manifest); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadManifest(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}
