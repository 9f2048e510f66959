package explore

// This file holds gorl's own rules. They repair what the originals lack: factors are drawn by their logarithm, so
// that up and down are equally likely and equally far, and whole numbers, truth values and lists stay what they are.
// In every rule the size of the change is drawn first, then the direction, then the rounding: the order is part of a
// run's results.

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/number"
)

// gorl's own rules; see [RegisterRule] for what they draw.
var (
	// Float divides or multiplies by a factor whose logarithm is drawn uniformly.
	Float Rule = &rule{name: "float", apply: logFloat, scale: logScale, check: noStep}
	// OneMinus does what Float does to one minus the value, for discounts.
	OneMinus Rule = &rule{name: "one_minus", apply: logOneMinus, natural: [2]float64{0, 1}, limited: true,
		scale: oneMinus,
		check: noStep}
	// Integer does what Float does to whole numbers.
	Integer Rule = &rule{name: "integer", apply: integer, whole: true, check: checkInteger}
	// Additive adds a number drawn from -Step to Step.
	Additive Rule = &rule{name: "additive", apply: additive, check: checkAdditive}
	// Bool turns 0 into 1 and anything else into 0.
	Bool Rule = &rule{name: "bool", apply: flip, whole: true, check: noStep}
	// Categorical takes another one of Choices.
	Categorical Rule = &rule{name: "categorical", apply: categorical, check: checkChoices}
	// Neighbour takes the choice before or after.
	Neighbour Rule = &rule{name: "neighbour", apply: neighbour, check: checkChoices}
)

var gorlRules = []Rule{Float, OneMinus, Integer, Additive, Bool, Categorical, Neighbour}

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
