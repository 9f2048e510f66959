package explore

// This file keeps the registry by which YAML files name rules, and has the rules of Sample Factory and gorl's own.
// Those of Isaac Lab are in mutation.go. gorl's repair what the originals lack: factors are drawn by their logarithm,
// so that up and down are equally likely and equally far, and whole numbers, truth values and lists stay what they
// are. In every rule the size of the change is drawn first, then the direction, then the rounding: the order is part
// of a run's results.

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/number"
)

// registry has the rules by name. Populations may be built in several goroutines.
var registry sync.Map

// own returns one of the package's rules, which files then know.
func own(r rule) Rule {
	registry.Store(r.name, &r)
	return &r
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
	if made, ok := r.(*rule); r == nil || r.Name() == "" || ok && made.apply == nil {
		return errors.New("pbt: a rule needs a name and a function; make it with explore.NewRule")
	}
	if _, known := registry.LoadOrStore(r.Name(), r); known {
		return fmt.Errorf("pbt: rule %q is registered already; choose another name", r.Name())
	}
	return nil
}

// RuleNames are the names of all known rules, sorted.
func RuleNames() (names []string) {
	registry.Range(func(name, _ any) bool { names = append(names, name.(string)); return true })
	slices.Sort(names)
	return names
}

// RuleByName returns a known rule. An unknown name is an error that names the nearest one.
func RuleByName(name string) (Rule, error) {
	if r, ok := registry.Load(name); ok {
		return r.(Rule), nil
	}
	return nil, fmt.Errorf("rule %q does not exist: %s", name, config.Among(name, RuleNames()))
}

// Sample Factory's rules.
var (
	// PerturbFloat does what MutateFloat does.
	PerturbFloat = own(rule{name: "perturb_float", apply: mutateFloat, scale: logScale, check: noStep})
	// PerturbExponentialDecay divides or multiplies one minus the value by 1.01 to 1.2.
	PerturbExponentialDecay = own(rule{name: "perturb_exponential_decay", apply: perturbExponentialDecay,
		scale: oneMinus, check: noStep})
	// PerturbVtrace divides or multiplies by 1.005.
	PerturbVtrace = own(rule{name: "perturb_vtrace", apply: perturbVtrace, scale: logScale, check: noStep})
	// PerturbBatchSize divides or multiplies by 1.2, in multiples of Step.
	PerturbBatchSize = own(rule{name: "perturb_batch_size", apply: perturbBatchSize, whole: true,
		check: checkBatchSize})
	// PerturbBool turns 0 into 1 and anything else into 0.
	PerturbBool = own(rule{name: "perturb_bool", apply: flip, whole: true, check: noStep})
)

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

// gorl's own rules; see [RegisterRule] for what they draw.
var (
	// Float divides or multiplies by a factor whose logarithm is drawn uniformly.
	Float = own(rule{name: "float", apply: logFloat, scale: logScale, check: noStep})
	// OneMinus does what Float does to one minus the value, for discounts.
	OneMinus = own(rule{name: "one_minus", apply: logOneMinus, natural: [2]float64{0, 1}, scale: oneMinus,
		check: noStep})
	// Integer does what Float does to whole numbers.
	Integer = own(rule{name: "integer", apply: integer, whole: true, check: checkInteger})
	// Additive adds a number drawn from -Step to Step.
	Additive = own(rule{name: "additive", apply: additive, check: checkAdditive})
	// Bool turns 0 into 1 and anything else into 0.
	Bool = own(rule{name: "bool", apply: flip, whole: true, check: noStep})
	// Categorical takes another one of Choices.
	Categorical = own(rule{name: "categorical", apply: categorical, check: checkChoices})
	// Neighbour takes the choice before or after.
	Neighbour = own(rule{name: "neighbour", apply: neighbour, check: checkChoices})
)

