package inspection

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Find returns the checkpoint that a path stands for: a file itself, also without its extension; for a folder the best
// checkpoint or, without one, the latest. For a population of processes it is the best checkpoint of the best member.
// Find reads all manifests, but the data only of the checkpoint that these suggest, so that large folders are fast. If
// that checkpoint is damaged, Find returns an error and does not choose another one.
func Find(path string) (string, error) {
	path, info, err := existing(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return path, nil
	}
	all, err := list(path, glance)
	if err != nil {
		return "", err
	}
	all = preferred(all, bestMember(path))
	for {
		chosen, ok := choose(all)
		for _, s := range all { // one whose manifest is damaged may be the newest of its folder
			if s.State == Damaged && (!ok || isBest(s) || !isBest(chosen)) {
				return "", meansDamaged(path, s.File, s.Reason)
			}
		}
		if !ok {
			return "", fmt.Errorf("inspection: %s has no checkpoint", path)
		}
		file := filepath.Join(path, filepath.FromSlash(chosen.File))
		s, err := check(file)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", err
		case err == nil && s.State == Verified:
			return file, nil
		case err == nil && s.State == Damaged:
			return "", meansDamaged(path, chosen.File, s.Reason)
		}
		// Training has removed the checkpoint meanwhile.
		all = slices.DeleteFunc(all, func(s Stored) bool { return s.File == chosen.File })
	}
}

func meansDamaged(path, file, reason string) error {
	return fmt.Errorf("inspection: %s means %s, which is damaged: %s; give the path of another checkpoint to take that",
		path, file, reason)
}

// existing returns a path that exists: as it is given or, if there is no such file, with a checkpoint's extension, so
// that agent_1000 stands for agent_1000.safetensors.
func existing(path string) (string, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Stat(path + dataSuffix); err == nil {
			return path + dataSuffix, info, nil
		}
	}
	if err != nil {
		err = fmt.Errorf("inspection: %w", err)
	}
	return path, info, err
}

// isBest reports whether a checkpoint is in a folder "best".
func isBest(s Stored) bool { return slices.Contains(strings.Split(path.Dir(s.File), "/"), best) }

// choose returns the newest verified checkpoint in a folder "best", or without one the newest verified of all.
func choose(all []Stored) (chosen Stored, ok bool) {
	for _, s := range all {
		if s.State != Verified {
			continue
		}
		if !ok || isBest(s) && !isBest(chosen) || isBest(s) == isBest(chosen) && s.sequence > chosen.sequence {
			chosen, ok = s, true
		}
	}
	return chosen, ok
}

// preferred returns the checkpoints in one member's folder of the best, which a population of processes keeps. Without
// a verified checkpoint there, or for a negative member, it returns all.
func preferred(all []Stored, member int) []Stored {
	mine := fmt.Sprintf("%s/%03d", best, member)
	if !slices.ContainsFunc(all, func(s Stored) bool { return path.Dir(s.File) == mine && s.State == Verified }) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(s Stored) bool { return path.Dir(s.File) != mine })
}
