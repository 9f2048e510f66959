package catalog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers/gymnasium"
	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/motions"
)

// imitating is an environment whose reference AMP observations come from a file. rows is (rows, width).
type imitating struct {
	envs.Env
	rows  []float32
	width int
}

// Unwrap returns the environment inside, see [envs.As].
func (m *imitating) Unwrap() envs.Env { return m.Env }

// CollectReferenceMotions draws n rows with replacement, each equally likely.
func (m *imitating) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	if n <= 0 {
		return nil, fmt.Errorf("catalog: %d reference motions; ask for at least one", n)
	}
	out := make([]float32, 0, n*m.width)
	for range n {
		at := rng.IntN(len(m.rows)/m.width) * m.width
		out = append(out, m.rows[at:at+m.width]...)
	}
	return out, nil
}

// following is a simulator whose reference AMP observations are computed from clips.
type following struct {
	envs.Env
	*motions.Source
}

// Unwrap returns the environment inside, see [envs.As].
func (f *following) Unwrap() envs.Env { return f.Env }

// imitate gives a simulator the clips as reference motion. It closes the simulator if they do not fit.
func imitate(env *gymnasium.Env, clips []*motions.Clip) (envs.Env, error) {
	source, err := gymnasium.NewMotionSource(env, clips...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("\"motions\": %w", err), env.Close())
	}
	return &following{env, source}, nil
}

// loadMotions returns the named clips of gorl, or those of files, each converted by onto.
func loadMotions(names []string, onto func(*motions.Clip) (*motions.Clip, error)) (clips []*motions.Clip, err error) {
	for _, name := range names {
		clip, err := motions.Builtin(name)
		if err != nil {
			clip, err = motions.Load(name)
		}
		if err == nil {
			clip, err = onto(clip)
		}
		if err != nil {
			return nil, fmt.Errorf("\"motions\": %w", err)
		}
		clips = append(clips, clip)
	}
	return clips, nil
}

// motionsArray is the array that is read if a file has several.
const motionsArray = "reference_motions"

// readMotions reads a (rows, width) array from a NumPy file, .npy or .npz. All numbers must be finite.
func readMotions(path string) (rows []float32, width int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("\"reference_motions\": %w", err)
		}
	}()
	file, err := npz.Open(path)
	if err != nil {
		return nil, 0, err
	}
	name, err := only(file.Names())
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	array := file.Arrays[name]
	values, err := array.Float64s() // of either width
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	shape := array.Shape
	if len(shape) != 2 || shape[0] == 0 || shape[1] == 0 {
		return nil, 0, fmt.Errorf("%s: the array has the shape %v; want (rows, AMP observations), with at least "+
			"one of each", path, shape)
	}
	rows, width = number.Float32s(nil, values), shape[1]
	if i := number.FirstNonFinite(rows); i >= 0 {
		return nil, 0, fmt.Errorf("%s: row %d has %g in column %d; it must be finite", path, i/width, rows[i], i%width)
	}
	return rows, width, nil
}

// only returns the name of the array to read: the only one, or motionsArray.
func only(names []string) (string, error) {
	if len(names) == 1 {
		return names[0], nil
	}
	if slices.Contains(names, motionsArray) {
		return motionsArray, nil
	}
	return "", fmt.Errorf("it has the arrays [%s]; name the one to imitate %s, or store it alone",
		strings.Join(names, ", "), motionsArray)
}
