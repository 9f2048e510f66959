package inspection

import (
	"path/filepath"

	"github.com/gorl-dev/gorl/motions"
)

// clip describes a clip of reference motion; nil where the path is none. The extensions of checkpoints may be clips,
// too, as their content says; the others can only be clips.
func clip(path string) (*Report, error) {
	only := false
	switch filepath.Ext(path) {
	case ".bvh", ".csv", ".pkl", ".txt":
		only = true
	case manifestSuffix, ".npz":
	default:
		return nil, nil
	}
	c, err := motions.Load(path)
	switch {
	case err == nil:
		return &Report{Path: path, Kind: "clip of reference motion", Clip: motions.Check(c)}, nil
	case only:
		return nil, err
	}
	return nil, nil
}
