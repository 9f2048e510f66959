package models

import (
	"maps"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// names are what expressions may call in a place.
type names struct {
	spec  Spec
	sp    spaces.Set
	sizes int // the outputs of the policy's distribution, or of the action space
	terms map[string]term
}

// reserved are the names with a meaning of their own.
var reserved = []string{"OBSERVATIONS", "STATES", "ACTIONS", "ONE", "NUM_OBSERVATIONS", "NUM_STATES", "NUM_ACTIONS",
	"OBSERVATION_SPACE", "STATE_SPACE", "ACTION_SPACE"}

// inputNames are the names that every expression of a model for sp may use.
func inputNames(spec Spec, sp spaces.Set, outputs int) *names {
	n := &names{spec: spec, sp: sp, sizes: outputs, terms: map[string]term{}}
	number := func(x int) term { return term{number: true, num: float64(x)} }
	n.terms["OBSERVATIONS"] = inputRows(&n.sp.Observation, 0)
	n.terms["OBSERVATION_SPACE"] = term{space: &n.sp.Observation}
	n.terms["NUM_OBSERVATIONS"] = number(sp.Observation.Outputs())
	n.terms["NUM_ACTIONS"] = number(outputs)
	if spec.Gaussian.StateDependentLogStd { // two outputs an action
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

// inputRows are the rows of a space that the network reads.
func inputRows(s *spaces.Space, at int) term {
	width := int64(s.Width())
	return term{width: width, shape: shapeOf(s), at: at, part: s, row: width}
}

// shapeOf is the shape of a Box with more than one dimension.
func shapeOf(s *spaces.Space) []int {
	if s.Kind != spaces.Box || len(s.Shape) < 2 {
		return nil
	}
	return s.Shape
}

// with returns the names and one more.
func (n *names) with(name string, t term) *names {
	c := *n
	c.terms = maps.Clone(n.terms)
	c.terms[name] = t
	return &c
}

// sizeNames are those with which a layer's size may be written: skrl lets a space's name stand for its size there.
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
