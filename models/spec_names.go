package models

import (
	"maps"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// names is the scope of an expression: the names that it may use, and what they stand for. Every container adds its own
// name for the containers after it.
type names struct {
	// sp holds the spaces that the terms point to.
	sp spaces.Set
	// sizes is the number of outputs that ACTIONS adds in the output expression: those of the policy's distribution, or
	// of the action space.
	sizes int
	// terms maps each name to a number, a space or rows.
	terms map[string]term
}

// reserved are the names that containers cannot have, because expressions use them for inputs, sizes and spaces.
var reserved = []string{"OBSERVATIONS", "STATES", "ACTIONS", "ONE", "NUM_OBSERVATIONS", "NUM_STATES", "NUM_ACTIONS",
	"OBSERVATION_SPACE", "STATE_SPACE", "ACTION_SPACE"}

// inputNames returns the names that every expression of a model for sp may use. outputs is the number of values that
// ACTIONS stands for.
func inputNames(spec Spec, sp spaces.Set, outputs int) *names {
	n := &names{sp: sp, sizes: outputs, terms: map[string]term{}}
	number := func(x int) term { return term{number: true, num: float64(x)} }
	n.terms["OBSERVATIONS"] = inputRows(&n.sp.Observation, 0)
	n.terms["OBSERVATION_SPACE"] = term{space: &n.sp.Observation}
	n.terms["NUM_OBSERVATIONS"] = number(sp.Observation.Outputs())
	n.terms["NUM_ACTIONS"] = number(outputs)
	// The distribution reads two outputs for each action dimension, but NUM_ACTIONS counts dimensions.
	if spec.Gaussian.StateDependentLogStd {
		n.terms["NUM_ACTIONS"] = number(outputs / 2)
	}
	n.terms["ACTION_SPACE"] = term{space: &n.sp.Action}
	n.terms["ONE"] = number(1)
	switch {
	case sp.State.Kind != spaces.None:
		n.terms["STATES"] = inputRows(&n.sp.State, description.StateRow)
		n.terms["STATE_SPACE"] = term{space: &n.sp.State}
		n.terms["NUM_STATES"] = number(sp.State.Outputs())
	case spec.StatesAreObservations:
		n.terms["STATES"], n.terms["STATE_SPACE"], n.terms["NUM_STATES"] = n.terms["OBSERVATIONS"],
			n.terms["OBSERVATION_SPACE"], n.terms["NUM_OBSERVATIONS"]
	}
	return n
}

// inputRows returns the term of an input. at is 0 for observations and description.StateRow for states.
func inputRows(s *spaces.Space, at int) term {
	width := int64(s.Width())
	return term{width: width, shape: shapeOf(s), at: at, part: s, row: width}
}

// shapeOf returns the shape of a Box with more than one dimension, otherwise nil.
func shapeOf(s *spaces.Space) []int {
	if s.Kind != spaces.Box || len(s.Shape) < 2 {
		return nil
	}
	return s.Shape
}

// with returns a copy of the names with one more. n stays as it is, as names are shared between expressions.
func (n *names) with(name string, t term) *names {
	c := *n
	c.terms = maps.Clone(n.terms)
	c.terms[name] = t
	return &c
}

// sizeNames returns the names that an expression of a layer's size may use: the numbers. As in skrl, OBSERVATIONS,
// STATES and ACTIONS stand for their sizes there.
func (n *names) sizeNames() *names {
	c := *n
	c.terms = map[string]term{}
	for name, t := range n.terms {
		if t.number {
			c.terms[name] = t
		}
	}
	for _, name := range []string{"OBSERVATIONS", "STATES", "ACTIONS"} {
		if t, ok := c.terms["NUM_"+name]; ok {
			c.terms[name] = t
		}
	}
	return &c
}
