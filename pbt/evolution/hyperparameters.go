package evolution

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/number"
)

// Kind is the type of a hyperparameter's values.
type Kind string

// The kinds. The empty Kind means KindFloat.
const (
	KindFloat Kind = "float"
	KindInt   Kind = "int"
)

// RLParameter says how one hyperparameter is mutated. The yaml tags are the keys of an entry of rl_hp_selection in a
// manifest.
type RLParameter struct {
	// Min and Max bound the values; both are required. A mutated value outside moves to the nearest bound.
	//
	// Wide bounds search more and lose more members.
	Min float64 `yaml:"min"`
	Max float64 `yaml:"max"`
	// GrowFactor (above 1, default 1.2) and ShrinkFactor (below 1, default 0.8) set the factor of a mutation:
	// √(GrowFactor/ShrinkFactor) either way or, with Strict, these factors.
	//
	// Factors far from 1 tune less finely.
	GrowFactor   float64 `yaml:"grow_factor" config:"min=0"`
	ShrinkFactor float64 `yaml:"shrink_factor" config:"min=0"`
	// Kind is "float" (KindFloat) or "int" (KindInt), whose values stay whole. Default "float".
	Kind Kind `yaml:"dtype" config:"oneof=|float|int"`
}

func (p RLParameter) withDefaults() RLParameter {
	p.GrowFactor, p.ShrinkFactor = cmp.Or(p.GrowFactor, 1.2), cmp.Or(p.ShrinkFactor, 0.8)
	p.Kind = cmp.Or(p.Kind, KindFloat)
	return p
}

// Validate checks kind, bounds and factors. Its errors name the field and what to give.
func (p RLParameter) Validate() error {
	p = p.withDefaults()
	switch {
	case p.Kind != KindFloat && p.Kind != KindInt:
		return fmt.Errorf("dtype is %q; give %q or %q", p.Kind, KindFloat, KindInt)
	case !number.Finite(p.Min) || !number.Finite(p.Max) || p.Min >= p.Max:
		return fmt.Errorf("min is %v and max is %v; give two finite numbers in ascending order", p.Min, p.Max)
	case !(p.GrowFactor > 1) || !number.Finite(p.GrowFactor):
		return fmt.Errorf("grow_factor is %v; give a number above 1", p.GrowFactor)
	case !(p.ShrinkFactor > 0 && p.ShrinkFactor < 1):
		return fmt.Errorf("shrink_factor is %v; give a number between 0 and 1", p.ShrinkFactor)
	case p.Kind == KindInt && (p.Min != math.Trunc(p.Min) || p.Max != math.Trunc(p.Max)):
		return fmt.Errorf("min is %v and max is %v; those of whole numbers must be whole", p.Min, p.Max)
	}
	return nil
}

// Mutate returns a greater value if grow is true and a smaller one otherwise.
//
// Growing multiplies by √(GrowFactor/ShrinkFactor) and shrinking divides by it, so that one undoes the other and values
// do not drift. Whole numbers are rounded and change by at least 1; 0 grows to a hundredth of Max. A value that a bound
// holds back changes in the other direction.
//
// With strict the value changes as in AgileRL: value × GrowFactor or value × ShrinkFactor, clipped to the bounds, the
// fraction of a whole number cut off. With the default factors values drift down (1.2 × 0.8 = 0.96), small whole
// numbers can only shrink, and a value at a bound may stay as it is.
func (p RLParameter) Mutate(value float64, grow, strict bool) float64 {
	p = p.withDefaults()
	if strict {
		factor := p.ShrinkFactor
		if grow {
			factor = p.GrowFactor
		}
		next := p.clip(value * factor)
		if p.Kind == KindInt {
			next = math.Trunc(next)
		}
		return next
	}
	next := p.step(value, grow)
	if next == value {
		next = p.step(value, !grow)
	}
	return next
}

func (p RLParameter) clip(x float64) float64 { return min(max(x, p.Min), p.Max) }

// step moves the value in one direction, within the bounds.
func (p RLParameter) step(value float64, grow bool) float64 {
	factor := math.Sqrt(p.GrowFactor / p.ShrinkFactor)
	next, one := value/factor, -1.0
	if grow {
		next, one = cmp.Or(value*factor, p.Max/100), 1
	}
	if p.Kind == KindInt {
		if next = math.Round(next); next == value {
			next += one
		}
	}
	return p.clip(next)
}

// HyperparameterConfig has the hyperparameters that are mutated, by name. A mutation changes one of them.
type HyperparameterConfig map[string]RLParameter

// Validate checks every parameter. The error joins all problems.
func (c HyperparameterConfig) Validate() error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if err := c[name].Validate(); err != nil {
			problems = append(problems, fmt.Errorf("evolution: hyperparameter %q: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

// Check compares the configuration with the hyperparameters of a member: every name must exist there, with a finite
// value, which is whole for KindInt. The error joins all problems.
func (c HyperparameterConfig) Check(values map[string]float64) error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(c)) {
		value, ok := values[name]
		switch {
		case !ok:
			problems = append(problems, missing(name, slices.Sorted(maps.Keys(values))))
		case !number.Finite(value):
			problems = append(problems,
				fmt.Errorf("evolution: hyperparameter %q is %v, which cannot be mutated; give it a finite number", name,
					value))
		case c[name].Kind == KindInt && value != math.Trunc(value):
			problems = append(problems,
				fmt.Errorf("evolution: hyperparameter %q is %v; as one of kind %q it must be whole", name, value,
					KindInt))
		}
	}
	return errors.Join(problems...)
}

// missing is the error of a hyperparameter that is not among the known ones, nil if it is.
func missing(name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("evolution: members have no hyperparameter %q: %s", name, config.Among(name, known))
}

// DefaultHyperparameters returns what AgileRL mutates if nothing is configured, of the hyperparameters in values:
// learning rates, from a tenth of the value to ten times it, by the default factors; and whole numbers called
// batch_size and learn_step, from a quarter (at least 1) to four times the value, by factors of 1.5 and 0.75. gorl's
// agents have only the learning rates: their batch sizes are fixed when they are built.
func DefaultHyperparameters(values map[string]float64) HyperparameterConfig {
	c := HyperparameterConfig{}
	for name, v := range values {
		switch name {
		case "learning_rate", "discriminator_learning_rate", "lr", "lr_actor", "lr_critic":
			if v > 0 {
				c[name] = RLParameter{Min: v / 10, Max: 10 * v, GrowFactor: 1.2, ShrinkFactor: 0.8, Kind: KindFloat}
			}
		case "batch_size", "learn_step":
			if v >= 1 && v == math.Trunc(v) {
				c[name] = RLParameter{Min: max(1, math.Floor(v/4)), Max: 4 * v, GrowFactor: 1.5, ShrinkFactor: 0.75,
					Kind: KindInt}
			}
		}
	}
	return c
}
