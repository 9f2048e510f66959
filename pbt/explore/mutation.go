package explore

// This file holds Mutation, the explorer of three of the four presets: it selects keys at random and changes each by
// its rule. Rules and bounds look at one hyperparameter at a time; a Constraint looks at all. Isaac Lab's rules are
// here, the others in rules.go. mutation_validate.go checks a mutation before training.

import (
	"cmp"
	"maps"
	"math"
	"slices"

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
		if known.natural != [2]float64{} {
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

// inside brings a value within the bounds by reflecting it on scale s, where Outside says so, or by taking the bound.
// It clamps in either case, as reflecting rounds.
func (p Parameter) inside(v float64, s scale) float64 {
	if !p.bounded() {
		return v
	}
	if p.Outside == OutsideReflect && (v < p.Min || v > p.Max) {
		v = s.reflect(v, p.Min, p.Max)
	}
	return min(max(v, p.Min), p.Max)
}

// apply returns the constrained values, or those from before where the constraint cannot be met within the bounds: a
// member that trains on with its old values is better than one with values that do not fit. before are the values
// before the mutation, changed those after it. The constraint gets a copy, so that one which fails halfway leaves no
// trace.
func (c Constraint) apply(before, changed map[string]float64,
	boundsOf func(string) ([2]float64, bool)) map[string]float64 {
	if c == nil {
		return changed
	}
	result, err := c(maps.Clone(changed))
	if err != nil || len(result) != len(before) {
		return maps.Clone(before)
	}
	for key, v := range result {
		old, ok := before[key]
		b, bounded := boundsOf(key)
		// A value that is as before may lie outside the bounds, as members may have begun there.
		outside := bounded && (v < b[0] || v > b[1])
		if !ok || v != old && (!number.Finite(v) || outside) {
			return maps.Clone(before)
		}
	}
	return result
}

// Rule mutates one hyperparameter that was selected for mutation. The package's rules are variables: [MutateFloat],
// [OneMinus], [Integer] and so on; [NewRule] makes one from a function. Learning rates take [MutateFloat] or [Float],
// discount factors [MutateDiscount] or [OneMinus]. What evolution does to networks is in package evolution.
type Rule interface {
	// Name is the rule's name in files.
	Name() string
	// Apply returns the new value. It must be a pure function of its arguments and of the numbers that it draws.
	Apply(value float64, in RuleInput) float64
}

// Rules are rules by hyperparameter.
type Rules map[string]Rule

// RuleInput is what a [Rule] may use.
type RuleInput struct {
	// Uniform is the only source of randomness.
	Uniform Uniform
	// ChangeRange are the least and greatest factor of change.
	ChangeRange [2]float64
	// Key is the hyperparameter's name, Bounds its bounds and Bounded whether it has any. The result is put within
	// them after the rule.
	Key     string
	Bounds  [2]float64
	Bounded bool
	// Step, Choices and Default are those of [Parameter]. They are zero, empty and nil if the parameter has none.
	Step    float64
	Choices []float64
	Default *float64
}

// rule is a Rule with what [Mutation] has to know about it.
type rule struct {
	name  string
	apply func(value float64, in RuleInput) float64
	// natural is the interval that results are clamped to before the hyperparameter's own bounds; zero: none.
	natural [2]float64
	// scale is how the rule measures distances, whole that its values are multiples of Step.
	scale scale
	whole bool
	// check returns what is wrong with a parameter of this rule; nil checks nothing.
	check func(Parameter) error
}

func (r *rule) Name() string { return r.name }

// String is the name, for messages.
func (r *rule) String() string { return r.name }

func (r *rule) Apply(value float64, in RuleInput) float64 { return r.apply(value, in) }

// traits returns what [Mutation] knows about a rule. That is nothing for a rule of the user's own and for nil.
func traits(r Rule) *rule {
	if known, ok := r.(*rule); ok {
		return known
	}
	return &rule{}
}

// NewRule returns a rule with a name and a function. The name is what [RegisterRule] makes known to files.
func NewRule(name string, apply func(value float64, in RuleInput) float64) Rule {
	return &rule{name: name, apply: apply}
}

// The rules of Isaac Lab and IsaacGymEnvs. The originals do not keep discounts within [0, 1]; these do. Each draws the
// factor first and the direction second.
var (
	// MutateFloat divides or multiplies by a factor drawn from ChangeRange.
	MutateFloat = own(rule{name: "mutate_float", apply: mutateFloat, scale: logScale, check: noStep})
	// MutateDiscount does what MutateFloat does to one minus the value, by 1.1 to 1.2.
	MutateDiscount = own(rule{name: "mutate_discount", apply: mutateDiscount, natural: [2]float64{0, 1},
		scale: oneMinus, check: noStep})
	// MutateFloatMin1 does what MutateFloat does, and stays at least 1.
	MutateFloatMin1 = own(rule{name: "mutate_float_min_1", apply: mutateFloat, natural: [2]float64{1, math.Inf(1)},
		scale: logScale, check: noStep})
	// MutateEpsClip does what MutateFloat does, within [0.01, 0.3].
	MutateEpsClip = own(rule{name: "mutate_eps_clip", apply: mutateFloat, natural: [2]float64{0.01, 0.3},
		scale: logScale, check: noStep})
	// MutateMiniEpochs adds or subtracts 1, within [1, 8].
	MutateMiniEpochs = own(rule{name: "mutate_mini_epochs", apply: mutateMiniEpochs, natural: [2]float64{1, 8},
		whole: true, check: noStep})
)

// mutateFloat draws the factor uniformly from ChangeRange, then divides or multiplies.
func mutateFloat(value float64, in RuleInput) float64 {
	low, high := in.ChangeRange[0], in.ChangeRange[1]
	return eitherWay(value, low+(high-low)*in.Uniform.Float64(), in.Uniform)
}

// mutateDiscount changes what is left of 1, by a range of its own: 0.99 itself times 1.1 would leave [0, 1].
func mutateDiscount(value float64, in RuleInput) float64 {
	in.ChangeRange = [2]float64{1.1, 1.2}
	return 1 - mutateFloat(1-value, in)
}

// mutateMiniEpochs moves by 1; Mutation clamps the result to [1, 8].
func mutateMiniEpochs(value float64, in RuleInput) float64 {
	if in.Uniform.Float64() < 0.5 {
		return value + 1
	}
	return value - 1
}

// eitherWay draws a direction, and divides or multiplies by the factor.
func eitherWay(value, factor float64, u Uniform) float64 {
	if u.Float64() < 0.5 {
		return value / factor
	}
	return value * factor
}
