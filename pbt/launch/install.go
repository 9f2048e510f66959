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

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/durable"
)

// Install makes the population's folder and copies the canonical file there, for members to read; it returns the
// copy's path, which is absolute. Where the folder holds the file of another population already, that is an error which
// lists what differs. Two things may: the section `launcher:`, as nothing that was trained depends on it, and
// `pbt.total_steps`, which may have grown, so that the members train further; Notes then says so. Either way the copy
// is replaced at once, and members read it when they start.
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
		note, err := sameRun(existing, canonical)
		if err != nil {
			return "", fmt.Errorf("launch: %s is of another run; continue it with the same settings, or choose another pbt.workspace: %w", path, err)
		}
		if note != "" {
			f.Notes = append(f.Notes, note)
		}
	}
	if err := durable.WriteFile(path, func(w io.Writer) error { _, err := w.Write(canonical); return err }); err != nil {
		return "", fmt.Errorf("launch: %w", err)
	}
	return path, nil
}

// sameRun compares two files key by key. note says that total_steps has grown, where that is all.
func sameRun(before, after []byte) (note string, err error) {
	was, err := config.FromYAML(before)
	if err != nil {
		return "", err
	}
	is, err := config.FromYAML(after)
	if err != nil {
		return "", err
	}
	delete(was, "launcher")
	delete(is, "launcher")
	if from, to := totalSteps(was), totalSteps(is); 0 < from && from < to {
		note = fmt.Sprintf("pbt.total_steps has grown from %d to %d: the population trains further", from, to)
		is["pbt"].(map[string]any)["total_steps"] = from
	}
	if lines := differences("", was, is); len(lines) > 0 {
		return "", errors.New("\n\t" + strings.Join(lines, "\n\t"))
	}
	return note, nil
}

// totalSteps are those of a file, 0 where it does not say.
func totalSteps(dict map[string]any) int {
	population, _ := dict["pbt"].(map[string]any)
	n, _ := population["total_steps"].(int)
	return n
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
