package onpolicy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/schedulers"
)

// Plan gives the schedule the number of updates in a run of so many timesteps. It returns notes if the run has no
// update, or if the learning rate becomes 0 before the run ends.
func (c *Rates) Plan(timesteps int) (notes []string) {
	// Rollouts that end within learning_starts are thrown away.
	rollout, skipped := c.Config.Rollouts, c.Config.LearningStarts/c.Config.Rollouts
	if timesteps > 0 && timesteps/rollout <= skipped {
		notes = append(notes, fmt.Sprintf("%s: nothing is learned: the run has %d timesteps, and the first update "+
			"comes after %d (\"rollouts\" %d, \"learning_starts\" %d); make the run longer or these smaller",
			strings.ToLower(c.name), timesteps, (skipped+1)*rollout, rollout, c.Config.LearningStarts))
	}
	schedule, ok := c.Scheduler.(interface{ Plan(epochs int64) })
	if !ok {
		return notes
	}
	// skrl steps the schedule once an epoch.
	updates, each := max(1, timesteps/rollout-skipped), 1
	if c.Config.Skrl() {
		each = c.Config.LearningEpochs
	}
	schedule.Plan(int64(updates * each))
	c.ApplyRates()
	curve, ok := schedule.(*schedulers.Curve)
	if !ok {
		return notes
	}
	if from, ok := curve.Vanishes(); ok {
		notes = append(notes, fmt.Sprintf("%s: the learning rate is 0 from update %d of %d on, so that nothing "+
			"more is learned: %s ends before "+
			"the run does; total_iters: auto (CosineLR: T_max) of learning_rate_scheduler_kwargs makes it end "+
			"with the run",
			strings.ToLower(c.name), int(from)/each+1, updates, curve.Name()))
	}
	return notes
}

// ApplySettings makes schedule and optimizer follow settings that have changed.
func (c *Rates) ApplySettings() error {
	if c.Scheduler != nil && c.Scheduler.Base() != c.Config.LearningRate[0] {
		if err := c.Scheduler.SetBase(c.Config.LearningRate[0]); err != nil {
			return err
		}
	}
	if k, ok := c.Scheduler.(*schedulers.KLAdaptive); ok && c.Config.ScheduleKLThreshold != k.Config().KLThreshold {
		if err := k.SetThreshold(c.Config.ScheduleKLThreshold); err != nil {
			return err
		}
		kwargs := maps.Clone(c.Config.LearningRateSchedulerKwargs)
		kwargs["kl_threshold"] = c.Config.ScheduleKLThreshold
		c.Config.LearningRateSchedulerKwargs = kwargs
	}
	c.ApplyRates()
	return nil
}

// ApplyRates sets the optimizer's learning rates and limits of gradients from the settings. A schedule scales all
// rates, or only the policy's, by the factor by which it has changed the first one.
func (c *Rates) ApplyRates() {
	factor := 1.0
	if c.Scheduler != nil {
		factor = c.Scheduler.LearningRate() / c.Config.LearningRate[0]
	}
	for i := range c.Optimizer.Groups {
		rate := c.Config.LearningRate[min(c.stepped[i], len(c.Config.LearningRate)-1)]
		if c.stepped[i] == 0 || c.Config.LearningRateSchedulerNetworks != "policy" {
			rate *= factor
		}
		c.Optimizer.Groups[i].LearningRate = rate
	}
	for i := range c.Optimizer.Clips {
		c.Optimizer.Clips[i].MaxNorm = c.Config.GradNormClip[min(c.stepped[i], len(c.Config.GradNormClip)-1)]
	}
}

// LearningRate returns the policy's present learning rate.
func (c *Rates) LearningRate() float64 { return c.Optimizer.Groups[0].LearningRate }

// ReadTunable returns the values of tunable settings by key.
func ReadTunable(tunable map[string]*float64) map[string]float64 {
	out := make(map[string]float64, len(tunable))
	for k, p := range tunable {
		out[k] = *p
	}
	return out
}

// Assign writes values over the tunable settings of next, a copy of the agent's settings: all, or none if a key is
// unknown. Of several learning rates or clips, tunable has the first; the others change in proportion.
func (c *Rates) Assign(next *agents.OnPolicy, tunable map[string]*float64, values map[string]float64) error {
	var problems []error
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if _, ok := tunable[k]; !ok {
			known := slices.Collect(maps.Keys(tunable))
			problems = append(problems, c.errorf("%q cannot change while training: %s", k, config.Among(k, known)))
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	for k, v := range values {
		*tunable[k] = v
	}
	rescale(next.LearningRate, c.Config.LearningRate[0])
	rescale(next.GradNormClip, c.Config.GradNormClip[0])
	return nil
}

// rescale keeps the other elements of a list in proportion when the first has changed from before.
func rescale(list []float64, before float64) {
	if before == 0 {
		return
	}
	for i := 1; i < len(list); i++ {
		list[i] *= list[0] / before
	}
}
