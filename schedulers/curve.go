package schedulers

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/internal/config"
)

// Limits are the settings that every [Curve] has.
type Limits struct {
	// MinLR is the floor: the rate is never lower, in the warm-up neither. Default 0.
	MinLR float64 `yaml:"min_lr" config:"min=0"`
	// Warmup comes before the curve. Default none.
	Warmup `yaml:",inline"`
}

// Curve is a schedule that depends on nothing but the number of epochs: constant, linear, cosine, step-wise or
// exponential.
type Curve struct {
	name   string
	limits Limits
	base   float64
	step   int64
	// at is the rate at epoch t after the warm-up.
	at func(base float64, t int64) float64
}

// newCurve checks base and the whole configuration, of which limits are a part.
func newCurve(name string, base float64, cfg any, limits Limits, at func(base float64, t int64) float64) (*Curve, error) {
	if err := checkBase(base); err != nil {
		return nil, err
	}
	if err := config.Check(cfg, "schedulers: "+name); err != nil {
		return nil, err
	}
	if limits.MinLR > base {
		return nil, fmt.Errorf("schedulers: %s: min_lr %g is larger than the base learning rate %g", name, limits.MinLR, base)
	}
	return &Curve{name: name, limits: limits, base: base, at: at}, nil
}

// Name is the curve's name as [New] takes it.
func (c *Curve) Name() string { return c.name }

// UsesKL reports false.
func (c *Curve) UsesKL() bool { return false }

// Base is the learning rate that the curve scales.
func (c *Curve) Base() float64 { return c.base }

// LearningRate is the rate for the current epoch.
func (c *Curve) LearningRate() float64 {
	if t := c.step - c.limits.Steps; t >= 0 {
		return math.Max(c.at(c.base, t), c.limits.MinLR)
	}
	return math.Max(c.base*c.limits.Warmup.at(c.step), c.limits.MinLR)
}

// Step ends an epoch.
func (c *Curve) Step(float64) { c.step++ }

// SetBase puts the curve on another base rate; the floor stays.
func (c *Curve) SetBase(lr float64) error {
	if err := checkBase(lr); err != nil {
		return err
	}
	c.base = lr
	return nil
}

// State has the entries base and step.
func (c *Curve) State() map[string]float64 {
	return map[string]float64{"base": c.base, "step": float64(c.step)}
}

// Restore continues from a State.
func (c *Curve) Restore(state map[string]float64) error {
	if err := checkState(c.name, state, "base", "step"); err != nil {
		return err
	}
	c.base, c.step = state["base"], int64(state["step"])
	return nil
}
