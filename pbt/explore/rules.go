package explore

// This file says what a rule is, keeps the registry by which YAML files name rules, and has the rules of other systems;
// gorl's own are in rules_gorl.go.

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/internal/config"
)

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
	// Step, Choices and Default are those of [Parameter]; zero, empty and nil where there are none.
	Step    float64
	Choices []float64
	Default *float64
}

// rule is a Rule with what [Mutation] has to know about it.
type rule struct {
	name  string
	apply func(value float64, in RuleInput) float64
	// natural is the interval that results are clamped to, if limited, before the hyperparameter's own bounds.
	natural [2]float64
	limited bool
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

// traits returns what is known about a rule: a rule of the user's own has none of the traits, and so has nil.
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

var (
	// registryMutex guards registry: populations may be built in several goroutines.
	registryMutex sync.RWMutex
	registry      = make(map[string]Rule)
)

func init() {
	for _, r := range slices.Concat(isaacRules, sampleFactoryRules, gorlRules) {
		registry[r.Name()] = r
	}
}

// RegisterRule makes a rule known to files by its name; programs use the value itself. It is an error to register a
// name twice, or a rule without a name or function.
//
// The package's own rules are known from the start. A factor is drawn from ChangeRange unless another range is given;
// then a second number is drawn, and below one half the value is divided by the factor, else multiplied.
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
func RegisterRule(r Rule) error {
	if r == nil || r.Name() == "" {
		return errors.New("pbt: a rule needs a name and a function; make it with explore.NewRule")
	}
	if own, ok := r.(*rule); ok && own.apply == nil {
		return fmt.Errorf("pbt: rule %q has no function; give explore.NewRule one", r.Name())
	}
	registryMutex.Lock()
	defer registryMutex.Unlock()
	if _, known := registry[r.Name()]; known {
		return fmt.Errorf("pbt: rule %q is registered already; choose another name", r.Name())
	}
	registry[r.Name()] = r
	return nil
}

// RuleNames are the names of all known rules, sorted.
func RuleNames() []string {
	registryMutex.RLock()
	defer registryMutex.RUnlock()
	return slices.Sorted(maps.Keys(registry))
}

// RuleByName returns a known rule. An unknown name is an error that names the nearest one.
func RuleByName(name string) (Rule, error) {
	registryMutex.RLock()
	r, ok := registry[name]
	registryMutex.RUnlock()
	if !ok {
		return nil, fmt.Errorf("rule %q does not exist: %s", name, config.Among(name, RuleNames()))
	}
	return r, nil
}

// The rules of Isaac Lab and IsaacGymEnvs. The originals do not keep discounts within [0, 1]; these do. Each draws the
// factor first and the direction second.
var (
	// MutateFloat divides or multiplies by a factor drawn from ChangeRange.
	MutateFloat Rule = &rule{name: "mutate_float", apply: mutateFloat, scale: logScale, check: noStep}
	// MutateDiscount does what MutateFloat does to one minus the value, by 1.1 to 1.2.
	MutateDiscount Rule = &rule{name: "mutate_discount", apply: mutateDiscount, natural: [2]float64{0, 1},
		limited: true,
		scale:   oneMinus, check: noStep}
	// MutateFloatMin1 does what MutateFloat does, and stays at least 1.
	MutateFloatMin1 Rule = &rule{name: "mutate_float_min_1", apply: mutateFloat, natural: [2]float64{1, math.Inf(1)},
		limited: true, scale: logScale, check: noStep}
	// MutateEpsClip does what MutateFloat does, within [0.01, 0.3].
	MutateEpsClip Rule = &rule{name: "mutate_eps_clip", apply: mutateFloat, natural: [2]float64{0.01, 0.3},
		limited: true,
		scale:   logScale, check: noStep}
	// MutateMiniEpochs adds or subtracts 1, within [1, 8].
	MutateMiniEpochs Rule = &rule{name: "mutate_mini_epochs", apply: mutateMiniEpochs, natural: [2]float64{1, 8},
		limited: true, whole: true, check: noStep}
)

var isaacRules = []Rule{MutateFloat, MutateDiscount, MutateFloatMin1, MutateEpsClip, MutateMiniEpochs}

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

// Sample Factory's rules.
var (
	// PerturbFloat does what MutateFloat does.
	PerturbFloat Rule = &rule{name: "perturb_float", apply: mutateFloat, scale: logScale, check: noStep}
	// PerturbExponentialDecay divides or multiplies one minus the value by 1.01 to 1.2.
	PerturbExponentialDecay Rule = &rule{name: "perturb_exponential_decay", apply: perturbExponentialDecay,
		scale: oneMinus, check: noStep}
	// PerturbVtrace divides or multiplies by 1.005.
	PerturbVtrace Rule = &rule{name: "perturb_vtrace", apply: perturbVtrace, scale: logScale, check: noStep}
	// PerturbBatchSize divides or multiplies by 1.2, in multiples of Step.
	PerturbBatchSize Rule = &rule{name: "perturb_batch_size", apply: perturbBatchSize, whole: true,
		check: checkBatchSize}
	// PerturbBool turns 0 into 1 and anything else into 0.
	PerturbBool Rule = &rule{name: "perturb_bool", apply: flip, whole: true, check: noStep}
)

var sampleFactoryRules = []Rule{PerturbFloat, PerturbExponentialDecay, PerturbVtrace, PerturbBatchSize, PerturbBool}

// epsilon is the least value of perturb_exponential_decay.
const epsilon = 1e-8

// perturbExponentialDecay changes one minus the value, and keeps the value above 0.
func perturbExponentialDecay(value float64, in RuleInput) float64 {
	in.ChangeRange = [2]float64{1.01, 1.2}
	return max(1-mutateFloat(1-value, in), epsilon)
}

func perturbVtrace(value float64, in RuleInput) float64 {
	return eitherWay(value, 1.005, in.Uniform)
}

// perturbBatchSize rounds down to whole rollouts and bounds growth by the size to begin with, for the sake of memory.
func perturbBatchSize(value float64, in RuleInput) float64 {
	v := min(eitherWay(value, 1.2, in.Uniform), 1.5**in.Default)
	return max(math.Floor(v/in.Step)*in.Step, in.Step)
}

// checkBatchSize is the check of rule perturb_batch_size.
func checkBatchSize(p Parameter) error {
	if p.Step == 0 || p.Default == nil {
		return errors.New("rule perturb_batch_size needs step, the length of a rollout, and default, the batch size " +
			"to begin with")
	}
	return nil
}
