package amp

import (
	"errors"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/tensor"
)

// ADD, adversarial differential discriminators (Zhang et al. 2025, arXiv 2505.04961), is AMP for a policy that follows
// a clip in time. The environment's AMP observation is the difference between what the reference does at this moment
// and what the character does, so that a row of zeros is perfect; the discriminator tells the policy's differences from
// that row, its only positive sample. Nothing else changes: there is no reference motion to draw, and the scaler must
// leave 0 where it is.

// differential is discriminator_mode's value for it.
const differential = "differential"

// differentialConfig returns the defaults with discriminator_mode "differential", which are those of the paper's
// humanoid where they concern the discriminator: differences divided by their mean size, gradient penalty 2 on both
// sides, logit regularisation 0.01.
func differentialConfig() Config {
	c := DefaultConfig()
	c.DiscriminatorMode = differential
	c.AMPObservationPreprocessor = agents.RunningMeanAbsScaler
	c.DiscriminatorGradientPenaltyScale, c.DiscriminatorGradientPenaltySamples = 2, "both"
	c.DiscriminatorLogitRegularizationScale = 0.01
	return c
}

// differential reports whether AMP observations are differences.
func (c *Config) differential() bool { return c.DiscriminatorMode == differential }

// validateMode refuses settings that do not go with discriminator_mode.
func (c *Config) validateMode() error {
	switch {
	case c.DiscriminatorMode != differential:
		return nil
	case c.AMPObservationPreprocessor == agents.RunningStandardScaler:
		return errors.New("amp: \"amp_observation_preprocessor\" is \"RunningStandardScaler\", which moves the " +
			"mean to 0, but with " +
			"\"discriminator_mode\" \"differential\" 0 must stay 0: use \"RunningMeanAbsScaler\", or none")
	case c.DiscriminatorGradientPenaltySamples == "interpolated":
		return errors.New("amp: \"discriminator_gradient_penalty_samples\" is \"interpolated\"; with " +
			"\"discriminator_mode\" \"differential\" it is \"both\", or \"motion\" for the row of zeros alone")
	}
	return nil
}

// differentialPenalty returns the logits of differences (fake, (m, 1)) and of the row of zeros (real, (1, 1)), and the
// gradient penalty, a scalar: ½(E[‖∂d/∂x‖²] at the differences + ‖∂d/∂x‖² at zero), or the latter alone if
// discriminator_gradient_penalty_samples is "motion".
func (a *learner) differentialPenalty(s *tensor.Scope, differences, zero tensor.Tensor) (fake, real,
	penalty tensor.Tensor) {
	real, penalty = a.penalised(s, zero)
	if a.cfg.DiscriminatorGradientPenaltySamples == "motion" {
		return a.logits(s, differences), real, penalty
	}
	fake, onFake := a.penalised(s, differences)
	return fake, real, s.MulScalar(s.Add(onFake, penalty), 0.5)
}
