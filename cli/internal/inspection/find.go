package inspection

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// Find returns the checkpoint that a path stands for: a file itself, also without its extension; for a folder the best
// checkpoint, else the latest. For a population across processes it is the best checkpoint of the member that was the
// best. It reads manifests first, and the data only of the checkpoint that these suggest, so that large folders are
// fast. Where that one is damaged it is an error, and no other is returned in its place.
func Find(path string) (string, error) {
	path, info, err := meant(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return path, nil
	}
	stored, err := list(path, glance)
	if err != nil {
		return "", err
	}
	member := -1
	if h, err := journal.ReadHistory(path); err == nil {
		if m, _, ok := h.Best(); ok {
			member = m
		}
	}
	stored = preferred(stored, member)
	for {
		chosen, ok := choose(stored)
		// One whose manifest is damaged may be the newest of its folder.
		for _, s := range stored {
			if s.State == Damaged && (!ok || isBest(s) || !isBest(chosen)) {
				return "", meansDamaged(path, s)
			}
		}
		if !ok {
			return "", fmt.Errorf("inspection: %s has no checkpoint", path)
		}
		file := filepath.Join(path, filepath.FromSlash(chosen.File))
		s, err := check(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		switch {
		case err == nil && s.State == Verified:
			return file, nil
		case err == nil && s.State == Damaged:
			s.File = chosen.File
			return "", meansDamaged(path, s)
		}
		// It has been removed since, as training does.
		stored = slices.DeleteFunc(stored, func(s Stored) bool { return s.File == chosen.File })
	}
}

func meansDamaged(path string, s Stored) error {
	return fmt.Errorf("inspection: %s means %s, which is damaged: %s; give the path of another checkpoint to take that",
		path, s.File, s.Reason)
}

// meant returns a path that exists: as it is given or, if there is no such file, with a checkpoint's extension, so that
// agent_1000 stands for agent_1000.safetensors.
func meant(path string) (string, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Stat(path + dataSuffix); err == nil {
			return path + dataSuffix, info, nil
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("inspection: %w", err)
	}
	return path, info, nil
}

// walk visits the files below a folder that have a checkpoint's extension. The folder may be a link. The folders in
// which runs keep checkpoints may be links, too. walk skips other links to folders, files that are not regular, files
// that are removed meanwhile, and names that begin with a dot.
func walk(dir string, visit func(path string), above ...fs.FileInfo) error {
	self, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("inspection: %w", err)
	}
	if slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, self) }) { // links in a circle
		return nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) && len(above) > 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("inspection: %w", err)
	}
	above = append(slices.Clone(above), self)
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(dir, e.Name())
		info, err := os.Stat(path) // follows a link
		switch {
		case err != nil || strings.HasPrefix(name, "."): // removed, or a link to nowhere
		case info.IsDir() && (e.IsDir() || name == checkpoints || name == best):
			if err := walk(path, visit, above...); err != nil {
				return err
			}
		case info.Mode().IsRegular() && (strings.HasSuffix(name, dataSuffix) || strings.HasSuffix(name, manifestSuffix)):
			visit(path)
		}
	}
	return nil
}
