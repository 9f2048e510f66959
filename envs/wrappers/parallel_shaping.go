package wrappers

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
)

// RewardShaping returns the reward parameters that were last set for all environments, at first those that environment
// 0 was made with. It is nil where the environments have none, see [envs.As].
func (p *Parallel) RewardShaping() map[string]any {
	s, ok := envs.SingleAs[envs.SingleRewardShaper](p.singles[0])
	if !ok {
		return nil
	}
	if p.shaping == nil {
		return s.RewardShaping()
	}
	copied, _ := envs.UnflattenShaping(p.shaping, nil) // it has been copied before
	return copied
}

// SetRewardShaping sets reward parameters of some environments, each an [envs.SingleRewardShaper], or of all where
// environments is nil. Where one refuses them, those before it get back what they had. See [envs.RewardShaper].
func (p *Parallel) SetRewardShaping(values map[string]any, environments []int) error {
	if p.closed {
		return errors.New("wrappers: SetRewardShaping was called after Close")
	}
	shapers := make([]envs.SingleRewardShaper, len(p.singles))
	for i := range p.singles {
		var err error
		if shapers[i], err = as[envs.SingleRewardShaper](p.singles, i, "the reward parameters"); err != nil {
			return err
		}
	}
	if p.shaping == nil { // what environment 0 has may soon no longer be what all were made with
		p.shaping = shapers[0].RewardShaping()
	}
	if environments != nil && len(environments) == 0 { // one takes them and gives them back
		has := shapers[0].RewardShaping()
		return errors.Join(p.shape(shapers, 0, values), p.shape(shapers, 0, has))
	}
	all := environments == nil
	if all {
		for i := range p.singles {
			environments = append(environments, i)
		}
	}
	for _, i := range environments {
		if i < 0 || i >= len(p.singles) {
			return fmt.Errorf("wrappers: environment %d is not one of %d", i, len(p.singles))
		}
	}
	had := make([]map[string]any, 0, len(environments))
	for k, i := range environments {
		had = append(had, shapers[i].RewardShaping())
		if err := p.shape(shapers, i, values); err != nil {
			for ; k > 0; k-- {
				err = errors.Join(err, p.shape(shapers, environments[k-1], had[k-1]))
			}
			return err
		}
	}
	if all { // values may be a part of the parameters
		p.shaping = shapers[0].RewardShaping()
	}
	return nil
}

func (p *Parallel) shape(shapers []envs.SingleRewardShaper, i int, values map[string]any) error {
	return p.singles.call(i, func() error { return shapers[i].SetRewardShaping(values) })
}

const curriculumHeader = "gorl parallel curricula 1"

// CurriculumState returns the states of all environments, each an [envs.Curriculum].
func (p *Parallel) CurriculumState() ([]byte, error) {
	if p.closed {
		return nil, errors.New("wrappers: CurriculumState was called after Close")
	}
	states, err := p.singles.curricula()
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
	had, err := p.singles.curricula()
	if err != nil {
		return err
	}
	for i := range p.singles {
		err := p.singles.setCurriculum(i, states[i%len(states)])
		if err == nil {
			continue
		}
		for k := range i {
			err = errors.Join(err, p.singles.setCurriculum(k, had[k]))
		}
		return err
	}
	return nil
}

func decodeCurricula(b []byte) ([][]byte, error) {
	d := statecodec.NewDecoder(curriculumHeader, b)
	n := d.Int()
	if n < 1 {
		d.Fail("it is of %d environments", n)
	}
	var states [][]byte
	for range n {
		state := d.Bytes()
		if state == nil { // the decoder has failed: n may be any number
			break
		}
		states = append(states, state)
	}
	return states, d.End()
}
