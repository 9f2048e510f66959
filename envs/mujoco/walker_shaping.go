package mujoco

import (
	"fmt"

	"github.com/gorl-dev/gorl/envs"
)

// walkerTerms are the parameters of an environment's reward.
type walkerTerms struct{ weight, sharpness, alive float64 }

var defaultWalkerTerms = walkerTerms{weight: 1, sharpness: 2}

func (t walkerTerms) tree() map[string]any {
	return map[string]any{"speed": map[string]any{"weight": t.weight, "sharpness": t.sharpness}, "alive": t.alive}
}

// assign changes the terms that values has, all or (on an error) none.
func (t *walkerTerms) assign(values map[string]any) error {
	changed := *t
	err := envs.AssignShaping(values,
		map[string]*float64{"speed.weight": &changed.weight, "speed.sharpness": &changed.sharpness,
			"alive": &changed.alive})
	if err == nil && changed.sharpness < 0 {
		err = fmt.Errorf("speed.sharpness is %g; it must not be negative", changed.sharpness)
	}
	if err != nil {
		return fmt.Errorf("mujoco: walker: %w", err)
	}
	*t = changed
	return nil
}

// RewardShaping returns the parameters of the reward that were last set for all walkers, see [envs.RewardShaper].
func (w *Walker) RewardShaping() map[string]any { return w.shaping.tree() }

// SetRewardShaping changes parameters of the reward of some walkers, or of all where environments is nil, all or (on an
// error) none.
func (w *Walker) SetRewardShaping(values map[string]any, environments []int) error {
	common := w.shaping
	if err := common.assign(values); err != nil {
		return err
	}
	if environments == nil {
		w.shaping = common
	}
	return assignShaping(w.task.terms, environments, func(t *walkerTerms) error { return t.assign(values) })
}
