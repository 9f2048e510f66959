package mujoco

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/envs"
)

// shaper implements [envs.RewardShaper] for the rewards of a batch that embeds it. T holds those of an environment.
type shaper[T any] struct {
	// name begins errors.
	name string
	// common are the parameters that were last set for all environments, each (N) those of every environment.
	common T
	each   []T
	// fields returns pointers to the parameters by their keys, such as "pose.weight".
	fields func(*T) map[string]*float64
}

// RewardShaping implements [envs.RewardShaper]. It returns the parameters that were last set for all environments.
func (p *shaper[T]) RewardShaping() map[string]any {
	tree := map[string]any{}
	for key, v := range p.fields(&p.common) {
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

// SetRewardShaping implements [envs.RewardShaper]. It sets the parameters in values, a tree as RewardShaping returns
// it, of the listed environments, or of all if environments is nil. On an error it sets nothing. An empty list only
// checks the values.
func (p *shaper[T]) SetRewardShaping(values map[string]any, environments []int) error {
	common := p.common
	if err := p.assign(&common, values); err != nil {
		return err
	}
	if environments == nil {
		p.common = common
		for i := range p.each {
			environments = append(environments, i)
		}
	}
	for _, i := range environments {
		if i < 0 || i >= len(p.each) {
			return fmt.Errorf("mujoco: environment %d is not one of %d", i, len(p.each))
		}
	}
	for _, i := range environments { // none fails, because errors depend on the values alone
		if err := p.assign(&p.each[i], values); err != nil {
			return err
		}
	}
	return nil
}

// assign sets the parameters in values. On an error it sets none of them. A negative sharpness is an error, because the
// reward would grow with the error.
func (p *shaper[T]) assign(t *T, values map[string]any) error {
	changed := *t
	fields := p.fields(&changed)
	err := envs.AssignShaping(values, fields)
	for name, v := range fields {
		if err == nil && *v < 0 && strings.HasSuffix(name, ".sharpness") {
			err = fmt.Errorf("%s is %g; it must not be negative", name, *v)
		}
	}
	if err != nil {
		return fmt.Errorf("mujoco: %s: %w", p.name, err)
	}
	*t = changed
	return nil
}
