package onpolicy

import (
	"iter"

	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Batch is a minibatch: n of the rollout's T·N transitions, the same rows in every tensor.
type Batch struct {
	// Index counts the minibatches of the epoch from 0.
	Index int
	// Rows is how many there are.
	Rows int64
	// Inputs are observations (n, O) and states (n, S), standardised for the networks.
	Inputs models.Inputs
	// Actions is (n, A), as the policy drew them. The others are (n, 1): the log-probability of the actions when they
	// were drawn, the values predicted then and the returns, both standardised, and the normalised advantages.
	Actions, LogProb, Values, Returns, Advantages tensor.Tensor
	// Extra holds further fields of the rollout, in the order in which Epoch was asked for them.
	Extra []tensor.Tensor

	hidden map[string]models.Hidden // what the networks with memory read beside Inputs, see Of
}

// Epoch yields the minibatches of one pass over the rollout; their tensors belong to scope s. Each epoch shuffles the
// rows anew and uses all of them. The observation scaler does not change meanwhile (see Finish), so the ratio of the
// first minibatch is exactly one. Where networks have memory the minibatches are made of whole sequences.
func (c *Core) Epoch(s *tensor.Scope, epoch int, extra ...string) iter.Seq[Batch] {
	if len(c.hiddens) > 0 {
		return c.wholeSequences(s, epoch, extra)
	}
	if c.Config.Skrl() {
		return c.chunks(s, epoch, extra)
	}
	return c.shuffled(s, extra)
}

// shuffled draws the order of an epoch once and cuts it into mini_batches parts of about equal size.
func (c *Core) shuffled(s *tensor.Scope, extra []string) iter.Seq[Batch] {
	n := int64(c.Rollout.Steps() * c.Rollout.Envs())
	order := s.RandPerm(c.Gen, n) // of all T·N rows
	pick := func(name string) tensor.Tensor { return s.IndexSelect(c.Rollout.Rows(name), 0, order) }
	all := c.batch(pick, extra)
	all.Inputs = c.Inputs(s, all.Inputs.Observations, all.Inputs.States)
	return func(yield func(Batch) bool) {
		for i, span := range memory.Split(n, int64(c.Config.MiniBatches)) {
			b := all.rows(s, i, span)
			b.Advantages = c.normalise(s, b.Advantages, "minibatch")
			if s.Err() != nil || !yield(b) {
				return
			}
		}
	}
}

// chunks is skrl 2.0's way: the same consecutive rows in every epoch, without the remainder, and an observation scaler
// that learns from each chunk of the first epoch as it comes.
func (c *Core) chunks(s *tensor.Scope, epoch int, extra []string) iter.Seq[Batch] {
	r := c.Rollout
	n := int64(r.Steps() * r.Envs())
	all := c.batch(r.Rows, extra)
	return func(yield func(Batch) bool) {
		for i, span := range memory.Chunks(n, int64(c.Config.MiniBatches)) {
			b := all.rows(s, i, span)
			b.Inputs = c.learnedInputs(s, epoch, b.Inputs)
			b.Advantages = c.normalise(s, b.Advantages, "minibatch")
			if s.Err() != nil || !yield(b) {
				return
			}
		}
	}
}

// learnedInputs standardises the raw rows of a minibatch as skrl 2.0 does: in the first epoch the scalers learn from
// them before.
func (c *Core) learnedInputs(s *tensor.Scope, epoch int, raw models.Inputs) models.Inputs {
	if epoch == 0 {
		c.ObservationScaler.Update(s, raw.Observations)
		if raw.States.T != nil {
			c.StateScaler.Update(s, raw.States)
		}
	}
	return c.Inputs(s, raw.Observations, raw.States)
}

// batch returns all rows of the rollout, each field as rows returns it. The inputs are not standardised.
func (c *Core) batch(rows func(field string) tensor.Tensor, extra []string) Batch {
	all := Batch{Actions: rows("actions"), LogProb: rows("log_prob"), Values: rows("values"), Returns: rows("returns")}
	all.Advantages, all.Inputs.Observations = rows("advantages"), rows("observations")
	if c.spaces.State.Width() > 0 {
		all.Inputs.States = rows("states")
	}
	for _, name := range extra {
		all.Extra = append(all.Extra, rows(name))
	}
	return all
}

// rows cuts a span of rows out of every tensor of b. The parts share its memory.
func (b Batch) rows(s *tensor.Scope, index int, span memory.Span) Batch {
	cut := func(t tensor.Tensor) tensor.Tensor {
		if t.T == nil {
			return t
		}
		return s.Narrow(t, 0, span.Start, span.Len)
	}
	out := Batch{Index: index, Rows: span.Len, Actions: cut(b.Actions), LogProb: cut(b.LogProb), Values: cut(b.Values), Returns: cut(b.Returns), Advantages: cut(b.Advantages)}
	out.Inputs = models.Inputs{Observations: cut(b.Inputs.Observations), States: cut(b.Inputs.States)}
	for _, t := range b.Extra {
		out.Extra = append(out.Extra, cut(t))
	}
	return out
}
