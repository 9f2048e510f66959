package explore

// This file holds Mutation, the explorer of three of the four presets: it selects keys at random and changes each by
// its rule. mutation_validate.go checks it before training; the rules are in rules.go and rules_gorl.go.

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/number"
)

// Mutation says how hyperparameters change when they are handed on. Keys without a rule are handed on unchanged.
//
// The keys of Rules, Bounds and Parameters are names of hyperparameters, or patterns for all whose names begin alike:
// "env.reward.*" means every name that begins with "env.reward.", such as the leaf "env.reward.delta.0" of a nested
// setting, and "*" every name. A name's own entry wins over patterns, and a longer pattern over a shorter one.
type Mutation struct {
	// Rate is the probability that a key with a rule is mutated, each on its own. Default (0): 0.25. To mutate
	// nothing, give no rules.
	//
	// A larger rate searches faster and disturbs training more; a smaller one lets members train with the same values
	// for longer, so that their effect shows.
	Rate float64
	// ChangeRange are the least and greatest factor of change, both at least 1. Default (zero): 1.1 to 2.
	//
	// Larger factors cross a wide range in fewer intervals and overshoot good values more often. Narrow the range
	// once values are nearly right.
	ChangeRange [2]float64
	// Rules are the rules by hyperparameter, e.g. "learning_rate": explore.MutateFloat.
	Rules Rules
	// Bounds are the least and greatest value by hyperparameter. Mutated values are put within them.
	Bounds map[string][2]float64
	// Parameters say more about single hyperparameters. Their rules and bounds win over Rules and Bounds.
	Parameters map[string]Parameter
	// Resample is the probability that a key that is mutated is resampled from its Parameter's Sample or Choices
	// instead (Ray Tune: resample_probability). Keys with a Sample or Choices then need no rule. Default 0.
	//
	// Larger values explore more widely and forget what the population has found; a small one helps
	// where members have become too much alike.
	Resample float64
	// Reset is the probability that a key that is mutated, and whose value is not its Parameter's Default, becomes
	// that instead (Sample Factory: 0.01). Default 0.
	//
	// A larger value pulls the population back to settings known to work; 0 lets it wander off for good.
	Reset float64
	// Constrain, when not nil, has the last word on the mutated values, e.g. [AtMost]. Where it fails, or returns
	// numbers that are not finite, out of bounds or missing, the values stay as they were before the mutation.
	Constrain Constraint
}

// parameter returns what applies to a hyperparameter, with its rule and bounds from wherever they come. Of several
// entries that match the closest one wins, separately for the rule, the bounds and the rest.
func (m Mutation) parameter(key string) Parameter {
	p, own := lookup(m.Parameters, key)
	if rule, closer := lookup(m.Rules, key); closer > 0 && (p.Rule == nil || closer > own) {
		p.Rule = rule
	}
	if b, closer := lookup(m.Bounds, key); closer > 0 && (!p.bounded() || closer > own) {
		p.Min, p.Max = b[0], b[1]
	}
	p.ChangeRange = cmp.Or(p.ChangeRange, m.ChangeRange)
	return p
}

// tunable reports whether a parameter can change.
func (m Mutation) tunable(p Parameter) bool { return p.Rule != nil || m.Resample > 0 && p.sampled() }

// Keys are the hyperparameters with a rule or, if there is resampling, something to draw from, sorted; patterns stay
// patterns.
func (m Mutation) Keys() []string {
	keys := slices.Collect(maps.Keys(m.Rules))
	for key := range m.Parameters {
		if m.tunable(m.parameter(key)) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// BoundsOf are those in Parameters or Bounds.
func (m Mutation) BoundsOf(key string) ([2]float64, bool) {
	p := m.parameter(key)
	return [2]float64{p.Min, p.Max}, p.bounded()
}

// Apply returns a mutated copy. Keys are visited in sorted order. For each key that can change, numbers are drawn thus:
//
//  1. one that skips the key when it exceeds Rate;
//  2. if Reset is above 0 and the key has a Default other than its value: one that, below Reset, makes it the default;
//  3. if Resample is above 0 and the key has a Sample or Choices: one that, below Resample, has the value drawn by
//     one more number;
//  4. the rule's own (mutate_float: the factor, then the direction).
//
// A result that is not a finite number is discarded, and the value kept.
func (m Mutation) Apply(values map[string]float64, u Uniform) map[string]float64 {
	m = m.withDefaults()
	mutated := maps.Clone(values)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if p := m.parameter(key); m.tunable(p) {
			mutated[key] = m.mutate(key, p, values[key], u)
		}
	}
	return m.Constrain.apply(values, mutated, m.BoundsOf)
}

// mutate returns the new value of one key.
func (m Mutation) mutate(key string, p Parameter, value float64, u Uniform) float64 {
	// A skipped key draws nothing more.
	if u.Float64() > m.Rate {
		return value
	}
	// Reset comes before resampling and both before the rule: each draws only where the one before did not apply.
	known := traits(p.Rule)
	var v float64
	switch {
	case m.Reset > 0 && p.Default != nil && value != *p.Default && u.Float64() < m.Reset:
		v = *p.Default
	case m.Resample > 0 && p.sampled() && u.Float64() < m.Resample:
		v = p.resample(u, known.whole)
	case p.Rule != nil:
		v = p.Rule.Apply(value, RuleInput{
			Uniform: u, ChangeRange: p.ChangeRange, Key: key, Bounds: [2]float64{p.Min, p.Max}, Bounded: p.bounded(),
			Step: p.Step, Choices: p.Choices, Default: p.Default,
		})
		// The natural interval of a rule holds before the bounds of the user, which may be wider.
		if known.limited {
			v = min(max(v, known.natural[0]), known.natural[1])
		}
	default: // nothing but resampling, which was not drawn
		return value
	}
	if !number.Finite(v) {
		return value
	}
	return p.inside(v, known.scale)
}

// withDefaults fills in Rate and ChangeRange if they are zero.
func (m Mutation) withDefaults() Mutation {
	m.Rate, m.ChangeRange = cmp.Or(m.Rate, 0.25), cmp.Or(m.ChangeRange, [2]float64{1.1, 2})
	return m
}

// Clone returns a copy that is independent of the maps and slices of m, which the caller may go on to change.
func (m Mutation) Clone() Mutation {
	m.Rules, m.Bounds, m.Parameters = maps.Clone(m.Rules), maps.Clone(m.Bounds), maps.Clone(m.Parameters)
	for key, p := range m.Parameters {
		p.Choices = slices.Clone(p.Choices)
		if p.Default != nil {
			p.Default = new(*p.Default)
		}
		m.Parameters[key] = p
	}
	return m
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
