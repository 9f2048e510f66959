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

// stateKey is the value, among the trainer's, with the checksum of the environment's state that the weights were saved
// with. Where a population puts a member's own environment into another's snapshot, the two differ.
const stateKey = "environment_state"

// running is what is known of the episode in progress in each environment.
type running struct {
	begun []bool // a step of it has been taken
	mixed []bool // a part of it is other weights' doing: its figures are nobody's
	// before is what mixed was before the last takeover, nil once a step has been taken since.
	before []bool
	came   bool // the environment's state came with the weights, and no step has been taken since
}

func newRunning(n int) running { return running{begun: make([]bool, n), mixed: make([]bool, n)} }

// reset is for a batch whose episodes all begin.
func (r *running) reset() {
	clear(r.begun)
	clear(r.mixed)
	r.before, r.came = nil, false
}

// stepped follows a step, whose figures have been read.
func (r *running) stepped(s *envs.Step) {
	r.before, r.came = nil, false
	for i := range r.begun {
		r.begun[i] = !s.Terminated[i] && !s.Truncated[i]
		r.mixed[i] = r.mixed[i] && r.begun[i]
	}
}

// takenOver marks what is running, once weights are another's.
func (r *running) takenOver() {
	if r.came {
		return
	}
	r.before = slices.Clone(r.mixed)
	for i, begun := range r.begun {
		r.mixed[i] = r.mixed[i] || begun
	}
}

// Bits of a running episode in a snapshot.
const (
	bitBegun = 1 << iota
	bitMixed
)

// save adds the episodes in progress to a snapshot that has the environment's state.
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

func checksum(state []byte) string {
	sum := sha256.Sum256(state)
	return hex.EncodeToString(sum[:])
}

// restored is what is known after a snapshot has been put back, with the environment's state where whole is true.
func (r *running) restored(snap *checkpoint.Snapshot, whole bool) (running, error) {
	next := running{begun: slices.Clone(r.begun), mixed: slices.Clone(r.mixed)}
	if !whole { // the episodes in progress go on
		if r.before != nil { // and a takeover that they have not noticed is undone
			next.mixed = r.before
		}
		return next, nil
	}
	next.came = true
	if sum, err := snap.Text(layout.Trainer, stateKey); err == nil {
		state, err := snap.Arrays[layout.EnvironmentState].Bytes()
		if err != nil {
			return next, fmt.Errorf("trainers: %s: %w", layout.EnvironmentState, err)
		}
		next.came = sum == checksum(state)
	}
	array, has := snap.Arrays[layout.EnvironmentEpisodes]
	if !has { // a snapshot of before they were kept: all may be running, and nothing is wrong with them
		for i := range next.begun {
			next.begun[i], next.mixed[i] = true, false
		}
		return next, nil
	}
	b, err := array.Bytes()
	if err == nil && len(b) != len(next.begun) {
		err = fmt.Errorf("it is of %d environments, here are %d", len(b), len(next.begun))
	}
	if err != nil {
		return next, fmt.Errorf("trainers: %s: %w", layout.EnvironmentEpisodes, err)
	}
	for i, bits := range b {
		next.begun[i], next.mixed[i] = bits&bitBegun != 0, bits&bitMixed != 0
	}
	return next, nil
}
