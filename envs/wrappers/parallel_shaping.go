package wrappers

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
	"github.com/gorl-dev/gorl/internal/undo"
)

// RewardShaping returns the reward parameters last set for all environments, or at first those that environment 0 was
// made with. It is nil if the environments have none, see [envs.As].
func (p *Parallel) RewardShaping() map[string]any {
	s, ok := envs.SingleAs[envs.SingleRewardShaper](p.singles[0])
	if !ok {
		return nil
	}
	if p.shaping == nil {
		return s.RewardShaping()
	}
	// The copy belongs to the caller. It is nil if the parameters that the environment returned are not valid.
	copied, _ := envs.UnflattenShaping(p.shaping, nil)
	return copied
}

// SetRewardShaping sets reward parameters of the given environments, each an [envs.SingleRewardShaper]; nil stands
// for all. If one environment refuses the values, those set before it get back what they had. See
// [envs.RewardShaper].
func (p *Parallel) SetRewardShaping(values map[string]any, environments []int) error {
	if p.closed {
		return errors.New("wrappers: SetRewardShaping was called after Close")
	}
	// All environments must be shapers, also those that are not set, so that a failure changes nothing.
	shapers := make([]envs.SingleRewardShaper, len(p.singles))
	for i := range p.singles {
		var err error
		if shapers[i], err = as[envs.SingleRewardShaper](p.singles, i, "the reward parameters"); err != nil {
			return err
		}
	}
	// From now on environment 0 may have other parameters than all were made with. RewardShaping must still return
	// those, so they are kept.
	if p.shaping == nil {
		p.shaping = shapers[0].RewardShaping()
	}
	for _, i := range environments {
		if i < 0 || i >= len(p.singles) {
			return fmt.Errorf("wrappers: environment %d is not one of %d", i, len(p.singles))
		}
	}
	all := environments == nil
	check := !all && len(environments) == 0
	switch {
	case all:
		environments = undo.Indices(len(p.singles))
	case check: // environment 0 takes the values and gets its own back
		environments = []int{0}
	}
	had := map[int]map[string]any{}
	set := func(i int, values map[string]any) error {
		return p.singles.call(i, func() error { return shapers[i].SetRewardShaping(values) })
	}
	back := func(i int) error { return set(i, had[i]) }
	err := undo.All(environments, func(i int) error {
		if had[i] == nil { // environments may name one twice
			had[i] = shapers[i].RewardShaping()
		}
		return set(i, values)
	}, back)
	switch {
	case check: // also after an error: it may have taken a part of the values before a panic
		return errors.Join(err, back(0))
	case err == nil && all: // values may be a part of the parameters
		p.shaping = shapers[0].RewardShaping()
	}
	return err
}

// curriculumHeader begins the saved curricula. Its number changes with the format.
const curriculumHeader = "gorl parallel curricula 1"

// CurriculumState returns the states of all environments, each an [envs.Curriculum].
func (p *Parallel) CurriculumState() ([]byte, error) {
	if p.closed {
		return nil, errors.New("wrappers: CurriculumState was called after Close")
	}
	states, err := collect(p.singles, "the curriculum", envs.Curriculum.CurriculumState)
	if err != nil {
		return nil, err
	}
	e := statecodec.NewEncoder(curriculumHeader)
	e.Int(len(states))
	for _, state := range states {
		e.Bytes(state)
	}
	return e.State(), nil
}

// SetCurriculumState puts back what CurriculumState returned, all or (on an error) nothing. The state may be of another
// number m of environments: environment i then takes that of i mod m.
func (p *Parallel) SetCurriculumState(b []byte) error {
	if p.closed {
		return errors.New("wrappers: SetCurriculumState was called after Close")
	}
	states, err := decodeCurricula(b)
	if err != nil {
		return fmt.Errorf("wrappers: %w", err)
	}
	had, err := collect(p.singles, "the curriculum", envs.Curriculum.CurriculumState)
	if err != nil {
		return err
	}
	return undo.All(undo.Indices(len(p.singles)),
		func(i int) error { return p.singles.setCurriculum(i, states[i%len(states)]) },
		func(i int) error { return p.singles.setCurriculum(i, had[i]) })
}

// decodeCurricula returns the states in saved curricula, at least one.
func decodeCurricula(b []byte) ([][]byte, error) {
	d := statecodec.NewDecoder(curriculumHeader, b)
	n := d.Int()
	if n < 1 {
		d.Fail("it is of %d environments", n)
	}
	var states [][]byte
	for range n {
		state := d.Bytes()
		// The decoder has failed, so n may be any number, and a huge one must not be looped over.
		if state == nil {
			break
		}
		states = append(states, state)
	}
	return states, d.End()
}
