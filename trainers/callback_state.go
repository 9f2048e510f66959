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
// result. A resumed run continues with that state. Within a timestep stateful callbacks are called before the
// checkpoint is written, so that it has the state after the timestep. They are called before callbacks without a
// state.
type StatefulCallback interface {
	Callback
	// StateName is the name of the state in checkpoints. It must not be empty, must differ from the names of the
	// trainer's other callbacks, and must stay the same from run to run.
	StateName() string
	// MarshalState returns the state and changes nothing.
	MarshalState() ([]byte, error)
	// RestoreState restores a state that MarshalState returned. On an error it changes nothing.
	RestoreState(state []byte) error
}

// statefulCallbacks returns the callbacks that have a state. It returns an error if one has no name or two share one.
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
	for _, c := range t.stateCallbacks {
		state, err := c.MarshalState()
		if err != nil {
			return fmt.Errorf("trainers: the state of the callback %q: %w", c.StateName(), err)
		}
		snap.Arrays[layout.Callback(c.StateName())] = checkpoint.ArrayBytes([]int64{int64(len(state))}, state)
	}
	return nil
}

// restoreCallbacks restores the callbacks whose state is in a snapshot; others keep theirs. undo restores the states
// from before. On an error nothing has changed.
func (t *Trainer) restoreCallbacks(snap *checkpoint.Snapshot) (undo func() error, err error) {
	var changed []func() error
	undo = func() error {
		var errs []error
		for _, back := range slices.Backward(changed) {
			errs = append(errs, back())
		}
		return errors.Join(errs...)
	}
	for _, c := range t.stateCallbacks {
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

// noteCallbacks adds notes about callbacks that have no state in a resumed checkpoint, and about states in it that no
// callback takes. Neither is an error: a run may continue with other callbacks.
func (t *Trainer) noteCallbacks(snap *checkpoint.Snapshot) {
	known := map[string]bool{}
	for _, c := range t.stateCallbacks {
		name := layout.Callback(c.StateName())
		known[name] = true
		if _, has := snap.Arrays[name]; !has {
			t.notes = append(t.notes, fmt.Sprintf("the checkpoint has no state of the callback %q, which starts as it was "+
				"made", c.StateName()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(snap.Arrays)) {
		if own, ok := strings.CutPrefix(name, layout.Callback("")); ok && !known[name] {
			t.notes = append(t.notes, fmt.Sprintf("the checkpoint has a state of the callback %q, and no callback has this "+
				"StateName: the next checkpoint is without it", own))
		}
	}
}
