package explore

import "math"

// The rules of Isaac Lab and IsaacGymEnvs. The originals do not keep discounts within [0, 1]; these do. Each draws the
// factor first and the direction second.
var (
	// MutateFloat divides or multiplies by a factor drawn from ChangeRange.
	MutateFloat Rule = &rule{name: "mutate_float", apply: mutateFloat, scale: logScale, check: noStep}
	// MutateDiscount does what MutateFloat does to one minus the value, by 1.1 to 1.2.
	MutateDiscount Rule = &rule{name: "mutate_discount", apply: mutateDiscount, natural: [2]float64{0, 1}, limited: true, scale: oneMinus, check: noStep}
	// MutateFloatMin1 does what MutateFloat does, and stays at least 1.
	MutateFloatMin1 Rule = &rule{name: "mutate_float_min_1", apply: mutateFloat, natural: [2]float64{1, math.Inf(1)}, limited: true, scale: logScale, check: noStep}
	// MutateEpsClip does what MutateFloat does, within [0.01, 0.3].
	MutateEpsClip Rule = &rule{name: "mutate_eps_clip", apply: mutateFloat, natural: [2]float64{0.01, 0.3}, limited: true, scale: logScale, check: noStep}
	// MutateMiniEpochs adds or subtracts 1, within [1, 8].
	MutateMiniEpochs Rule = &rule{name: "mutate_mini_epochs", apply: mutateMiniEpochs, natural: [2]float64{1, 8}, limited: true, whole: true, check: noStep}
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
