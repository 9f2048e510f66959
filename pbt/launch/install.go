package launch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/atomicfile"
	"github.com/gorl-dev/gorl/internal/config"
)

// Install makes the population's folder and copies the canonical file there, for members to read; it returns the
// copy's path, which is absolute. Where the folder holds the file of another population already, that is an error which
// lists what differs; the section `launcher:` may differ, as nothing that was trained depends on it.
func (f *File) Install() (path string, err error) {
	canonical, err := f.Canonical()
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(f.Dir())
	if err != nil {
		return "", fmt.Errorf("launch: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("launch: %w", err)
	}
	path = filepath.Join(dir, ConfigFile)
	existing, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("launch: %w", err)
	case string(existing) == string(canonical):
		return path, nil
	default:
		if err := sameBut(existing, canonical, "launcher"); err != nil {
			return "", fmt.Errorf("launch: %s is of another run; continue it with the same settings, or choose another pbt.workspace: %w", path, err)
		}
	}
	if err := atomicfile.Write(path, func(w io.Writer) error { _, err := w.Write(canonical); return err }); err != nil {
		return "", fmt.Errorf("launch: %w", err)
	}
	return path, nil
}

// sameBut compares two files key by key, one section left out.
func sameBut(before, after []byte, section string) error {
	was, err := config.FromYAML(before)
	if err != nil {
		return err
	}
	is, err := config.FromYAML(after)
	if err != nil {
		return err
	}
	delete(was, section)
	delete(is, section)
	if lines := differences("", was, is); len(lines) > 0 {
		return errors.New("\n\t" + strings.Join(lines, "\n\t"))
	}
	return nil
}

// differences lists what differs by dotted keys, sorted.
func differences(prefix string, was, is map[string]any) []string {
	keys := maps.Clone(was)
	if keys == nil {
		keys = make(map[string]any)
	}
	maps.Copy(keys, is)
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		a, had := was[key]
		b, has := is[key]
		before, isMap := a.(map[string]any)
		after, isMapToo := b.(map[string]any)
		switch {
		case isMap && isMapToo:
			lines = append(lines, differences(prefix+key+".", before, after)...)
		case !had:
			lines = append(lines, fmt.Sprintf("%s%s: nothing there, %v here", prefix, key, b))
		case !has:
			lines = append(lines, fmt.Sprintf("%s%s: %v there, nothing here", prefix, key, a))
		case !reflect.DeepEqual(a, b):
			lines = append(lines, fmt.Sprintf("%s%s: %v there, %v here", prefix, key, a, b))
		}
	}
	return lines
}
