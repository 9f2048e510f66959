package mujoco

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/envs"
)

// assign changes the terms that values has, all or (on an error) none.
func (t *characterTerms) assign(values map[string]any) error {
	changed := *t
	fields := changed.fields()
	err := envs.AssignShaping(values, fields)
	for name, v := range fields {
		if err == nil && *v < 0 && strings.HasSuffix(name, ".sharpness") {
			err = fmt.Errorf("%s is %g; it must not be negative", name, *v)
		}
	}
	if err != nil {
		return fmt.Errorf("mujoco: character: %w", err)
	}
	*t = changed
	return nil
}

// RewardShaping returns the parameters of the reward that were last set for all characters, see [envs.RewardShaper].
func (c *Character) RewardShaping() map[string]any {
	tree := map[string]any{}
	for key, v := range c.shaping.fields() {
		term, name, nested := strings.Cut(key, ".")
		if !nested {
			tree[term] = *v
			continue
		}
		if tree[term] == nil {
			tree[term] = map[string]any{}
		}
		tree[term].(map[string]any)[name] = *v
	}
	return tree
}

// SetRewardShaping changes parameters of the reward of some characters, or of all where environments is nil, all or (on
// an error) none.
func (c *Character) SetRewardShaping(values map[string]any, environments []int) error {
	common := c.shaping
	if err := common.assign(values); err != nil {
		return err
	}
	if environments == nil {
		c.shaping = common
	}
	return assignShaping(c.task.terms, environments, func(t *characterTerms) error { return t.assign(values) })
}
