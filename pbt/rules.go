package pbt

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"
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
	// Key is the hyperparameter's name, Bounds its bounds and Bounded whether it has any. The result is clamped to
	// them after the rule.
	Key     string
	Bounds  [2]float64
	Bounded bool
}

// namedRule is a rule with the interval that its results are clamped to, beside the hyperparameter's own bounds.
type namedRule struct {
	apply   Rule
	natural [2]float64
	limited bool
}

var (
	rulesMutex sync.RWMutex
	rules      = map[string]namedRule{
		"mutate_float":    {apply: mutateFloat},
		"mutate_discount": {apply: mutateDiscount, natural: [2]float64{0, 1}, limited: true},
	}
)

// RegisterRule makes a rule known by name, for Mutation.Rules. Known from the start are
//
//   - mutate_float: draws a factor from ChangeRange, then with even chances divides or multiplies by it;
//   - mutate_discount: does the same to one minus the value, with factors from 1.1 to 1.2 whatever ChangeRange is,
//     and stays within [0, 1].
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

func mutateFloat(value float64, in RuleInput) float64 {
	low, high := in.ChangeRange[0], in.ChangeRange[1]
	factor := low + (high-low)*in.Uniform.Float64()
	if in.Uniform.Float64() < 0.5 {
		return value / factor
	}
	return value * factor
}

func mutateDiscount(value float64, in RuleInput) float64 {
	in.ChangeRange = [2]float64{1.1, 1.2}
	return 1 - mutateFloat(1-value, in)
}

// unknown describes a name that is not among the known ones, with the nearest of them.
func unknown(name string, known []string) string {
	if len(known) == 0 {
		return "there are none"
	}
	sorted := slices.Sorted(slices.Values(known))
	best, distance := "", 0
	for _, k := range sorted {
		if d := levenshtein.ComputeDistance(name, k); best == "" || d < distance {
			best, distance = k, d
		}
	}
	return fmt.Sprintf("the nearest is %q, known are %s", best, strings.Join(sorted, ", "))
}
