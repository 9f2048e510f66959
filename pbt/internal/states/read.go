package states

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
)

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
		s.Pending.Weights, err = f.get(s.Pending.Snapshot)
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

// Decode reads a state file. Its checksum shows that a population wrote it, so that its parts agree.
func Decode(data []byte) (s State, err error) {
	if err = durable.UnsealSchema(data, schema, &s, &s.Check); err != nil {
		err = fmt.Errorf("not a member's state: %w", err)
	}
	return s, err
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

// ErrOtherPopulation is a sound state of a population with other options.
var ErrOtherPopulation = errors.New("the directory holds another population; choose another directory, or the " +
	"options it was begun with")

// check returns an error that wraps ErrOtherPopulation if a state is of another member, or of other options.
func (want Identity) check(path string, s State) error {
	for _, setting := range []struct {
		name        string
		saved, want any
	}{
		{"the member", s.Policy, want.Policy},
		{"the number of members", s.Members, want.Members},
		{"the objective", s.Objective, want.Objective},
		{"the interval in environment steps", s.IntervalSteps, want.IntervalSteps},
		{"the seed", s.Seed, want.Seed},
		{"measure.minimise", s.Minimise, want.Minimise},
	} {
		if setting.saved != setting.want {
			return fmt.Errorf("pbt: %s: %s is %v there and %v here: %w", path, setting.name, setting.saved,
				setting.want, ErrOtherPopulation)
		}
	}
	return nil
}
