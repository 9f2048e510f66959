package schedulers

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
)

// Limits are the settings that every [Curve] has.
type Limits struct {
	// MinLR is the lowest rate, during the warm-up too. Default 0.
	MinLR float64 `yaml:"min_lr" config:"min=0"`
	// Warmup comes before the curve. Default none.
	Warmup `yaml:",inline"`
}

// Curve is a schedule that depends on nothing but the number of epochs: constant, linear, cosine, step-wise,
// exponential, or a function of your own ([NewCurve]).
type Curve struct {
	name   string
	limits Limits
	base   float64
	step   int64
	length Iterations // 0 for a curve that has no end
	run    int64      // the epochs of the run, 0 until Plan
	// at is the rate at epoch t after the warm-up, of a curve that ends at epoch end.
	at func(base float64, t, end int64) float64
}

// Iterations is the epoch after the warm-up at which a curve ends: a number, or [Auto].
type Iterations int64

// Auto ends a curve with the run, of which [Curve.Plan] tells the length. Dictionaries have "auto".
const Auto Iterations = -1

// SetConfig reads "auto" or a whole number of at least 1.
func (n *Iterations) SetConfig(value any) error {
	if text, ok := value.(string); ok && strings.EqualFold(text, "auto") || value == any(Auto) {
		*n = Auto
		return nil
	}
	number, ok := config.Whole(value)
	if !ok || number < 1 {
		return errors.New(`want an integer ≥ 1, or "auto"`)
	}
	*n = Iterations(number)
	return nil
}

// MarshalYAML returns what SetConfig reads.
func (n Iterations) MarshalYAML() (any, error) {
	if n == Auto {
		return "auto", nil
	}
	return int64(n), nil
}

// check refuses 0, which SetConfig does not read, but null and a missing key leave.
func (n Iterations) check(name, key string) error {
	if n == 0 {
		return fmt.Errorf("schedulers: %s: \"%s\" is 0: want an integer ≥ 1, or \"auto\" for the length of the run; "+
			"learning_rate_scheduler_kwargs gives it: {%[2]s: auto}", name, key)
	}
	return nil
}

// NewCurve returns a schedule of your own for [Register]. Its rate in epoch t = 0, 1, ... is base times factor(t), and
// at least 0 (PyTorch: LambdaLR). name is the registered name. Base must be positive and finite.
func NewCurve(name string, base float64, factor func(epoch int64) float64) (*Curve, error) {
	return newCurve(name, base, Limits{}, Limits{}, 0,
		func(base float64, t, _ int64) float64 { return base * factor(t) })
}

// newCurve checks base and the whole configuration, of which limits are a part. A curve that has no end has length 0.
func newCurve(name string, base float64, cfg any, limits Limits, length Iterations,
	at func(base float64, t, end int64) float64) (*Curve, error) {
	if err := checkBase(base); err != nil {
		return nil, err
	}
	if err := config.Check(cfg, "schedulers: "+name); err != nil {
		return nil, err
	}
	if limits.MinLR > base {
		return nil, fmt.Errorf("schedulers: %s: min_lr %g is larger than the base learning rate %g", name,
			limits.MinLR, base)
	}
	return &Curve{name: name, limits: limits, base: base, length: length, at: at}, nil
}

// Name is the curve's name as [New] takes it.
func (c *Curve) Name() string { return c.name }

// UsesKL reports false.
func (c *Curve) UsesKL() bool { return false }

// Base is the learning rate that the curve scales.
func (c *Curve) Base() float64 { return c.base }

// Plan tells the curve how many epochs the run has, those of the warm-up included. A curve of length [Auto] ends with
// the last of them; others stay as they are. It may be called again, when a run is made longer.
func (c *Curve) Plan(epochs int64) { c.run = epochs }

// Planned reports whether the curve has all that it needs: a length, or Plan's number in place of [Auto].
func (c *Curve) Planned() bool { return c.length != Auto || c.run > 0 }

// LearningRate is the rate for the current epoch. A curve of length [Auto] stays at its first rate until Plan.
func (c *Curve) LearningRate() float64 { return c.rate(c.step) }

// Vanishes reports whether the rate is 0 in the last epoch of the run (see Plan), and from which epoch on. A curve of
// length [Auto] may be 0 in the last epoch alone, as Stable-Baselines3's linear schedule is.
func (c *Curve) Vanishes() (from int64, ok bool) {
	last := c.run - 1
	if c.length == Auto {
		last = max(last-1, 0)
	}
	if c.run <= 0 || c.rate(last) > 0 {
		return 0, false
	}
	return int64(sort.Search(int(c.run), func(epoch int) bool { return c.rate(int64(epoch)) == 0 })), true
}

// rate is the rate for an epoch of the run.
func (c *Curve) rate(epoch int64) float64 {
	t, end := epoch-c.limits.Steps, int64(c.length)
	switch {
	case t < 0:
		return math.Max(c.base*c.limits.Warmup.at(epoch), c.limits.MinLR)
	case !c.Planned():
		t, end = 0, 1
	case c.length == Auto:
		end = max(1, c.run-c.limits.Steps)
	}
	return math.Max(c.at(c.base, t, end), c.limits.MinLR)
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
