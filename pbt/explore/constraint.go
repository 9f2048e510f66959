package explore

// This file holds constraints between hyperparameters, which explorers apply last: rules and bounds look at one
// hyperparameter at a time, and cannot see that a batch is smaller than its mini-batches.

import (
	"fmt"
	"maps"
	"math"

	"github.com/gorl-dev/gorl/internal/number"
)

// Constraint makes hyperparameters fit each other. It returns the values to use, and may change those it is given. It
// must be a pure function. An error means that the values cannot be made to fit.
type Constraint func(values map[string]float64) (map[string]float64, error)

// AtMost lowers a to b where it is above, e.g. AtMost("mini_batch", "batch").
func AtMost(a, b string) Constraint {
	return func(values map[string]float64) (map[string]float64, error) {
		if err := has(values, a, b); err != nil {
			return nil, err
		}
		values[a] = min(values[a], values[b])
		return values, nil
	}
}

// AtLeast raises a to b where it is below, e.g. AtLeast("batch", "mini_batch").
func AtLeast(a, b string) Constraint {
	return func(values map[string]float64) (map[string]float64, error) {
		if err := has(values, a, b); err != nil {
			return nil, err
		}
		values[a] = max(values[a], values[b])
		return values, nil
	}
}

// Multiple rounds a to the nearest multiple of b, at least b itself, e.g. Multiple("batch", "mini_batch"). b must be
// above 0.
func Multiple(a, b string) Constraint {
	return func(values map[string]float64) (map[string]float64, error) {
		if err := has(values, a, b); err != nil {
			return nil, err
		}
		if !(values[b] > 0) {
			return nil, fmt.Errorf("pbt: %s cannot be made a multiple of %s, which is %v", a, b, values[b])
		}
		values[a] = max(math.Round(values[a]/values[b]), 1) * values[b]
		return values, nil
	}
}

// AllOf applies constraints one after the other, up to the first that fails.
func AllOf(constraints ...Constraint) Constraint {
	return func(values map[string]float64) (map[string]float64, error) {
		for _, c := range constraints {
			var err error
			if values, err = c(values); err != nil {
				return nil, err
			}
		}
		return values, nil
	}
}

// has returns an error that names the first of keys that values lacks, so that a misspelt constraint is noticed.
func has(values map[string]float64, keys ...string) error {
	for _, key := range keys {
		if _, ok := values[key]; !ok {
			return fmt.Errorf("pbt: a constraint speaks of hyperparameter %q, which members do not have", key)
		}
	}
	return nil
}

// apply returns the constrained values, or those from before where the constraint cannot be met within the bounds: a
// member that trains on with its old values is better than one with values that do not fit. before are the values
// before the mutation, changed those after it. The constraint gets a copy, so that one which fails halfway leaves no
// trace.
func (c Constraint) apply(before, changed map[string]float64, boundsOf func(string) ([2]float64, bool)) map[string]float64 {
	if c == nil {
		return changed
	}
	result, err := c(maps.Clone(changed))
	if err != nil || len(result) != len(before) {
		return maps.Clone(before)
	}
	for key, v := range result {
		old, ok := before[key]
		b, bounded := boundsOf(key)
		// A value that is as before may lie outside the bounds, as members may have begun there.
		outside := bounded && (v < b[0] || v > b[1])
		if !ok || v != old && (!number.Finite(v) || outside) {
			return maps.Clone(before)
		}
	}
	return result
}
