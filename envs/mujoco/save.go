package mujoco

// #include "engine.h"
import "C"

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/envs/internal/statecodec"
)

// stateHeader begins a saved state. Its number changes with the format. An environment that is randomised writes more.
const stateHeader = "mujoco/1"

// kept returns views of the numbers of environment i that a saved state holds, in the order of the format. They include
// what the next step reads, what a step leaves in a State, and the running sums of metrics. The solver's warm start is
// one of them: without it the next step would differ in the last bits.
func (e *Env) kept(i int) [][]float64 {
	m, d := e.model, e.batch.data[i]
	parts := [][]float64{
		row(e.ledger.returns, i, 1), floats(&d.time, 1), e.states[i].QPos, e.states[i].QVel,
		e.states[i].Ctrl, e.states[i].Memory,
		floats(d.act, m.NA()), floats(d.qacc_warmstart, m.NV()), floats(d.qacc, m.NV()),
		floats(d.qfrc_applied, m.NV()), floats(d.xfrc_applied, 6*m.NumBodies()),
		floats(d.mocap_pos, 3*int(m.m.nmocap)), floats(d.mocap_quat, 4*int(m.m.nmocap)),
		floats(d.userdata, int(m.m.nuserdata)), floats(d.sensordata, m.NumSensorValues()),
		floats(d.actuator_force, m.forces()), row(e.ledger.sums, i, len(e.ledger.names)),
	}
	// State that versions after MuJoCo 2.2.2 added: empty if the version or the model has none.
	for k := range C.GM_NEWER_STATES {
		var length C.int
		state := C.gm_newer_state(m.m, d, C.int(k), &length)
		parts = append(parts, floats(state, int(length)))
	}
	if e.random != nil {
		parts = append(parts, e.random.memoryOf(i), e.random.variant(i))
	}
	return parts
}

// restore copies values, the concatenation of all parts, into the parts.
func restore(parts [][]float64, values []float64) {
	for _, part := range parts {
		copy(part, values)
		values = values[len(part):]
	}
}

// MarshalState returns the whole state: every simulation, the running episodes and the generators. An environment with
// the same configuration, task and version of MuJoCo continues from it exactly. Sleeping trees (an option of MuJoCo 3.4
// and later) are the exception: they are awake in the restored environment.
func (e *Env) MarshalState() ([]byte, error) {
	if err := e.ready(); err != nil {
		return nil, err
	}
	enc := statecodec.NewEncoder(stateHeader)
	enc.Bytes([]byte(e.saved()))
	enc.Bytes(e.model.print[:])
	for _, v := range e.identity() {
		enc.Int(v.number)
	}
	for i := range e.states {
		s := &e.states[i]
		enc.Int(s.Steps)
		enc.Int(e.ledger.limit[i])
		for _, part := range e.kept(i) {
			enc.Numbers(part...)
		}
		rng, err := e.pcg[i].MarshalBinary()
		if err != nil {
			return nil, fmt.Errorf("mujoco: saving generator %d: %w", i, err)
		}
		enc.Bytes(rng)
	}
	enc.Floats(e.observation)
	enc.Floats(e.state)
	enc.Numbers(e.counts()...)
	if e.random != nil {
		enc.Float(e.random.steps)
		enc.Floats(e.random.signals.sent)
		enc.Floats(e.random.signals.seen)
	}
	return enc.State(), nil
}

// saved is the name of the task in a saved state.
func (e *Env) saved() string {
	if e.random != nil {
		return e.spec.Name + ", randomized"
	}
	return e.spec.Name
}

// identity returns the numbers that two environments must share to exchange states, in the order of the format.
func (e *Env) identity() []named {
	numbers := []named{{"environments", len(e.states)}, {"substeps", e.cfg.Substeps},
		{"steps an episode", e.cfg.EpisodeLength}, {"numbers of memory", e.spec.Memory},
		{"metrics", len(e.ledger.names)}}
	if r := e.random; r != nil {
		numbers = append(numbers, named{"numbers that differ between models", len(r.base)},
			named{"steps of delayed actions", r.signals.sentSlots},
			named{"steps of delayed observations", r.signals.seenSlots})
	}
	return numbers
}

// named is a number of identity with its name for the error of RestoreState.
type named struct {
	name   string
	number int
}

// RestoreState restores a saved state. If the state is damaged, it returns an error and changes nothing. The same holds
// for a state of another task, model, number of environments, control step or episode length.
func (e *Env) RestoreState(b []byte) error {
	if e.batch.c == nil {
		return errClosed
	}
	dec := statecodec.NewDecoder(stateHeader, b)
	if name := string(dec.Bytes()); name != e.saved() {
		dec.Fail("it is of the task %q, this is %q", name, e.saved())
	}
	if !bytes.Equal(dec.Bytes(), e.model.print[:]) {
		dec.Fail("it is of another model, or was saved with another version of MuJoCo than this %s", Version())
	}
	for _, v := range e.identity() {
		if got := dec.Int(); got != v.number {
			dec.Fail("it has %d %s, this has %d", got, v.name, v.number)
		}
	}
	// Everything is decoded and checked before the first write, so that a bad state changes nothing.
	all := make([]struct {
		steps, limit int
		parts        []float64
		rng          rand.PCG
	}, len(e.states))
	for i := range all {
		s := &all[i]
		s.steps, s.limit = dec.Int(), dec.Int()
		for _, part := range e.kept(i) {
			s.parts = append(s.parts, part...)
		}
		dec.Numbers(s.parts)
		if err := s.rng.UnmarshalBinary(dec.Bytes()); err != nil {
			dec.Fail("generator %d: %v", i, err)
		}
		if r := e.random; r != nil && !r.valid(s.parts[len(s.parts)-r.size-len(r.base):]) {
			dec.Fail("environment %d has a delay or level that the settings do not allow", i)
		}
		if s.steps < 0 || s.limit < 0 || s.limit > e.cfg.EpisodeLength {
			dec.Fail("environment %d is at step %d of %d", i, s.steps, s.limit)
		}
	}
	observation, state := dec.Floats(len(e.observation)), dec.Floats(len(e.state))
	counts := slices.Clone(e.counts())
	dec.Numbers(counts)
	var steps float64
	var sent, seen []float32
	if r := e.random; r != nil {
		steps, sent, seen = dec.Float(), dec.Floats(len(r.signals.sent)), dec.Floats(len(r.signals.seen))
	}
	if err := dec.End(); err != nil {
		return fmt.Errorf("mujoco: %w", err)
	}
	copy(e.counts(), counts)
	for i := range all {
		s := &all[i]
		e.states[i].Steps, e.states[i].Diverged = s.steps, false
		e.ledger.limit[i], *e.pcg[i] = s.limit, s.rng
		restore(e.kept(i), s.parts)
	}
	clear(e.ledger.seen) // the saved state does not hold what an EpisodeTask has followed
	if r := e.random; r != nil {
		r.steps = steps
		copy(r.signals.sent, sent)
		copy(r.signals.seen, seen)
	}
	copy(e.observation, observation)
	copy(e.state, state)
	clear(e.ends)
	if err := e.batch.forward(0, 0, len(e.states)); err != nil {
		return err
	}
	// forward has computed sensors again, and with them data that is from the last substep: restore all parts.
	for i := range all {
		restore(e.kept(i), all[i].parts)
	}
	e.started = true
	return nil
}
