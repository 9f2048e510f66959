package onpolicy

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/schedulers"
	"github.com/gorl-dev/gorl/tensor"
)

// The learning rate of an update may follow how far the policy moves (schedulers.KLAdaptive): this file measures that
// in every minibatch, and steps the schedule.

// Rates are the learning rates of the networks that share the optimizer, and the schedule that changes them.
type Rates struct {
	*Core
	// Optimizer steps the networks that share it (all but those from Options.SeparateFrom on).
	Optimizer *tensor.Optimizer
	// Scheduler changes the learning rates. It is nil if they are constant.
	Scheduler schedulers.Scheduler

	stepped  []int     // the network of each group of Optimizer
	period   string    // when a schedule that looks at the divergence steps; "" without such a schedule
	movingKL bool      // the divergence is that from the previous epoch, not from the rollout
	gaussian bool      // the policy gives mean and standard deviation of its actions
	seenKL   []float64 // of the epoch's minibatches, if kl_threshold reads them
}

// newScheduler makes the schedule that the settings ask for, and writes all its defaults into the settings.
func (c *Rates) newScheduler() (err error) {
	cfg := c.Config
	if cfg.LearningRateScheduler == "" {
		return nil
	}
	if c.Scheduler, err = schedulers.New(cfg.LearningRateScheduler, cfg.LearningRate[0],
		cfg.LearningRateSchedulerKwargs); err != nil {
		return c.errorf("%w", err)
	}
	cfg.ScheduleKLThreshold = 0
	if k, ok := c.Scheduler.(*schedulers.KLAdaptive); ok {
		c.period, c.distributions = k.Config().Period, k.Config().Divergence != schedulers.EstimatedKL
		c.movingKL = k.Config().Divergence == schedulers.GaussianKL
		cfg.ScheduleKLThreshold = k.Config().KLThreshold
		if cfg.Skrl() && (c.period != schedulers.EveryEpoch || c.distributions) {
			return c.errorf("\"compatibility\" is %q, whose KLAdaptiveLR has \"step\" epoch and \"divergence\" "+
				"estimate", cfg.Compatibility)
		}
	}
	cfg.LearningRateSchedulerKwargs, err = schedulers.Settings(cfg.LearningRateScheduler,
		cfg.LearningRateSchedulerKwargs)
	return err
}

// Schedule ends a learning epoch with a step of the learning-rate schedule. A schedule that looks at the divergence
// steps once an epoch by the mean over the epoch's minibatches, or once an update by the mean over all of them. With
// "step" minibatch Adapt has done so. Other schedules step once an update, or once an epoch in skrl's modes.
func (c *Rates) Schedule(meter *Meter, lastEpoch bool) {
	if c.period == schedulers.EveryUpdate && !lastEpoch {
		return
	}
	defer func() { c.seenKL = c.seenKL[:0] }()
	switch {
	case c.Scheduler == nil || c.period == schedulers.EveryMinibatch:
		return
	case c.Scheduler.UsesKL():
		c.Scheduler.Step(c.meanKL(meter))
	case c.Config.Skrl() || lastEpoch:
		c.Scheduler.Step(math.NaN())
	}
	c.ApplyRates()
}

// meanKL returns the mean divergence over the minibatches since the schedule's last step: of those that TooFar has
// read, or else the meter's.
func (c *Rates) meanKL(meter *Meter) float64 {
	if len(c.seenKL) == 0 || c.distributions {
		kl, err := meter.EpochMean("Policy / KL divergence")
		if err != nil {
			return math.NaN()
		}
		return kl
	}
	sum := 0.0
	for _, x := range c.seenKL {
		sum += x
	}
	return sum / float64(len(c.seenKL))
}

// Divergence returns the divergence of a minibatch, a scalar, that the schedule follows and that is tracked. It is
// kl, the surrogate's estimate, or the closed form if KLAdaptiveLR asks for it.
func (c *Rates) Divergence(s *tensor.Scope, b Batch, e models.Evaluation, kl tensor.Tensor) tensor.Tensor {
	if c.distributions {
		return c.gaussianDivergence(s, b, e)
	}
	return kl
}

// Adapt ends a minibatch. A schedule that steps at every minibatch steps by the divergence moved, which waits for the
// device.
func (c *Rates) Adapt(s *tensor.Scope, moved tensor.Tensor) error {
	if err := s.Err(); err != nil || c.period != schedulers.EveryMinibatch {
		return err
	}
	x, err := tensor.Item(moved)
	if err != nil {
		return err
	}
	c.Scheduler.Step(x)
	c.ApplyRates()
	return nil
}

