package agents

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
)

// Tunable returns the shared settings that may change while training, by key. Of several learning rates or clips the
// first stands for all: changing it scales the others.
func (c *OnPolicy) Tunable() map[string]*float64 {
	return map[string]*float64{
		"learning_rate": &c.LearningRate[0], "discount_factor": &c.DiscountFactor, "gae_lambda": &c.GAELambda,
		"grad_norm_clip": &c.GradNormClip[0], "ratio_clip": &c.RatioClip, "value_clip": &c.ValueClip,
		"entropy_loss_scale": &c.EntropyLossScale, "value_loss_scale": &c.ValueLossScale, "kl_threshold": &c.KLThreshold,
		"bounds_loss_scale": &c.BoundsLossScale, "schedule_kl_threshold": &c.ScheduleKLThreshold,
	}
}

// Clone returns a copy that shares no slice with c.
func (c *OnPolicy) Clone() OnPolicy {
	out := *c
	out.LearningRate = slices.Clone(c.LearningRate)
	out.GradNormClip = slices.Clone(c.GradNormClip)
	return out
}

// Values reads tunable settings.
func Values(tunable map[string]*float64) map[string]float64 {
	out := make(map[string]float64, len(tunable))
	for k, p := range tunable {
		out[k] = *p
	}
	return out
}

// Assign writes values over tunable settings, all or, if a key is unknown, none. prefix opens the error's message.
func Assign(prefix string, tunable map[string]*float64, values map[string]float64) error {
	var problems []error
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if _, ok := tunable[k]; !ok {
			known := slices.Collect(maps.Keys(tunable))
			problems = append(problems, fmt.Errorf("%s: %q cannot change while training: %s", prefix, k, config.Among(k, known)))
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	for k, v := range values {
		*tunable[k] = v
	}
	return nil
}

// Rescale keeps the other elements of a list in proportion when the first has changed from before.
func Rescale(list []float64, before float64) {
	if before == 0 {
		return
	}
	for i := 1; i < len(list); i++ {
		list[i] *= list[0] / before
	}
}
