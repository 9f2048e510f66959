package schedulers

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/internal/config"
)

// KLAdaptiveConfig tunes a [KLAdaptive] schedule.
type KLAdaptiveConfig struct {
	// KLThreshold is the target KL divergence in nats. Default 0.008.
	KLThreshold float64 `yaml:"kl_threshold" config:"gt=0"`
	// MinLR and MaxLR bound the rate. Default 1e-6 and 1e-2.
	MinLR float64 `yaml:"min_lr" config:"gt=0"`
	MaxLR float64 `yaml:"max_lr" config:"gt=0"`
	// KLFactor is the tolerance: the rate stays for divergences from KLThreshold / KLFactor to KLThreshold ·
	// KLFactor. Default 2.
	KLFactor float64 `yaml:"kl_factor" config:"min=1"`
	// LRFactor is the factor by which the rate is divided or multiplied. Default 1.5.
	LRFactor float64 `yaml:"lr_factor" config:"min=1"`
	// Period is how often the schedule steps: after every "epoch" by the mean divergence of its minibatches (skrl,
	// rl_games' "standard"), after every "minibatch" by its own (rl_games' "legacy"), or after every "update" by the
	// mean of all. Default "epoch".
	Period string `yaml:"step" config:"oneof=epoch|minibatch|update"`
	// Divergence is the divergence that is measured: "estimate", E[(r − 1) − ln r] over the ratios r (skrl), or for
	// Gaussian policies the closed form, from the present policy to that of the epoch before ("gaussian", rl_games)
	// or to the rollout's ("gaussian_rollout", IsaacGymEnvs' AMP). Default "estimate".
	Divergence string `yaml:"divergence" config:"oneof=estimate|gaussian|gaussian_rollout"`
	// Warmup comes first; during it the divergence is not looked at.
	Warmup `yaml:",inline"`
}

// The values of [KLAdaptiveConfig.Period] and [KLAdaptiveConfig.Divergence].
const (
	EveryEpoch     = "epoch"
	EveryMinibatch = "minibatch"
	EveryUpdate    = "update"

	EstimatedKL       = "estimate"
	GaussianKL        = "gaussian"
	GaussianRolloutKL = "gaussian_rollout"
)

// DefaultKLAdaptive is skrl's default configuration.
func DefaultKLAdaptive() KLAdaptiveConfig {
	return KLAdaptiveConfig{KLThreshold: 0.008, MinLR: 1e-6, MaxLR: 1e-2, KLFactor: 2, LRFactor: 1.5,
		Period: EveryEpoch, Divergence: EstimatedKL}
}

// KLAdaptive lowers the learning rate when the policy moved too far in an epoch (or another period, see
// [KLAdaptiveConfig.Period]) and raises it when it moved too little.
// It is the schedule of skrl's KLAdaptiveLR, and equal to it to the last digit.
type KLAdaptive struct {
	cfg  KLAdaptiveConfig
	base float64
	lr   float64
	step int64
}

// newKLAdaptive returns a schedule that starts at base. A base outside [MinLR, MaxLR] is kept until the first change.
func newKLAdaptive(base float64, cfg KLAdaptiveConfig) (*KLAdaptive, error) {
	if err := checkBase(base); err != nil {
		return nil, err
	}
	if err := config.Check(cfg, "schedulers: KLAdaptiveLR"); err != nil {
		return nil, err
	}
	if cfg.MinLR > cfg.MaxLR {
		return nil, fmt.Errorf("schedulers: KLAdaptiveLR: min_lr %g is larger than max_lr %g", cfg.MinLR, cfg.MaxLR)
	}
	return &KLAdaptive{cfg: cfg, base: base, lr: base}, nil
}

// Config returns the schedule's settings.
func (k *KLAdaptive) Config() KLAdaptiveConfig { return k.cfg }

// Name is "KLAdaptiveLR".
func (k *KLAdaptive) Name() string { return "KLAdaptiveLR" }

// UsesKL reports true.
func (k *KLAdaptive) UsesKL() bool { return true }

// Base is the learning rate the schedule started from, or that was last set.
func (k *KLAdaptive) Base() float64 { return k.base }

// LearningRate is the rate for the current epoch.
func (k *KLAdaptive) LearningRate() float64 {
	if k.step < k.cfg.Steps {
		return k.lr * k.cfg.at(k.step)
	}
	return k.lr
}

// Step ends an epoch in which the policy moved by kl. A NaN changes nothing.
func (k *KLAdaptive) Step(kl float64) {
	warm := k.step < k.cfg.Steps
	k.step++
	if warm {
		return
	}
	switch c := &k.cfg; {
	case kl > c.KLThreshold*c.KLFactor:
		k.lr = math.Max(k.lr/c.LRFactor, c.MinLR)
	case kl < c.KLThreshold/c.KLFactor:
		k.lr = math.Min(k.lr*c.LRFactor, c.MaxLR)
	}
}

// SetBase scales the current rate by lr / Base(). The result stays within the limits, which it may only leave as far as
// lr itself does.
func (k *KLAdaptive) SetBase(lr float64) error {
	if err := checkBase(lr); err != nil {
		return err
	}
	scaled := k.lr * (lr / k.base)
	k.lr = math.Min(math.Max(scaled, math.Min(k.cfg.MinLR, lr)), math.Max(k.cfg.MaxLR, lr))
	k.base = lr
	return nil
}

// SetThreshold changes the divergence aimed at, in the middle of a run. One that is not positive is refused.
func (k *KLAdaptive) SetThreshold(kl float64) error {
	next := k.cfg
	next.KLThreshold = kl
	if err := config.Check(next, "schedulers: KLAdaptiveLR"); err != nil {
		return err
	}
	k.cfg = next
	return nil
}

// State has the entries base, learning_rate and step.
func (k *KLAdaptive) State() map[string]float64 {
	return map[string]float64{"base": k.base, "learning_rate": k.lr, "step": float64(k.step)}
}

// Restore continues from a State.
func (k *KLAdaptive) Restore(state map[string]float64) error {
	if err := checkState(k.Name(), state, "base", "learning_rate", "step"); err != nil {
		return err
	}
	k.base, k.lr, k.step = state["base"], state["learning_rate"], int64(state["step"])
	return nil
}
