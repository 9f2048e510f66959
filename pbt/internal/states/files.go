package states

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/pbt/journal"
)

const (
	// File is the newest state, PreviousFile the one before it.
	File         = "state.json"
	PreviousFile = "state.previous.json"
	// Folder holds the snapshots that the states refer to.
	Folder = "state"
)

// Restored is a state as read, with the snapshots that it refers to.
type Restored struct {
	State    State
	data     []byte               // the state as read
	Snapshot *checkpoint.Snapshot // nil if there was none to keep
	Source   *checkpoint.Snapshot // what a pending decision takes over
}

// Files are a member's states and snapshots in its folder. The zero value, for a store in memory, keeps nothing.
type Files struct {
	dir      string
	of       Identity
	store    *checkpoint.Store
	sequence int64
	last     *Restored // the newest state
	kept     string    // the name of the snapshot saved last
	// Before is in the file of the state before, KeptOf the snapshot saved last; nil if not known.
	Before *State
	KeptOf *checkpoint.Snapshot
}

// Open opens the folder of the member that a population of these options has; "" stands for none.
func Open(dir string, of Identity) (Files, error) {
	f := Files{dir: dir, of: of}
	if dir == "" {
		return f, nil
	}
	var err error
	if f.store, err = checkpoint.NewStore(filepath.Join(dir, Folder), checkpoint.Options{}); err != nil {
		return f, fmt.Errorf("pbt: %w", err)
	}
	return f, nil
}

// Load reads the newest state, or the one before if that is damaged; nil if there is none. damage says what is wrong
// with a newest state that was passed over. It is an error if no state can be read, or if one is of another population.
func (f *Files) Load() (r *Restored, damage, err error) {
	if f.dir == "" {
		return nil, nil, nil
	}
	for _, name := range []string{File, PreviousFile} {
		path := filepath.Join(f.dir, name)
		r, err := f.read(path)
		_, absent := os.Stat(path)
		switch {
		case err == nil:
			if name == File {
				if before, _, err := readState(filepath.Join(f.dir, PreviousFile)); err == nil {
					f.Before = &before
				}
			}
			return r, damage, nil
		case errors.Is(err, ErrOtherPopulation):
			return nil, nil, err
		case absent == nil: // a state that is missing is no damage
			damage = errors.Join(damage, err)
		}
	}
	if damage != nil {
		return nil, nil, fmt.Errorf("pbt: member %d cannot be continued; remove %s to begin it from scratch: %w",
			f.of.Policy, f.dir, damage)
	}
	return nil, nil, nil
}

// Previous reads the state before the newest.
func (f *Files) Previous() (*Restored, error) { return f.read(filepath.Join(f.dir, PreviousFile)) }

// read reads one state file with its snapshots, and compares it with the options.
func (f *Files) read(path string) (*Restored, error) {
	s, data, err := readState(path)
	if err != nil {
		return nil, err
	}
	if err := f.of.check(path, s); err != nil {
		return nil, err
	}
	r := &Restored{State: s, data: data}
	if r.Snapshot, err = f.get(s.Member.Snapshot); err == nil && s.Pending != nil {
		r.Source, err = f.get(s.Pending.Snapshot)
	}
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	return r, nil
}