// logFactor draws a factor whose logarithm is uniform.
func logFactor(in RuleInput) float64 {
	low, high := math.Log(in.ChangeRange[0]), math.Log(in.ChangeRange[1])
	return math.Exp(low + (high-low)*in.Uniform.Float64())
}

// logFloat is the rule float.
func logFloat(value float64, in RuleInput) float64 {
	return eitherWay(value, logFactor(in), in.Uniform)
}

// logOneMinus is the rule one_minus: 0.99 and 0.999 differ by a factor of ten in what is left of 1.
func logOneMinus(value float64, in RuleInput) float64 {
	return 1 - logFloat(1-value, in)
}

// integer is the rule integer: as float, then rounded to a multiple of Step.
func integer(value float64, in RuleInput) float64 {
	factor, up := logFactor(in), in.Uniform.Float64() >= 0.5
	changed := value * factor
	if up == (value < 0) { // a negative value goes up where its size goes down
		changed = value / factor
	}
	return moveWhole(value, changed, cmp.Or(in.Step, 1), up, in.Uniform)
}

// moveWhole rounds value to a multiple of step at random: up with the probability of the part that is cut off, so
// that the mean is value itself. Rounding to the nearest would leave small numbers where they are for ever (2·1.2
// gives 2). Where the result is the old value it moves by one step, up or down as up says, so that a mutation always
// changes something.
func moveWhole(old, value, step float64, up bool, u Uniform) float64 {
	n := math.Floor(value / step)
	if u.Float64() < value/step-n {
		n++
	}
	switch {
	case n*step != old:
	case up:
		n++
	default:
		n--
	}
	return n * step
}

// additive is the rule additive: adds a number drawn from -Step to Step, by default a tenth of the bounds.
func additive(value float64, in RuleInput) float64 {
	step := cmp.Or(in.Step, (in.Bounds[1]-in.Bounds[0])/10)
	return value + step*(2*in.Uniform.Float64()-1)
}

// flip is the rules bool and perturb_bool.
func flip(value float64, _ RuleInput) float64 {
	if value == 0 {
		return 1
	}
	return 0
}

// categorical is the rule categorical: one of the other choices, each equally likely. check has made sure that there
// are others.
func categorical(value float64, in RuleInput) float64 {
	others := slices.DeleteFunc(slices.Clone(in.Choices), func(c float64) bool { return c == value })
	return others[index(in.Uniform, len(others))]
}

// neighbour is the rule neighbour. The number is drawn at an end of the list too, so that every case draws one.
func neighbour(value float64, in RuleInput) float64 {
	last := len(in.Choices) - 1
	switch at := slices.Index(in.Choices, value); {
	case at < 0:
		return in.Choices[index(in.Uniform, len(in.Choices))]
	case in.Uniform.Float64() < 0.5 && at > 0 || at == last:
		return in.Choices[at-1]
	default:
		return in.Choices[at+1]
	}
}

// noStep is the check of rules that would ignore Step: a Step given to one of them is a misunderstanding.
func noStep(p Parameter) error {
	if p.Step != 0 {
		return fmt.Errorf("step is %v, which the rule does not look at; leave it at 0", p.Step)
	}
	return nil
}

// checkInteger is the check of rule integer; 0 stands for a Step of 1.
func checkInteger(p Parameter) error {
	if p.Step != math.Trunc(p.Step) {
		return fmt.Errorf("step is %v; rule integer needs a whole number", p.Step)
	}
	return nil
}

// checkAdditive is the check of rule additive, which needs a size for its change.
func checkAdditive(p Parameter) error {
	if p.Step == 0 && !(p.Max-p.Min > 0 && number.Finite(p.Max-p.Min)) {
		return errors.New("rule additive needs step, the greatest change, or finite bounds")
	}
	return nil
}

// checkChoices is the check of the rules that choose from a list.
func checkChoices(p Parameter) error {
	if len(p.Choices) < 2 {
		return errors.New("the rule needs choices, at least two of them")
	}
	return noStep(p)
}
