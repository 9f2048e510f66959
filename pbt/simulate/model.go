// Package simulate tries out a population's settings before any compute is spent: strategies, thresholds, mutation and
// intervals are those of the real [pbt.Population], only the members are synthetic. [Run] trains many populations with
// different seeds, and the same members without population based training beside them; [Write] shows how much is
// copied, what it gains, and how fast diversity is lost.
//
// The simulation says how settings compare on members that learn as [Model] describes, not how well an agent will do.
package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
)

// Model is how synthetic members learn. A member has a skill s from 0 to 1, 0 at first, and
//
//	ds/dt = luck · (g·(1-s) - Forgetting·(1-g)·s) / Horizon
//
// where t counts environment steps and g, from 0 to 1, is how well its hyperparameters suit: the product over all of
// them of exp(-(d/Width)²/2), with d the distance of the value from its optimum in decades. Skill thus saturates at
// g/(g + Forgetting·(1-g)), and good settings are faster and end higher. What a member reports is
// Offset + Scale·s plus noise.
//
// With Luck above 0, members with equal hyperparameters differ: luck is exp(Luck·z) with z standard normal, drawn when
// a member is built and again whenever it has taken over weights.
type Model struct {
	// Landscapes are how progress depends on hyperparameters, by their names. Hyperparameters that are tuned and not
	// named here make no difference.
	Landscapes map[string]Landscape
	// Horizon is the number of environment steps in which a member with the best settings covers 1-1/e (63 %) of the
	// way to its limit. Default: a third of Options.TotalSteps.
	Horizon int64 `config:"min=1"`
	// Forgetting is how strongly bad settings undo what is learned. With more, bad settings end lower and copying gains
	// more. Default 0: every setting gets there in the end.
	Forgetting float64 `config:"min=0"`
	// Noise is the standard deviation of one reading of the objective, in its units. With more, thresholds and windows
	// have to be larger, or lucky readings are copied. Default 0.
	Noise float64 `config:"min=0"`
	// Luck is the standard deviation of the logarithm of a member's own speed. With more, members with equal settings
	// drift further apart, as agents of different seeds do. Default 0.
	Luck float64 `config:"min=0"`
	// Offset and Scale make an objective of the skill: Offset is that of an untrained member, Offset+Scale that of a
	// perfect one. Scale is below 0 exactly where lower is better. Default of Scale: 1, or -1 where lower is better.
	Offset, Scale float64

	keys []string // of Landscapes, sorted
}

// Landscape is how progress depends on one hyperparameter.
type Landscape struct {
	// Optimum is the best value for untrained weights; it must be above 0 (below 1 with OneMinus).
	Optimum float64
	// Drift is the number of decades by which the optimum moves over Horizon steps behind the weights, e.g. -0.5 for
	// learning rates that should fall. A population gains over fixed settings mostly where it is large. Default 0.
	Drift float64
	// Width is the number of decades from the optimum at which progress has fallen to exp(-1/2) (61 %). A narrow
	// landscape punishes wrong settings; on a wide one most settings do. Default 0.5.
	Width float64 `config:"gt=0"`
	// Start is where members begin for which the population's options say nothing else. Default: Optimum.
	Start float64
	// OneMinus measures distances between 1-value and 1-Optimum, as discount factors need. Drift then moves 1-Optimum.
	OneMinus bool
}

// withDefaults fills in what is zero.
func (l Landscape) withDefaults() Landscape {
	l.Width = cmp.Or(l.Width, 0.5)
	l.Start = cmp.Or(l.Start, l.Optimum)
	return l
}

// withDefaults fills in what is zero, for a population that trains so long and in this direction.
func (m Model) withDefaults(totalSteps int64, minimise bool) Model {
	m.Horizon = cmp.Or(m.Horizon, max(1, totalSteps/3))
	direction := 1.0
	if minimise {
		direction = -1
	}
	m.Scale = cmp.Or(m.Scale, direction)
	landscapes := make(map[string]Landscape, len(m.Landscapes))
	for key, l := range m.Landscapes {
		landscapes[key] = l.withDefaults()
	}
	m.Landscapes, m.keys = landscapes, slices.Sorted(maps.Keys(landscapes))
	return m
}

// validate returns an error for values that members cannot learn by, with what to give instead. Defaults are filled in
// already.
func (m Model) validate(minimise bool) error {
	if err := config.Check(m, "simulate"); err != nil {
		return err
	}
	if minimise != (m.Scale < 0) {
		return fmt.Errorf("simulate: Model.Scale is %v; it must be below 0 if lower is better, else above 0", m.Scale)
	}
	for _, key := range m.keys {
		if l := m.Landscapes[key]; !(l.side(l.Optimum) > 0) {
			return fmt.Errorf("simulate: Model.Landscapes[%q].Optimum is %v; distances are in decades, so it must be "+
				"above 0, or with OneMinus below 1", key, l.Optimum)
		}
	}
	return nil
}

// side returns what distances are measured between: the value, or with OneMinus its distance from 1.
func (l Landscape) side(value float64) float64 {
	if l.OneMinus {
		return 1 - value
	}
	return value
}

// suits is g, from 0 to 1, for weights with a number of steps behind them. A value on the wrong side of its limit (0,
// or 1 with OneMinus) does not learn at all.
func (m *Model) suits(values map[string]float64, steps int64) float64 {
	exponent := 0.0
	for _, key := range m.keys { // the sum depends on the order
		l := m.Landscapes[key]
		x := l.side(values[key])
		if !(x > 0) {
			return 0
		}
		d := math.Log10(x/l.side(l.Optimum)) - l.Drift*float64(steps)/float64(m.Horizon)
		exponent += d / l.Width * d / l.Width
	}
	return math.Exp(-exponent / 2)
}

// learn is the skill after some steps at a suitability: the exact solution of the differential equation above for
// constant g, so that it does not depend on how training is cut into steps.
func (m *Model) learn(skill, g, luck float64, steps int64) float64 {
	rate := g + m.Forgetting*(1-g)
	if rate == 0 {
		return skill
	}
	limit := g / rate
	return limit + (skill-limit)*math.Exp(-luck*rate*float64(steps)/float64(m.Horizon))
}
