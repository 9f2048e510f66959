package explore

import (
	"errors"
	"math"
)

// Sample Factory's rules.
var (
	// PerturbFloat does what MutateFloat does.
	PerturbFloat Rule = &rule{name: "perturb_float", apply: mutateFloat, scale: logScale, check: noStep}
	// PerturbExponentialDecay divides or multiplies one minus the value by 1.01 to 1.2.
	PerturbExponentialDecay Rule = &rule{name: "perturb_exponential_decay", apply: perturbExponentialDecay, scale: oneMinus, check: noStep}
	// PerturbVtrace divides or multiplies by 1.005.
	PerturbVtrace Rule = &rule{name: "perturb_vtrace", apply: perturbVtrace, scale: logScale, check: noStep}
	// PerturbBatchSize divides or multiplies by 1.2, in multiples of Step.
	PerturbBatchSize Rule = &rule{name: "perturb_batch_size", apply: perturbBatchSize, whole: true, check: checkBatchSize}
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
		return errors.New("rule perturb_batch_size needs Step, the length of a rollout, and Default, the batch size to begin with")
	}
	return nil
}
