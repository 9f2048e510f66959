package explore

// This file checks a Mutation against the hyperparameters that members have. All of it runs before training, so that
// a misspelt name or a bound the wrong way round does not show after hours.

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
)

// Validate checks the mutation against the hyperparameters there are.
func (m Mutation) Validate(hyperparameters []string) error {
	m = m.withDefaults()
	for _, p := range []struct {
		name  string
		value float64
	}{{"Rate", m.Rate}, {"Resample", m.Resample}, {"Reset", m.Reset}} {
		if !(p.value >= 0 && p.value <= 1) {
			return fmt.Errorf("pbt: Mutation.%s is %v; give a probability from 0 to 1", p.name, p.value)
		}
	}
	if err := checkChangeRange(m.ChangeRange); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(m.Rules)) {
		if err := checkKey("mutation", key, hyperparameters); err != nil {
			return err
		}
		if m.Rules[key] == nil {
			return fmt.Errorf("pbt: Mutation.Rules[%q] is nil; give a rule, e.g. explore.MutateFloat, or leave the "+
				"key out", key)
		}
		if p, ok := m.Parameters[key]; ok && p.Rule != nil {
			return fmt.Errorf("pbt: mutation.%s and parameters.%s both name a rule; give one of the two", key, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Bounds)) {
		if err := checkKey("bounds", key, hyperparameters); err != nil {
			return err
		}
		b := m.Bounds[key]
		if !(b[0] <= b[1]) || math.IsInf(b[0], 1) || math.IsInf(b[1], -1) {
			return fmt.Errorf("pbt: bounds.%s is %v; give the least value, then the greatest", key, b)
		}
		if b == [2]float64{} {
			return fmt.Errorf("pbt: bounds.%s is %v, which leaves nothing to mutate; leave the key out for no bounds",
				key, b)
		}
		if p, ok := m.Parameters[key]; ok && p.bounded() {
			return fmt.Errorf("pbt: bounds.%s and parameters.%s both give bounds; give one of the two", key, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Parameters)) {
		if err := checkKey("parameters", key, hyperparameters); err != nil {
			return err
		}
	}
	// What a name gets may come from several entries, so it is checked name by name.
	for _, name := range slices.Sorted(slices.Values(hyperparameters)) {
		p := m.parameter(name)
		if err := p.check(traits(p.Rule)); err != nil {
			return fmt.Errorf("pbt: parameters.%s (%s): %w", name, ruleWords(p.Rule), err)
		}
	}
	return nil
}

// ruleWords names a rule in an error.
func ruleWords(r Rule) string {
	if r == nil {
		return "no rule"
	}
	return "rule " + r.Name()
}

// checkKey checks that a name or pattern stands for at least one hyperparameter. where is the field that has it, for
// the error.
func checkKey(where, key string, hyperparameters []string) error {
	if slices.ContainsFunc(hyperparameters, func(name string) bool { return matches(key, name) }) {
		return nil
	}
	wrong := "names hyperparameter %q, which members do not have"
	if strings.HasSuffix(key, "*") {
		wrong = "has the pattern %q, which matches no hyperparameter of the members"
	}
	return fmt.Errorf("pbt: %s "+wrong+": %s", where, key, config.Among(key, hyperparameters))
}

// lookup finds the entry of a name or of the longest pattern that matches it. closeness is 0 if there is none,
// grows with the length of the pattern, and is greatest for the name itself. It shortens the name by a part at a
// time, so that the first pattern found is the longest.
func lookup[V any](entries map[string]V, name string) (v V, closeness int) {
	if v, ok := entries[name]; ok {
		return v, len(name) + 2
	}
	for prefix := name; ; {
		dot := strings.LastIndexByte(prefix, '.')
		prefix = prefix[:dot+1] // with the dot, or empty
		if v, ok := entries[prefix+"*"]; ok {
			return v, len(prefix) + 1
		}
		if dot < 0 {
			return v, 0
		}
		prefix = prefix[:dot]
	}
}

// matches reports whether a name or pattern stands for a hyperparameter. Only "*" and a "*" after a dot are patterns.
func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok && (prefix == "" || strings.HasSuffix(prefix, ".")) {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// Expand replaces patterns by the hyperparameters that they match; names stay as they are. The result is sorted.
func Expand(keys, hyperparameters []string) []string {
	var names []string
	for _, key := range keys {
		if !strings.HasSuffix(key, "*") {
			names = append(names, key)
			continue
		}
		for _, name := range hyperparameters {
			if matches(key, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
