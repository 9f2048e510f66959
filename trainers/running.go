package trainers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
)

// A population replaces weights while episodes are in progress. An episode that the weights of two members have played
// says little about either of them, so it must not count when it ends. This file records which episodes these are. The
// record survives snapshots, and replacements that are undone before the next step.

// stateKey is the trainer's value with the SHA-256 of the environment's state at the time when the weights were saved.
// If a population puts a member's own state into another member's snapshot, the checksum of that state differs.
const stateKey = "environment_state"

// running is what is known of the episode in progress in each environment. Slices are (N).
type running struct {
	begun []bool // a step of it has been taken
	mixed []bool // other weights have played a part of it: its figures are not counted
	// before is what mixed was before weights were last replaced, for a population that undoes the replacement. It is
	// nil after a step.
	before []bool
	came   bool // the environment's state came with the weights, and no step has been taken since
}

// newRunning returns the record of n environments whose episodes have not begun.
func newRunning(n int) running { return running{begun: make([]bool, n), mixed: make([]bool, n)} }

// reset records that new episodes begin in all environments.
func (r *running) reset() {
	clear(r.begun)
	clear(r.mixed)
	r.before, r.came = nil, false
}

// stepped records a step. It is called after the step's figures were counted, because it forgets which ended episodes
// were mixed.
func (r *running) stepped(s *envs.Step) {
	r.before, r.came = nil, false
	for i := range r.begun {
		r.begun[i] = !s.Ended(i) && !s.ResetOnly(i)
		r.mixed[i] = r.mixed[i] && r.begun[i]
	}
}

// takenOver marks the episodes in progress as mixed. [Trainee.Reseed] calls it after the weights became another
// member's. If the environment's state came with the weights, the episodes are that member's, too, and nothing is
// mixed.
func (r *running) takenOver() {
	if r.came {
		return
	}
	// Only episodes that have taken a step are mixed. The new weights will play the others from the start.
	r.before = slices.Clone(r.mixed)
	for i, begun := range r.begun {
		r.mixed[i] = r.mixed[i] || begun
	}
}

// Bits of an episode in progress. The array layout.EnvironmentEpisodes has one byte per environment.
const (
	bitBegun = 1 << iota
	bitMixed
)

// save adds the episodes in progress to a snapshot, together with the checksum of state, the environment's state in it.
func (r *running) save(snap *checkpoint.Snapshot, state []byte) {
	b := make([]byte, len(r.begun))
	for i := range b {
		if r.begun[i] {
			b[i] |= bitBegun
		}
		if r.mixed[i] {
			b[i] |= bitMixed
		}
	}
	snap.Arrays[layout.EnvironmentEpisodes] = checkpoint.ArrayBytes([]int64{int64(len(b))}, b)
	snap.Values[layout.Trainer].(map[string]any)[stateKey] = checksum(state)
}

// checksum returns the SHA-256 of a state in hexadecimal.
func checksum(state []byte) string {
	sum := sha256.Sum256(state)
	return hex.EncodeToString(sum[:])
}

// restored returns the record after a snapshot is restored, with the environment's state if whole is true. It does not
// change r, because restoring may still fail.
func (r *running) restored(snap *checkpoint.Snapshot, whole bool) (running, error) {
	next := running{begun: slices.Clone(r.begun), mixed: slices.Clone(r.mixed)}
	if !whole { // the episodes in progress go on
		if r.before != nil { // no step has been taken with the weights that are put away again
			next.mixed = r.before
		}
		return next, nil
	}
	// The state came with the weights if its checksum equals the one that was saved with them.
	next.came = true
	if sum, err := snap.Text(layout.Trainer, stateKey); err == nil {
		state, err := snap.Arrays[layout.EnvironmentState].Bytes()
		if err != nil {
			return next, fmt.Errorf("trainers: %s: %w", layout.EnvironmentState, err)
		}
		next.came = sum == checksum(state)
	}
	b, err := snap.Arrays[layout.EnvironmentEpisodes].Bytes()
	if err == nil && len(b) != len(next.begun) {
		err = fmt.Errorf("it is of %d environments, here are %d", len(b), len(next.begun))
	}
	if err != nil {
		return next, fmt.Errorf("trainers: %s: %w", layout.EnvironmentEpisodes, err)
	}
	// The snapshot's own record of the episodes goes with its environment's state.
	for i, bits := range b {
		next.begun[i], next.mixed[i] = bits&bitBegun != 0, bits&bitMixed != 0
	}
	return next, nil
}
