package joint

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/spaces"
)

// batch is a flat slice of got values, which should be rows of width values. An optional one may be empty.
type batch struct {
	what       string
	got, width int
	optional   bool
}

// check returns an error, which begins with the package, for every batch that does not have one row for each of n
// environments.
func check(pkg string, n int, batches ...batch) error {
	var errs []error
	for _, b := range batches {
		if want := n * b.width; b.got != want && !(b.optional && b.got == 0) {
			errs = append(errs, fmt.Errorf("%s: there are %d values of %s, want %d (%d environments × %d)", pkg,
				b.got, b.what, want, n, b.width))
		}
	}
	return errors.Join(errs...)
}

// CheckObservation returns an error unless in has one row of each kind for each of n environments with the spaces sp.
func CheckObservation(pkg string, in agents.Observation, n int, sp spaces.Set) error {
	return check(pkg, n, batch{"observations", len(in.Observations), sp.Observation.Width(), false},
		batch{"states", len(in.States), sp.State.Width(), false},
		batch{"action masks", len(in.ActionMasks), sp.ActionMask.Width(), false},
		batch{"active seats", len(in.Active), len(sp.Seats), false})
}

// CheckTransition is CheckObservation for a transition. Rewards may be missing if there are seats. Final rows may be
// missing, because no episode has ended; so may AMP rows, which no agent needs then, and marks.
func CheckTransition(pkg string, t agents.Transition, n int, sp spaces.Set) error {
	o, s := sp.Observation.Width(), sp.State.Width()
	return check(pkg, n, batch{"rewards", len(t.Rewards), 1, len(sp.Seats) > 0},
		batch{"terminated flags", len(t.Terminated), 1, false}, batch{"truncated flags", len(t.Truncated), 1, false},
		batch{"next observations", len(t.NextObservations), o, false},
		batch{"next states", len(t.NextStates), s, false},
		batch{"final observations", len(t.FinalObservations), o, true},
		batch{"final states", len(t.FinalStates), s, true},
		batch{"AMP observations", len(t.AMPObservations), sp.AMPObservation.Width(), true},
		batch{"marks of unknown final observations", len(t.FinalUnknown), 1, true},
		batch{"marks of invalid transitions", len(t.Invalid), 1, true},
		batch{"marks of idle rows", len(t.Idle), 1, true}, batch{"marks of idle next rows", len(t.NextIdle), 1, true})
}
