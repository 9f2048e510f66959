package onpolicy

import (
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// With overlap, the policy that acted, π_acted, is not the one that the update begins with, π_before, and the surrogate
// is
//
//	E[min(ρ·A, clip(ρ, w·(1 − ε), w·(1 + ε))·A)],  ρ = π / π_acted,  w = π_before / π_acted
//
// (Hilton, Cobbe and Schulman 2022, eq. 2): the ratio weighs actions by the policy that drew them, and the band around
// w keeps the update near the policy that it begins with. A band around 1 would keep it near π_acted, and so undo the
// update before. Because w is positive, this is the usual surrogate of the ratio π / π_before with the advantages w·A;
// clip fraction and divergence are of that ratio.

// evaluateBefore evaluates the rollout's actions by the policy that the update begins with, if another policy has
// drawn them (overlap). It stores log-probabilities and w. For the closed form of the divergence it also replaces the
// recorded mean and standard deviation.
func (c *Batches) evaluateBefore(s *tensor.Scope) {
	if !c.Config.Overlap || s.Err() != nil {
		return
	}
	defer func() {
		r := c.Rollout
		s.Copy(r.Tensor("importance"), s.Exp(s.Sub(r.Tensor("log_prob_before"), r.Tensor("log_prob"))))
	}()
	if len(c.hiddens) > 0 {
		own := tensor.NoGrad().On(c.Device).Layers(c.Precision) // one minibatch
		defer own.Close()
		count := int64(c.countSequences())
		for i, span := range memory.Split(count, int64(c.MiniBatches())) {
			own.Reset()
			b := c.gather(own, own.Narrow(own.Arange(count), 0, span.Start, span.Len), i, 1)
			if b.Rows > 0 {
				e := c.Policy.Evaluate(own, b.Of(layout.Policy), b.Actions)
				e.LogProb, e.Mean, e.StdDev = b.Learned(own, e.LogProb), b.Learned(own, e.Mean), b.Learned(own, e.StdDev)
				c.storeBefore(own, e, func(field string, x tensor.Tensor) {
					own.IndexCopy(c.Rollout.Rows(field), b.order, x)
				})
			}
			if own.Err() != nil {
				s.Fail(own.Err())
				return
			}
		}
		return
	}
	c.Portions(s, c.packed(), c.rows(), func(s *tensor.Scope, span memory.Span) {
		cut := func(field string) tensor.Tensor { return s.Narrow(c.Rollout.Rows(field), 0, span.Start, span.Len) }
		var state tensor.Tensor
		if c.spaces.State.Width() > 0 {
			state = cut("states")
		}
		in := c.Inputs(s, cut("observations"), state)
		if c.spaces.ActionMask.Width() > 0 {
			in.ActionMask = cut("action_masks")
		}
		e := c.Policy.Evaluate(s, in, cut("actions"))
		c.storeBefore(s, e, func(field string, x tensor.Tensor) { s.Copy(cut(field), x) })
	})
}

// storeBefore passes the fields that evaluateBefore keeps of an evaluation to store.
func (c *Batches) storeBefore(s *tensor.Scope, e models.Evaluation, store func(field string, x tensor.Tensor)) {
	store("log_prob_before", e.LogProb)
	if c.distributions && s.Err() == nil {
		store("mean", e.Mean)
		store("std_dev", s.Expand(e.StdDev, tensor.Shape(e.Mean)...))
	}
}

// weighAdvantages returns the advantages of a minibatch, normalised if advantage_normalization is "minibatch", times w.
func (c *Batches) weighAdvantages(s *tensor.Scope, b Batch) tensor.Tensor {
	a := c.normalise(s, b.Advantages, b.Advantages, "minibatch")
	if b.importance.T == nil {
		return a
	}
	return s.Mul(a, b.importance)
}
