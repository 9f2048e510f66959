package pbt

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/internal/config"
)

// Uniform draws from [0, 1). *rand.Rand of math/rand/v2 is one.
type Uniform interface{ Float64() float64 }

// Rule mutates one hyperparameter that was selected for mutation.
type Rule func(value float64, in RuleInput) float64

// RuleInput is what a Rule may use.
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
	// Step, Choices and Default are those of [Parameter]; zero, empty and nil where there are none.
	Step    float64
	Choices []float64
	Default *float64
}

// namedRule is a rule with what Mutation needs to know about it.
type namedRule struct {
	apply Rule
	// natural is the interval that results are clamped to, if limited, before the hyperparameter's own bounds.
	natural [2]float64
	limited bool
	// scale is how the rule measures distances, whole that its values are multiples of Step.
	scale scale
	whole bool
	// check says what else a parameter of this rule needs; nil: nothing.
	check func(Parameter) error
}

var (
	rulesMutex sync.RWMutex
	rules      = builtinRules()
)

func builtinRules() map[string]namedRule {
	all := make(map[string]namedRule)
	maps.Copy(all, isaacRules)
	maps.Copy(all, sampleFactoryRules)
	maps.Copy(all, gorlRules)
	return all
}

// RegisterRule makes a rule known by name, for [Mutation.Rules] and [Parameter.Rule].
//
// Known from the start are the following. A factor is drawn from ChangeRange unless another range is given; then a
// second number is drawn, and below one half the value is divided by the factor, else multiplied.
//
// Isaac Lab's (the first two) and IsaacGymEnvs':
//
//   - mutate_float: divides or multiplies by a factor.
//   - mutate_discount: does the same to one minus the value, with factors from 1.1 to 1.2 whatever ChangeRange is, and
//     stays within [0, 1].
//   - mutate_float_min_1: as mutate_float, at least 1.
//   - mutate_eps_clip: as mutate_float, clamped to [0.01, 0.3].
//   - mutate_mini_epochs: draws one number, adds 1 below one half, else subtracts 1; clamped to [1, 8].
//
// Sample Factory's:
//
//   - perturb_float: as mutate_float.
//   - perturb_exponential_decay: divides or multiplies one minus the value by a factor from 1.01 to 1.2; at least 1e-8.
//   - perturb_vtrace: divides or multiplies by 1.005; draws the direction only.
//   - perturb_batch_size: divides or multiplies by 1.2, draws the direction only; at most 1.5 times Default, rounded
//     down to a multiple of Step, at least Step. Needs both.
//   - perturb_bool: 0 becomes 1, anything else 0; draws nothing.
//
// gorl's own, which change in both directions alike and keep to their kind of number:
//
//   - float: divides or multiplies by a factor whose logarithm is drawn uniformly. The sign stays, and so does zero.
//   - one_minus: does the same to one minus the value, for discounts and the like; stays within [0, 1], and so does 1.
//   - integer: as float, then rounds to a multiple of Step, up with the probability of what is cut off (a third draw);
//     where that is the old value, moves by Step in the direction drawn.
//   - additive: adds a number drawn from -Step to Step, for values that may be zero or change sign.
//   - bool: 0 becomes 1, anything else 0; draws nothing.
//   - categorical: another one of Choices, each equally likely; draws one number.
//   - neighbour: below one half the one before in Choices, else the one after, at an end the only neighbour; one that
//     is not among them becomes any of them. Draws one number.
//
// It is an error to register a name twice, an empty name or no rule.
func RegisterRule(name string, rule Rule) error {
	if name == "" || rule == nil {
		return fmt.Errorf("pbt: a rule needs a name and a function (name %q)", name)
	}
	rulesMutex.Lock()
	defer rulesMutex.Unlock()
	if _, known := rules[name]; known {
		return fmt.Errorf("pbt: rule %q is registered already; choose another name", name)
	}
	rules[name] = namedRule{apply: rule}
	return nil
}

// RuleNames are the names of all known rules, sorted.
func RuleNames() []string {
	rulesMutex.RLock()
	defer rulesMutex.RUnlock()
	names := make([]string, 0, len(rules))
	for name := range rules {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func ruleByName(name string) (namedRule, bool) {
	rulesMutex.RLock()
	defer rulesMutex.RUnlock()
	r, ok := rules[name]
	return r, ok
}

// unknown describes a name that is not among the known ones, with the nearest of them.
func unknown(name string, known []string) string { return config.Among(name, known) }
