package onpolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Some rows of a rollout show no transition (agents.Transition.Invalid), such as those in which a simulator with
// next-step autoreset resets. They stay in the rollout, because steps are stored for all environments at once, and
// nothing learns from them: neither losses, nor scalers, nor the statistics of advantages, nor the memories of AMP. They
// are rare, so this costs nothing where there are none. skrl's modes learn from them, as skrl does.

// noteInvalid stores which rows of the present step show no transition.
func (c *Core) noteInvalid(t agents.Transition) {
	row := c.invalid[c.Rollout.Len()*c.numEnvs:][:c.numEnvs]
	if t.Invalid == nil || c.Config.Skrl() {
		clear(row)
		return
	}
	copy(row, t.Invalid)
}

// recordedInvalid is which rows of the steps recorded so far show no transition.
func (c *Core) recordedInvalid() []bool { return c.invalid[:c.Rollout.Len()*c.numEnvs] }

// Valid returns the indices of the rollout's rows that show a transition, (n), or a zero Tensor where all do.
func (c *Core) Valid(s *tensor.Scope) tensor.Tensor {
	recorded := c.recordedInvalid()
	if !slices.Contains(recorded, true) {
		return tensor.Tensor{}
	}
	valid := make([]int64, 0, len(recorded))
	for i, bad := range recorded {
		if !bad {
			valid = append(valid, int64(i))
		}
	}
	return tensor.From(s, valid)
}

// ValidRows returns the rows of a field of the rollout that show a transition, (n, W).
func (c *Core) ValidRows(s *tensor.Scope, field string) tensor.Tensor {
	return pickRows(s, c.Rollout.Rows(field), c.Valid(s))
}

// ValidOf returns the rows of x, (T, N, 1), that show a transition: x itself where all do, else (n, 1).
func (c *Core) ValidOf(s *tensor.Scope, x tensor.Tensor) tensor.Tensor {
	rows := c.Valid(s)
	if rows.T == nil {
		return x
	}
	return s.IndexSelect(s.Reshape(x, int64(c.Rollout.Steps()*c.Rollout.Envs()), 1), 0, rows)
}

// pickRows returns the rows of x with the given indices, or x itself where these are a zero Tensor.
func pickRows(s *tensor.Scope, x, rows tensor.Tensor) tensor.Tensor {
	if rows.T == nil || x.T == nil {
		return x
	}
	return s.IndexSelect(x, 0, rows)
}

// learnable returns the numbers, within a minibatch of whole sequences that has the given rows of the rollout, of those
// that show a transition; a zero Tensor where all do.
func (c *Core) learnable(s *tensor.Scope, rows tensor.Tensor) tensor.Tensor {
	if s.Err() != nil || !slices.Contains(c.recordedInvalid(), true) {
		return tensor.Tensor{}
	}
	index := make([]int64, tensor.Size(rows, 0))
	if err := tensor.Read(rows, index); err != nil {
		s.Fail(err)
		return tensor.Tensor{}
	}
	keep := make([]int64, 0, len(index))
	for i, row := range index {
		if !c.invalid[row] {
			keep = append(keep, int64(i))
		}
	}
	if len(keep) == len(index) {
		return tensor.Tensor{}
	}
	return tensor.From(s, keep)
}

// Evaluate returns the present policy's log-probabilities and entropies of a minibatch's actions, and the value network's
// predictions (n, 1), of the rows to learn from.
func (c *Core) Evaluate(s *tensor.Scope, b Batch) (models.Evaluation, tensor.Tensor) {
	e, predicted := models.EvaluateBoth(s, c.Policy, c.Value, b.Of(layout.Policy), b.Of(layout.Value), b.Actions)
	e.LogProb, e.Entropy, e.Mean = b.Learned(s, e.LogProb), b.Learned(s, e.Entropy), b.Learned(s, e.Mean)
	if e.StdDev.T != nil && len(tensor.Shape(e.StdDev)) == 2 {
		e.StdDev = b.Learned(s, e.StdDev)
	}
	return e, b.Learned(s, predicted)
}

// Learned returns, of what a network has made of all rows of the minibatch, the rows to learn from. Networks with memory
// read the rows between as well. One row that stands for all, such as the entropy of a policy whose deviation is the
// same everywhere, stays.
func (b Batch) Learned(s *tensor.Scope, out tensor.Tensor) tensor.Tensor {
	if b.learned.T == nil || out.T == nil || s.Err() != nil || tensor.Size(out, 0) != tensor.Size(b.Actions, 0) {
		return out
	}
	return s.IndexSelect(out, 0, b.learned)
}

// invalidRows reads which steps of the rollout in progress show no transition; snapshots have the array where some do.
func (r *reader) invalidRows(c *Core, rollout int) {
	if c.Rollout == nil || rollout <= 0 {
		return
	}
	rows := make([]bool, rollout*c.numEnvs)
	name := layout.Rollout(layout.Invalid)
	if _, has := r.snap.Arrays[name]; has {
		data, err := r.snap.Bools(name, int64(rollout), int64(c.numEnvs))
		r.fail(err)
		copy(rows, data)
	}
	r.writes = append(r.writes, func() error {
		copy(c.invalid, rows)
		return nil
	})
}

// checkMarks refuses marks of a wrong number of environments.
func (c *Core) checkMarks(t agents.Transition) error {
	for _, m := range []struct {
		name  string
		marks []bool
	}{{"FinalUnknown", t.FinalUnknown}, {"Invalid", t.Invalid}} {
		if m.marks != nil && len(m.marks) != c.numEnvs {
			return fmt.Errorf("%s: Transition.%s has %d values, want %d (one an environment), or nil for none",
				strings.ToLower(c.name), m.name, len(m.marks), c.numEnvs)
		}
	}
	return nil
}
