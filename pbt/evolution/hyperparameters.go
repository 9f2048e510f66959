package evolution

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
)

// Kind is the type of a hyperparameter's values.
type Kind string

// The kinds. The zero value is KindFloat.
const (
	KindFloat Kind = "float"
	KindInt   Kind = "int"
)

// RLParameter says how one hyperparameter is mutated.
type RLParameter struct {
	// Min and Max bound its values; a value outside is moved to the nearest bound when it is mutated.
	Min, Max float64
	// GrowFactor (default 1.2, above 1) and ShrinkFactor (default 0.8, between 0 and 1) say by how much it changes. Only
	// strict mutations use them as they are; see Mutate.
	GrowFactor, ShrinkFactor float64
	// Kind is KindFloat or KindInt. Default KindFloat.
	Kind Kind
}

func (p RLParameter) withDefaults() RLParameter {
	if p.GrowFactor == 0 {
		p.GrowFactor = 1.2
	}
	if p.ShrinkFactor == 0 {
		p.ShrinkFactor = 0.8
	}
	if p.Kind == "" {
		p.Kind = KindFloat
	}
	return p
}

// Validate says what makes no sense.
func (p RLParameter) Validate() error {
	p = p.withDefaults()
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	switch {
	case p.Kind != KindFloat && p.Kind != KindInt:
		return fmt.Errorf("Kind is %q; give %q or %q", p.Kind, KindFloat, KindInt)
	case !finite(p.Min) || !finite(p.Max) || p.Min >= p.Max:
		return fmt.Errorf("Min is %v and Max is %v; give two finite numbers in ascending order", p.Min, p.Max)
	case !(p.GrowFactor > 1) || !finite(p.GrowFactor):
		return fmt.Errorf("GrowFactor is %v; give a number above 1", p.GrowFactor)
	case !(p.ShrinkFactor > 0 && p.ShrinkFactor < 1):
		return fmt.Errorf("ShrinkFactor is %v; give a number between 0 and 1", p.ShrinkFactor)
	case p.Kind == KindInt && (p.Min != math.Trunc(p.Min) || p.Max != math.Trunc(p.Max)):
		return fmt.Errorf("Min is %v and Max is %v; those of whole numbers must be whole", p.Min, p.Max)
	}
	return nil
}

// Mutate returns a greater value, or a smaller one. Growing multiplies by the square root of GrowFactor/ShrinkFactor and
// shrinking divides by it, so that neither direction is favoured in the long run; whole numbers change by at least 1; 0
// grows to a hundredth of Max. A value that a bound holds back goes the other way.
//
// Strict mutations are AgileRL's: value × GrowFactor or × ShrinkFactor, clipped, and of whole numbers the fraction cut
// off, so that small ones can only shrink.
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

// step goes one way and stays within the bounds.
func (p RLParameter) step(value float64, grow bool) float64 {
	factor := math.Sqrt(p.GrowFactor / p.ShrinkFactor)
	next := value / factor
	if grow {
		next = value * factor
		if value == 0 {
			next = p.Max / 100
		}
	}
	if p.Kind == KindInt {
		next = math.Round(next)
		if next == value {
			next--
			if grow {
				next += 2
			}
		}
	}
	return p.clip(next)
}

// HyperparameterConfig names the hyperparameters that are mutated. At most one of them is at a time.
type HyperparameterConfig map[string]RLParameter

// Validate checks every parameter.
func (c HyperparameterConfig) Validate() error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if err := c[name].Validate(); err != nil {
			problems = append(problems, fmt.Errorf("evolution: hyperparameter %q: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

// Check compares the configuration with the hyperparameters that a member has: all must exist there, be finite, and be
// whole where they are of KindInt.
func (c HyperparameterConfig) Check(values map[string]float64) error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(c)) {
		value, ok := values[name]
		switch {
		case !ok:
			problems = append(problems, unknownHyperparameter(name, slices.Sorted(maps.Keys(values))))
		case math.IsNaN(value) || math.IsInf(value, 0):
			problems = append(problems, fmt.Errorf("evolution: hyperparameter %q is %v, which cannot be mutated; give it a finite number", name, value))
		case c[name].Kind == KindInt && value != math.Trunc(value):
			problems = append(problems, fmt.Errorf("evolution: hyperparameter %q is %v; as one of kind %q it must be whole", name, value, KindInt))
		}
	}
	return errors.Join(problems...)
}

func unknownHyperparameter(name string, known []string) error {
	return fmt.Errorf("evolution: members have no hyperparameter %q: %s", name, config.Among(name, known))
}

// defaultFloats and defaultInts are the names that are mutated where nothing is configured, so far as members have them.
var (
	defaultFloats = []string{"learning_rate", "discriminator_learning_rate", "lr", "lr_actor", "lr_critic"}
	defaultInts   = []string{"batch_size", "learn_step"}
)

// DefaultHyperparameters is what AgileRL mutates where nothing is configured, for a member with these values: learning
// rates from a tenth of the value to ten times it, and batch size and steps between updates, where members can change
// these, from a quarter (at least 1) to four times the value by factors of 1.5 and 0.75.
func DefaultHyperparameters(values map[string]float64) HyperparameterConfig {
	c := HyperparameterConfig{}
	for _, name := range defaultFloats {
		if v, ok := values[name]; ok && v > 0 {
			c[name] = RLParameter{Min: v / 10, Max: 10 * v, GrowFactor: 1.2, ShrinkFactor: 0.8, Kind: KindFloat}
		}
	}
	for _, name := range defaultInts {
		if v, ok := values[name]; ok && v >= 1 && v == math.Trunc(v) {
			c[name] = RLParameter{Min: max(1, math.Floor(v/4)), Max: 4 * v, GrowFactor: 1.5, ShrinkFactor: 0.75, Kind: KindInt}
		}
	}
	return c
}