// readState reads a state file.
func readState(path string) (s State, data []byte, err error) {
	if data, err = os.ReadFile(path); err != nil {
		return s, nil, fmt.Errorf("pbt: %w", err)
	}
	if s, err = Decode(data); err != nil {
		return s, nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	return s, data, nil
}

// get loads a snapshot by the name that a state has for it; "" names none. A name with a path in it is refused, because
// state files can be edited.
func (f *Files) get(name string) (*checkpoint.Snapshot, error) {
	switch {
	case name == "":
		return nil, nil
	case name != filepath.Base(name):
		return nil, fmt.Errorf("%q is not the name of a snapshot", name)
	}
	saved, err := f.store.Load(name)
	if err != nil {
		return nil, err
	}
	return saved.Snapshot, nil
}

// Begin makes r the state that the next save follows; nil stands for none.
func (f *Files) Begin(r *Restored) {
	f.last = r
	if r != nil {
		f.sequence, f.kept = r.State.Sequence, r.State.Member.Snapshot
	}
}

// Save makes s the newest state, and completes it: s has no identity, sequence and names of snapshots yet. snapshot is
// the member's, nil where the one saved last still counts, and copied what a pending decision takes over. byInterval
// keeps a state of the interval before as the state before.
func (f *Files) Save(s State, snapshot, copied *checkpoint.Snapshot, byInterval bool) error {
	err := f.keep(snapshot, s.Member.Steps)
	if p := s.Pending; err == nil && p != nil && p.Event.Kind == journal.Replace {
		p.Snapshot, err = f.put(p.SourceWeightSteps, copied)
	}
	if err != nil {
		return fmt.Errorf("pbt: member %d: %w", f.of.Policy, err)
	}
	s.Schema, s.Identity, s.Sequence, s.Member.Snapshot = schema, f.of, f.sequence+1, f.kept
	// A state before with the same snapshot could not replace this one if the snapshot is damaged: then the one before
	// that stays.
	rotate := f.Before == nil || f.last.State.Member.Snapshot != f.kept
	if byInterval {
		rotate = f.Before == nil || f.last.State.Iteration != s.Iteration
	}
	return f.write(s, rotate)
}

// Waits saves since when the member waits for its peers, for the process that continues it.
func (f *Files) Waits(since time.Time) error {
	if f.last == nil || f.last.State.WaitingSince != nil && f.last.State.WaitingSince.Equal(since) {
		return nil
	}
	s := f.last.State
	s.WaitingSince = &since
	return f.write(s, false)
}

// keep saves a snapshot for the next state, unless that is nil or is the one saved last; then the state refers to the
// same file as the one before.
func (f *Files) keep(snapshot *checkpoint.Snapshot, steps int64) error {
	if snapshot == nil || snapshot == f.KeptOf && f.kept != "" {
		return nil
	}
	// Snapshots of a failed save with the same number go first, so that names do not depend on failures.
	prefix := fmt.Sprintf("%06d", f.sequence+1)
	if err := f.remove(func(name string) bool {
		return strings.HasPrefix(name, prefix) && name != stem(f.kept)
	}); err != nil {
		return err
	}
	name, err := f.put(steps, snapshot)
	if err == nil {
		f.kept, f.KeptOf = name, snapshot
	}
	return err
}

// put saves a snapshot for the next state and returns its file's name.
func (f *Files) put(steps int64, snapshot *checkpoint.Snapshot) (string, error) {
	path, err := f.store.Save(fmt.Sprintf("%06d", f.sequence+1), steps, snapshot)
	return filepath.Base(path), err
}

// write makes s the newest state. The one before it is kept if rotate is true. At last write deletes the snapshots that
// neither of the two refers to. A crash in between leaves one whole state.
func (f *Files) write(s State, rotate bool) error {
	data, err := durable.Seal(&s, &s.Check)
	if err != nil {
		return fmt.Errorf("pbt: state: %w", err)
	}
	if f.last != nil && rotate { // not what the file holds, which may be damaged
		if err := writeFile(filepath.Join(f.dir, PreviousFile), f.last.data); err != nil {
			return err
		}
		f.Before = &f.last.State
	}
	if err := writeFile(filepath.Join(f.dir, File), data); err != nil {
		return err
	}
	f.sequence, f.last = s.Sequence, &Restored{State: s, data: data}
	keep := s.names()
	if f.Before != nil {
		keep = append(keep, f.Before.names()...)
	}
	return f.remove(func(name string) bool {
		return !slices.ContainsFunc(keep, func(file string) bool { return stem(file) == name })
	})
}

// remove deletes the snapshots whose names, without suffixes, are not wanted. The store removes its temporary files.
func (f *Files) remove(unwanted func(name string) bool) error {
	entries, err := os.ReadDir(f.store.Dir())
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	for _, suffix := range []string{".json", ".safetensors"} { // data without a manifest is not reported as damaged
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), suffix)
			if !ok || strings.Contains(name, durable.Temporary) || !unwanted(name) {
				continue
			}
			if err := os.Remove(filepath.Join(f.store.Dir(), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("pbt: %w", err)
			}
		}
	}
	return nil
}

// stem returns the common part of the names of a snapshot's two files.
func stem(name string) string { return strings.TrimSuffix(name, ".safetensors") }

// writeFile replaces a file as a whole, see internal/durable.
func writeFile(path string, data []byte) error {
	if err := checkpoint.WriteFile(path, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}
