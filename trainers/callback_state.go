package trainers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
)

// StatefulCallback is a [Callback] whose state is kept in checkpoints, such as how long it has waited for a better
// result: a resumed run goes on with it. Within a timestep it is called before the checkpoint is written, so that the
// checkpoint has the state after the timestep, and before callbacks without a state.
type StatefulCallback interface {
	Callback
	// StateName names the state in checkpoints. It must not be empty, must differ from the names of the trainer's other
	// callbacks, and must stay the same from run to run.
	StateName() string
	// MarshalState returns the state, and changes nothing.
	MarshalState() ([]byte, error)
	// RestoreState continues from a state that MarshalState returned, or returns an error and changes nothing.
	RestoreState(state []byte) error
}

// statefulCallbacks returns the callbacks that have a state, and an error if one has no name or two have the same.
func statefulCallbacks(callbacks []Callback) (list []StatefulCallback, err error) {
	seen := map[string]bool{}
	for i, c := range callbacks {
		s, ok := c.(StatefulCallback)
		if !ok {
			continue
		}
		name := s.StateName()
		if name == "" || seen[name] {
			return nil, fmt.Errorf("trainers: the StateName of callback %d (%T) is %q; give one that no other callback has",
				i, c, name)
		}
		seen[name] = true
		list = append(list, s)
	}
	return list, nil
}

// saveCallbacks adds the states of callbacks to a snapshot.
func (t *Trainer) saveCallbacks(snap *checkpoint.Snapshot) error {
	for _, c := range t.keeping {
		state, err := c.MarshalState()
		if err != nil {
			return fmt.Errorf("trainers: the state of the callback %q: %w", c.StateName(), err)
		}
		snap.Arrays[layout.Callback(c.StateName())] = checkpoint.ArrayBytes([]int64{int64(len(state))}, state)
	}
	return nil
}

// restoreCallbacks restores the states of callbacks that a snapshot has. The others keep theirs. It returns what
// undoes it; on an error nothing has changed.
func (t *Trainer) restoreCallbacks(snap *checkpoint.Snapshot) (undo func() error, err error) {
	var changed []func() error
	undo = func() error {
		var errs []error
		for _, back := range slices.Backward(changed) {
			errs = append(errs, back())
		}
		return errors.Join(errs...)
	}
	for _, c := range t.keeping {
		array, has := snap.Arrays[layout.Callback(c.StateName())]
		if !has {
			continue
		}
		state, err := array.Bytes()
		var before []byte
		if err == nil {
			before, err = c.MarshalState()
		}
		if err == nil {
			err = c.RestoreState(state)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("trainers: the state of the callback %q: %w", c.StateName(), err), undo())
		}
		changed = append(changed, func() error { return c.RestoreState(before) })
	}
	return undo, nil
}

// noteCallbacks notes the callbacks whose state a resumed checkpoint does not have, and the states that no callback
// takes. Both are allowed: a run may go on with other callbacks.
func (t *Trainer) noteCallbacks(snap *checkpoint.Snapshot) {
	known := map[string]bool{}
	for _, c := range t.keeping {
		name := layout.Callback(c.StateName())
		known[name] = true
		if _, has := snap.Arrays[name]; !has {
			t.notes = append(t.notes, fmt.Sprintf("the checkpoint has no state of the callback %q, which starts as it was made",
				c.StateName()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(snap.Arrays)) {
		if own, ok := strings.CutPrefix(name, layout.Callback("")); ok && !known[name] {
			t.notes = append(t.notes, fmt.Sprintf("the checkpoint has a state of the callback %q, and no callback has this "+
				"StateName: the next checkpoint is without it", own))
		}
	}
}
