package agents

// Tunable returns the shared settings that may change while training, by key. Of several learning rates or clips the
// first stands for all: changing it scales the others.
func (c *OnPolicy) Tunable() map[string]*float64 {
	return map[string]*float64{
		"learning_rate": &c.LearningRate[0], "discount_factor": &c.DiscountFactor, "gae_lambda": &c.GAELambda,
		"grad_norm_clip": &c.GradNormClip[0], "ratio_clip": &c.RatioClip, "value_clip": &c.ValueClip,
		"entropy_loss_scale": &c.EntropyLossScale, "value_loss_scale": &c.ValueLossScale,
		"kl_threshold":      &c.KLThreshold,
		"bounds_loss_scale": &c.BoundsLossScale, "schedule_kl_threshold": &c.ScheduleKLThreshold,
	}
}
