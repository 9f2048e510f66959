package pbt

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Mutation says how hyperparameters change when they are handed on. Keys without a rule are handed on unchanged.
type Mutation struct {
	// Rate is the probability that a key with a rule is mutated, each on its own. Default (0): 0.25. To mutate
	// nothing, give no rules.
	Rate float64
	// ChangeRange are the least and greatest factor of change, both at least 1. Default (zero): 1.1 to 2.
	ChangeRange [2]float64
	// Rules are the names of rules by hyperparameter, e.g. "learning_rate": "mutate_float". See RegisterRule.
	Rules map[string]string
	// Bounds are the least and greatest value by hyperparameter. Mutated values are clamped to them.
	Bounds map[string][2]float64
}

// Keys are the hyperparameters with a rule, sorted.
func (m Mutation) Keys() []string { return slices.Sorted(maps.Keys(m.Rules)) }

// BoundsOf are those in Bounds.
func (m Mutation) BoundsOf(key string) ([2]float64, bool) {
	b, ok := m.Bounds[key]
	return b, ok
}

// Validate checks the mutation against the hyperparameters there are.
func (m Mutation) Validate(hyperparameters []string) error {
	m = m.withDefaults()
	if !(m.Rate >= 0 && m.Rate <= 1) {
		return fmt.Errorf("pbt: Mutation.Rate is %v; give a probability from 0 to 1", m.Rate)
	}
	if low, high := m.ChangeRange[0], m.ChangeRange[1]; !(low >= 1 && low <= high) || math.IsInf(high, 0) {
		return fmt.Errorf("pbt: Mutation.ChangeRange is %v; give two factors of at least 1 in ascending order, e.g. [1.1 2]", m.ChangeRange)
	}
	for _, key := range slices.Sorted(maps.Keys(m.Rules)) {
		if !slices.Contains(hyperparameters, key) {
			return fmt.Errorf("pbt: Mutation.Rules names hyperparameter %q, which members do not have: %s", key, unknown(key, hyperparameters))
		}
		if _, ok := ruleByName(m.Rules[key]); !ok {
			return fmt.Errorf("pbt: Mutation.Rules[%q] names rule %q, which does not exist: %s", key, m.Rules[key], unknown(m.Rules[key], RuleNames()))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Bounds)) {
		if !slices.Contains(hyperparameters, key) {
			return fmt.Errorf("pbt: Mutation.Bounds names hyperparameter %q, which members do not have: %s", key, unknown(key, hyperparameters))
		}
		if b := m.Bounds[key]; !(b[0] <= b[1]) {
			return fmt.Errorf("pbt: Mutation.Bounds[%q] is %v; give the least value, then the greatest", key, b)
		}
	}
	return nil
}

// Apply returns a mutated copy. Keys are visited in sorted order; for each key with a rule one number is drawn, and the
// key is skipped when it exceeds Rate; the rule's own draws follow (mutate_float: the factor, then the direction).
// A rule's result that is not a finite number is discarded, and the value kept. Apply panics on a rule that does not
// exist: call Validate first.
func (m Mutation) Apply(values map[string]float64, u Uniform) map[string]float64 {
	m = m.withDefaults()
	mutated := maps.Clone(values)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name, ok := m.Rules[key]
		if !ok || u.Float64() > m.Rate {
			continue
		}
		rule, ok := ruleByName(name)
		if !ok {
			panic(fmt.Sprintf("pbt: rule %q does not exist; Mutation.Validate reports that", name))
		}
		bounds, bounded := m.Bounds[key]
		v := rule.apply(values[key], RuleInput{Uniform: u, ChangeRange: m.ChangeRange, Key: key, Bounds: bounds, Bounded: bounded})
		if !finite(v) {
			continue
		}
		if rule.limited {
			v = min(max(v, rule.natural[0]), rule.natural[1])
		}
		if bounded {
			v = min(max(v, bounds[0]), bounds[1])
		}
		mutated[key] = v
	}
	return mutated
}

func (m Mutation) withDefaults() Mutation {
	if m.Rate == 0 {
		m.Rate = 0.25
	}
	if m.ChangeRange == [2]float64{} {
		m.ChangeRange = [2]float64{1.1, 2}
	}
	return m
}
