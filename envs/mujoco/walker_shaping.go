package mujoco

import (
	"fmt"

	"github.com/gorl-dev/gorl/envs"
)

// walkerTerms are the parameters of an environment's reward, see [Walker].
type walkerTerms struct{ weight, sharpness, alive float64 }

// defaultWalkerTerms give the reward exp(−2 (v − target)²).
var defaultWalkerTerms = walkerTerms{weight: 1, sharpness: 2}

// tree returns the parameters in the form of [envs.RewardShaper].
func (t walkerTerms) tree() map[string]any {
	return map[string]any{"speed": map[string]any{"weight": t.weight, "sharpness": t.sharpness}, "alive": t.alive}
}

// assign sets the parameters in values, a tree as that of tree. On an error it sets none of them. A negative sharpness
// is an error, because the reward would grow with the distance from the target speed.
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

// RewardShaping implements [envs.RewardShaper]. It returns the parameters that were last set for all walkers.
func (w *Walker) RewardShaping() map[string]any { return w.shaping.tree() }

// SetRewardShaping implements [envs.RewardShaper]. It sets parameters of the reward of the listed walkers, or of all if
// environments is nil. On an error it sets nothing.
func (w *Walker) SetRewardShaping(values map[string]any, environments []int) error {
	// Assigning to a copy checks the values, even if environments is empty.
	common := w.shaping
	if err := common.assign(values); err != nil {
		return err
	}
	if environments == nil {
		w.shaping = common
	}
	return assignShaping(w.task.terms, environments, func(t *walkerTerms) error { return t.assign(values) })
}
