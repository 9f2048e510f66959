// How a population and a worker keep their states: two files, the newest state and the one before, each sealed by a
// checksum, that refer to snapshots in folders beside them. Either file may be lost or damaged without losing the run.

package pbt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
)

// StateFile is the name of the population's state in its directory. Where it exists New continues.
const StateFile = "state.json"

// The newest state, and the one saved before it. The snapshots of both are kept, so that a crash at any moment, or a damaged
// file, leaves one whole population.
const (
	stateFile         = StateFile
	previousStateFile = "state.previous.json"
	stateSchema       = 1
)

// errOtherPopulation is a sound state of a population with other options.
var errOtherPopulation = errors.New("the directory holds another population; choose another directory, or the options it was begun with")

// setting is an option that a population may not change while it trains, as it was saved and as it is given now.
type setting struct {
	name        string
	saved, want any
}

// sameRun returns an error that wraps errOtherPopulation where a saved state has another value than the options.
func sameRun(path string, settings ...setting) error {
	for _, s := range settings {
		if s.saved != s.want {
			return fmt.Errorf("pbt: %s: %s is %v there and %v here: %w", path, s.name, s.saved, s.want, errOtherPopulation)
		}
	}
	return nil
}

// loadState reads the state in dir, or, where that is damaged, the one before, and returns which file it was. r is nil where
// neither can be read; damage says what is wrong with the files passed over. err is that of another population's state.
func loadState[T any](dir string, read func(path string) (*T, error)) (r *T, name string, damage, err error) {
	for _, name := range []string{stateFile, previousStateFile} {
		path := filepath.Join(dir, name)
		r, err := read(path)
		switch {
		case err == nil:
			return r, name, damage, nil
		case errors.Is(err, errOtherPopulation):
			return nil, name, nil, err
		case exists(path):
			damage = errors.Join(damage, err)
		}
	}
	return nil, "", damage, nil
}

// exists reports whether there is a file at path: a state that is missing is no damage.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// writeStates replaces the file of the state before, unless previous is nil, and then the state's own.
func writeStates(dir string, state, previous []byte) error {
	if previous != nil {
		if err := writeFile(filepath.Join(dir, previousStateFile), previous); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(dir, stateFile), state)
}

// writeFile replaces a file as a whole, see internal/durable.
func writeFile(path string, data []byte) error {
	if err := checkpoint.WriteFile(path, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}

// openState reads a state and verifies its checksum. A state without one was written before there were any.
func openState(data []byte, state any, check *string) error {
	err := durable.UnsealSchema(data, stateSchema, state, check)
	if errors.Is(err, durable.ErrUnsealed) {
		return nil
	}
	return err
}

// put saves a snapshot and returns its file's name in the store. sequence numbers the save, so that names are never used
// twice.
func put(store *checkpoint.Store, sequence, steps int64, snapshot *checkpoint.Snapshot) (string, error) {
	path, err := store.Save(fmt.Sprintf("%06d", sequence), steps, snapshot)
	return filepath.Base(path), err
}

// get loads a snapshot by the name that a state has for it. A name with a path in it is refused, because state files can be
// edited.
func get(store *checkpoint.Store, name string) (*checkpoint.Snapshot, error) {
	if name != filepath.Base(name) {
		return nil, fmt.Errorf("%q is not the name of a snapshot", name)
	}
	saved, err := store.Load(name)
	if err != nil {
		return nil, err
	}
	return saved.Snapshot, nil
}

// stem returns the common part of the names of a snapshot's two files.
func stem(name string) string { return strings.TrimSuffix(name, ".safetensors") }

// pruneStore deletes the snapshots whose stems are not in keep, damaged ones too.
func pruneStore(store *checkpoint.Store, keep map[string]bool) error {
	manifests, damaged, err := store.List()
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	var names []string
	for _, m := range manifests {
		names = append(names, stem(m.File))
	}
	for _, d := range damaged {
		names = append(names, strings.TrimSuffix(stem(filepath.Base(d.Path)), ".json"))
	}
	var errs []error
	for _, name := range names {
		if keep[name] {
			continue
		}
		for _, suffix := range []string{".json", ".safetensors"} {
			if err := os.Remove(filepath.Join(store.Dir(), name+suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, fmt.Errorf("pbt: %w", err))
			}
		}
	}
	return errors.Join(errs...)
}