// gaussianDivergence returns the divergence KL(now ‖ before) of a minibatch in closed form, with rl_games' small
// numbers against a division by 0: the mean over rows of
//
//	Σ ln(σ′/σ + 1e-5) + (σ² + (μ′ − μ)²) / (2·(σ′² + 1e-5)) − ½
//
// over the action's dimensions. μ and σ are the mean and the standard deviation of the policy that the minibatch was
// evaluated with, μ′ and σ′ those of the same rows in the rollout. With "divergence" gaussian the present ones then
// replace those of the rollout, so that the next epoch compares with this one.
func (c *Rates) gaussianDivergence(s *tensor.Scope, b Batch, e models.Evaluation) tensor.Tensor {
	if s.Err() != nil {
		return tensor.Tensor{}
	}
	mean := s.Detach(e.Mean)
	std := s.Expand(e.StdDev, tensor.Shape(mean)...)
	moved := s.Add(s.Square(std), s.Square(s.Sub(b.mean, mean)))
	kl := s.Add(s.Log(s.AddScalar(s.Div(b.stdDev, std), 1e-5)),
		s.AddScalar(s.Div(moved, s.MulScalar(s.AddScalar(s.Square(b.stdDev), 1e-5), 2)), -0.5))
	if c.movingKL {
		s.IndexCopy(c.Rollout.Rows("mean"), b.order, mean)
		s.IndexCopy(c.Rollout.Rows("std_dev"), b.order, std)
	}
	return s.Mean(s.Sum(kl, -1))
}

// distributionFields are the fields (N, A) of the rollout that the closed form of the divergence needs: mean and
// standard deviation of the actions.
func (c *Core) distributionFields() []memory.Field {
	if !c.distributions {
		return nil
	}
	w := c.spaces.Action.Width()
	return []memory.Field{{Name: "mean", Width: w}, {Name: "std_dev", Width: w}}
}

// recordDistribution stores mean and standard deviation of the actions of a step, if the divergence needs them.
func (c *Collector) recordDistribution(s *tensor.Scope, mean, stdDev tensor.Tensor) {
	if !c.distributions || s.Err() != nil {
		return
	}
	if mean.T == nil || stdDev.T == nil {
		s.Fail(c.errorf("\"divergence\" is gaussian, but the policy %T samples actions without saying Mean and StdDev "+
			"of models.Action", c.Policy))
		return
	}
	s.Copy(c.Rollout.Row("mean"), mean)
	s.Copy(c.Rollout.Row("std_dev"), stdDev)
}

// CheckSettings refuses settings that need a Gaussian policy if the policy is none, and a threshold without a
// schedule that has one.
func (c *Rates) CheckSettings(cfg *agents.OnPolicy) error {
	switch x := cfg.ScheduleKLThreshold; {
	case c.period == "" && x != 0:
		return c.errorf("\"schedule_kl_threshold\" is %g, but \"learning_rate_scheduler\" is not KLAdaptiveLR; "+
			"leave it at 0", x)
	case c.period != "" && !(x > 0 && x <= math.MaxFloat32):
		return c.errorf("\"schedule_kl_threshold\" is %g: want a finite number > 0", x)
	case c.gaussian:
		return nil
	case cfg.BoundsLossScale > 0:
		return c.errorf("\"bounds_loss_scale\" is %g, but the policy is not Gaussian and its actions have no "+
			"mean; set it to 0", cfg.BoundsLossScale)
	case c.distributions:
		return c.errorf("learning_rate_scheduler_kwargs: \"divergence\" is gaussian, but the policy is not; use " +
			"estimate")
	}
	return nil
}

// Plan gives the schedule the number of updates in a run of so many timesteps. It returns notes if the run has no
// update, or if the learning rate becomes 0 before the run ends.
func (c *Rates) Plan(timesteps int) (notes []string) {
	// Rollouts that end within learning_starts are thrown away.
	rollout, skipped := c.Config.Rollouts, c.Config.LearningStarts/c.Config.Rollouts
	if timesteps > 0 && timesteps/rollout <= skipped {
		notes = append(notes, c.errorf("nothing is learned: the run has %d timesteps, and the first update comes "+
			"after %d (\"rollouts\" %d, \"learning_starts\" %d); make the run longer or these smaller", timesteps,
			(skipped+1)*rollout, rollout, c.Config.LearningStarts).Error())
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
		notes = append(notes, c.errorf("the learning rate is 0 from update %d of %d on, so that nothing more is "+
			"learned: %s ends before the run does; total_iters: auto (CosineLR: T_max) of "+
			"learning_rate_scheduler_kwargs makes it end with the run",
			int(from)/each+1, updates, curve.Name()).Error())
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

// Assign writes values over the tunable settings of next, a copy of the agent's settings, and checks next by validate
// and CheckSettings. It writes nothing if a key is unknown. Of several learning rates or clips, tunable has the first;
// the others change in proportion.
func (c *Rates) Assign(next *agents.OnPolicy, tunable map[string]*float64, values map[string]float64,
	validate func() error) error {
	var problems error
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if _, ok := tunable[k]; !ok {
			known := slices.Collect(maps.Keys(tunable))
			problems = errors.Join(problems, c.errorf("%q cannot change while training: %s", k, config.Among(k, known)))
		}
	}
	if problems != nil {
		return problems
	}
	for k, v := range values {
		*tunable[k] = v
	}
	rescale(next.LearningRate, c.Config.LearningRate[0])
	rescale(next.GradNormClip, c.Config.GradNormClip[0])
	return cmp.Or(validate(), c.CheckSettings(next))
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
