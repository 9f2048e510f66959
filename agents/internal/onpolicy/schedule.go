package onpolicy

import (
	"math"

	"github.com/gorl-dev/gorl/agents"
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
