package explore

import (
	"errors"
	"math"
)

// sampleFactoryRules are Sample Factory's.
var sampleFactoryRules = map[string]namedRule{
	"perturb_float":             {apply: mutateFloat, scale: logScale, check: noStep},
	"perturb_exponential_decay": {apply: perturbExponentialDecay, scale: oneMinus, check: noStep},
	"perturb_vtrace":            {apply: perturbVtrace, scale: logScale, check: noStep},
	"perturb_batch_size":        {apply: perturbBatchSize, whole: true, check: checkBatchSize},
	"perturb_bool":              {apply: flip, whole: true, check: noStep},
}

// epsilon is the least value of perturb_exponential_decay.
const epsilon = 1e-8

func perturbExponentialDecay(value float64, in RuleInput) float64 {
	in.ChangeRange = [2]float64{1.01, 1.2}
	return max(1-mutateFloat(1-value, in), epsilon)
}

func perturbVtrace(value float64, in RuleInput) float64 {
	return eitherWay(value, 1.005, in.Uniform)
}

func perturbBatchSize(value float64, in RuleInput) float64 {
	v := min(eitherWay(value, 1.2, in.Uniform), 1.5**in.Default)
	return max(math.Floor(v/in.Step)*in.Step, in.Step)
}

func checkBatchSize(p Parameter) error {
	if p.Step == 0 || p.Default == nil {
		return errors.New("rule perturb_batch_size needs Step, the length of a rollout, and Default, the batch size to begin with")
	}
	return nil
}
