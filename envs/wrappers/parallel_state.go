package wrappers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
)

// header begins a saved state. Its number changes with the format. States of environments with seats have a format of
// their own.
func (p *Parallel) header() string {
	if len(p.set.Seats) > 0 {
		return "gorl parallel environments 2"
	}
	return "gorl parallel environments 1"
}

// MarshalState returns the state of every environment, of its generator and of its running episode, and the current
// observations. The observations are saved because a Single can only write them in Reset and Step.
func (p *Parallel) MarshalState() ([]byte, error) {
	if p.closed || !p.ready {
		return nil, errors.New("wrappers: there is no state to save: call Reset first")
	}
	states, err := collect(p.singles, "the state", envs.Stateful.MarshalState)
	if err != nil {
		return nil, err
	}
	e := statecodec.NewEncoder(p.header())
	e.Int(len(p.singles))
	e.Floats(p.all.Observations)
	e.Floats(p.all.States)
	if p.width.mask > 0 {
		e.Floats(p.all.ActionMasks)
	}
	if len(p.set.Seats) > 0 {
		e.Bools(p.all.Seats.Active)
	}
	for i, state := range states {
		pcg, err := p.pcgs[i].MarshalBinary()
		if err != nil {
			return nil, fmt.Errorf("wrappers: environment %d: %w", i, err)
		}
		e.Bytes(pcg)
		e.Float(p.returns[i])
		e.Int(p.lengths[i])
		e.Bytes(state)
	}
	return e.State(), nil
}

// RestoreState puts back what MarshalState of as many environments of the same kind returned. After an error nothing
// has changed. Reset need not be called before or after; Observe then shows the observations.
func (p *Parallel) RestoreState(b []byte) error {
	if p.closed {
		return errors.New("wrappers: RestoreState was called after Close")
	}
	saved, err := p.decode(b)
	if err != nil {
		return fmt.Errorf("wrappers: %w", err)
	}
	undo, err := p.prepare()
	if err != nil {
		return err
	}
	for i := range p.singles {
		if err := p.singles.restore(i, saved.singles[i]); err != nil {
			return errors.Join(err, undo(i))
		}
	}
	// Nothing below can fail: until here, an error leaves the batch as it was.
	// The values are copied into the old generators, because a Single may have kept the rand.Rand that uses one.
	copy(p.pcgs, saved.pcgs)
	copy(p.all.Observations, saved.observations)
	copy(p.all.States, saved.states)
	copy(p.all.ActionMasks, saved.masks)
	copy(p.all.Seats.Active, saved.active)
	copy(p.returns, saved.returns)
	copy(p.lengths, saved.lengths)
	clear(p.metrics)
	p.ready = true
	return nil
}

// parallelState is a saved state, decoded and checked but not yet in force. RestoreState changes nothing before all
// of it is valid.
type parallelState struct {
	// observations (N, O), states (N, S) and masks (N, K) are what was shown last.
	observations, states, masks []float32
	// active is (N, number of seats), nil without seats.
	active []bool
	// pcgs, returns and lengths (N) belong to the environments' generators and episodes in progress.
	pcgs    []rand.PCG
	returns []float64
	lengths []int
	// singles (N) are the states of the environments themselves, in their own format.
	singles [][]byte
}

// decode reads a saved state of as many environments, and changes nothing.
func (p *Parallel) decode(b []byte) (*parallelState, error) {
	n := len(p.singles)
	d := statecodec.NewDecoder(p.header(), b)
	if got := d.Int(); got != n {
		d.Fail("it is of %d environments, here are %d", got, n)
	}
	// Floats checks the lengths: they differ if the spaces differ.
	s := &parallelState{
		observations: d.Floats(n * p.width.observation), states: d.Floats(n * p.width.state),
		pcgs: make([]rand.PCG, n), returns: make([]float64, n), lengths: make([]int, n), singles: make([][]byte, n),
	}
	if p.width.mask > 0 {
		s.masks = d.Floats(n * p.width.mask)
	}
	if len(p.set.Seats) > 0 {
		s.active = d.Bools(n * len(p.set.Seats))
	}
	for i := range n {
		if err := s.pcgs[i].UnmarshalBinary(d.Bytes()); err != nil {
			d.Fail("environment %d: %v", i, err)
		}
		s.returns[i], s.lengths[i], s.singles[i] = d.Float(), d.Int(), d.Bytes()
		if s.lengths[i] < 0 {
			d.Fail("environment %d: the episode's length is %d", i, s.lengths[i])
		}
	}
	return s, d.End()
}

// prepare gets the environments ready for RestoreState. It returns a function that undoes the restoring of
// environments 0 to i, so that a failure leaves the batch as it was. In a batch that was not reset it only puts the
// generators back, because such a batch needs a Reset anyway.
func (p *Parallel) prepare() (undo func(i int) error, err error) {
	// Undoing needs the present states, which must be saved before the first environment is restored.
	if p.ready {
		backup, err := collect(p.singles, "the state", envs.Stateful.MarshalState)
		return func(last int) (err error) {
			for i := range last + 1 {
				err = errors.Join(err, p.singles.restore(i, backup[i]))
			}
			return err
		}, err
	}
	// A Single may keep the generator that Reset gives it, so one that was never reset is reset before its
	// state comes back. The generators are put back if that fails; the rest waits for a Reset anyway.
	pcgs := slices.Clone(p.pcgs)
	undo = func(int) error { copy(p.pcgs, pcgs); return nil }
	if err := p.each(nil); err != nil {
		return nil, errors.Join(err, undo(0))
	}
	return undo, nil
}
