package mujoco

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/envs"
)

// assign sets the parameters in values, a tree as RewardShaping returns it. On an error it sets none of them. A
// negative sharpness is an error, because the reward would grow with the error.
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

// RewardShaping implements [envs.RewardShaper]. It returns the parameters that were last set for all characters.
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

// SetRewardShaping implements [envs.RewardShaper]. It sets parameters of the reward of the listed characters, or of all
// if environments is nil. On an error it sets nothing.
func (c *Character) SetRewardShaping(values map[string]any, environments []int) error {
	// Assigning to a copy checks the values, even if environments is empty.
	common := c.shaping
	if err := common.assign(values); err != nil {
		return err
	}
	if environments == nil {
		c.shaping = common
	}
	return assignShaping(c.task.terms, environments, func(t *characterTerms) error { return t.assign(values) })
}
