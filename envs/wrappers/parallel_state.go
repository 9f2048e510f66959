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
	states, commit, err := p.decode(b)
	if err != nil {
		return fmt.Errorf("wrappers: %w", err)
	}
	undo, err := p.prepare()
	if err != nil {
		return err
	}
	for i := range p.singles {
		if err := p.singles.restore(i, states[i]); err != nil {
			return errors.Join(err, undo(i))
		}
	}
	commit()
	return nil
}

// decode reads a saved state of as many environments. It returns the states of the environments themselves, in their
// own format, and a function that puts the rest in force and cannot fail.
func (p *Parallel) decode(b []byte) (states [][]byte, commit func(), err error) {
	n := len(p.singles)
	d := statecodec.NewDecoder(p.header(), b)
	if got := d.Int(); got != n {
		d.Fail("it is of %d environments, here are %d", got, n)
	}
	// Floats checks the lengths: they differ if the spaces differ.
	observations, shown := d.Floats(n*p.width.observation), d.Floats(n*p.width.state)
	var masks []float32
	if p.width.mask > 0 {
		masks = d.Floats(n * p.width.mask)
	}
	var active []bool
	if len(p.set.Seats) > 0 {
		active = d.Bools(n * len(p.set.Seats))
	}
	states, pcgs, returns, lengths := make([][]byte, n), make([]rand.PCG, n), make([]float64, n), make([]int, n)
	for i := range n {
		if err := pcgs[i].UnmarshalBinary(d.Bytes()); err != nil {
			d.Fail("environment %d: %v", i, err)
		}
		returns[i], lengths[i], states[i] = d.Float(), d.Int(), d.Bytes()
		if lengths[i] < 0 {
			d.Fail("environment %d: the episode's length is %d", i, lengths[i])
		}
	}
	return states, func() {
		// The values are copied into the old generators, because a Single may have kept the rand.Rand that uses one.
		copy(p.pcgs, pcgs)
		copy(p.all.Observations, observations)
		copy(p.all.States, shown)
		copy(p.all.ActionMasks, masks)
		copy(p.all.Seats.Active, active)
		p.returns, p.lengths, p.ready = returns, lengths, true
		clear(p.metrics)
	}, d.End()
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
