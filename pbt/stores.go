package pbt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
)

// stores are the folders of snapshots in a population's directory: members/000, members/001, ... and best. What
// they keep is decided by the states that refer to it, not by age: however often a run dies while saving, what
// the last state needs is never deleted.
type stores struct {
	members []*checkpoint.Store
	best    *checkpoint.Store
}

func openStores(dir string, members int) (*stores, error) {
	s := &stores{}
	open := func(elem ...string) (*checkpoint.Store, error) {
		store, err := checkpoint.NewStore(filepath.Join(append([]string{dir}, elem...)...), checkpoint.Options{})
		if err != nil {
			return nil, fmt.Errorf("pbt: %w", err)
		}
		return store, nil
	}
	for id := range members {
		store, err := open("members", fmt.Sprintf("%03d", id))
		if err != nil {
			return nil, err
		}
		s.members = append(s.members, store)
	}
	var err error
	s.best, err = open("best")
	return s, err
}

// put saves a snapshot and returns its file's name in the store.
func put(store *checkpoint.Store, sequence, steps int64, snapshot *checkpoint.Snapshot) (string, error) {
	path, err := store.Save(fmt.Sprintf("%06d", sequence), steps, snapshot)
	return filepath.Base(path), err
}

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

// prune deletes the snapshots that no state given refers to.
func (s *stores) prune(states ...savedState) error {
	var errs []error
	for id, store := range s.members {
		keep := make(map[string]bool)
		for _, state := range states {
			keep[stem(state.Members[id].Snapshot)] = true
		}
		errs = append(errs, pruneStore(store, keep))
	}
	keep := make(map[string]bool)
	for _, state := range states {
		if state.Best != nil {
			keep[stem(state.Best.Snapshot)] = true
		}
	}
	return errors.Join(append(errs, pruneStore(s.best, keep))...)
}

// stem is the common part of the names of a snapshot's files.
func stem(name string) string { return strings.TrimSuffix(name, ".safetensors") }

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
