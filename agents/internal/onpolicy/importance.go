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
	count, parts := c.rows(), int64(1)
	switch {
	case len(c.hiddens) > 0:
		count, parts = int64(c.countSequences()), int64(c.MiniBatches())
	case c.packed():
		parts = (count + portion - 1) / portion
	}
	rows := tensor.NoGrad().On(c.Device) // of the rollout, in order
	defer rows.Close()
	own := tensor.NoGrad().On(c.Device).Layers(c.Precision) // what is computed of a part of them
	defer own.Close()
	for b := range c.divide(rows, nil, rows.Arange(count), memory.Split(count, parts), 1) {
		own.Reset()
		e := c.Policy.Evaluate(own, b.Of(layout.Policy), b.Actions)
		own.IndexCopy(c.Rollout.Rows("log_prob_before"), b.order, b.Learned(own, e.LogProb))
		c.storeDistribution(own, b, e)
		if own.Err() != nil {
			s.Fail(own.Err())
			return
		}
	}
	s.Fail(rows.Err())
	r := c.Rollout
	s.Copy(r.Tensor("importance"), s.Exp(s.Sub(r.Tensor("log_prob_before"), r.Tensor("log_prob"))))
}

// storeDistribution replaces the recorded mean and standard deviation of a minibatch's actions, if there are any.
func (c *Batches) storeDistribution(s *tensor.Scope, b Batch, e models.Evaluation) {
	if !c.distributions || s.Err() != nil {
		return
	}
	mean := b.Learned(s, e.Mean)
	std := s.Expand(b.Learned(s, e.StdDev), tensor.Shape(mean)...)
	s.IndexCopy(c.Rollout.Rows("mean"), b.order, mean)
	s.IndexCopy(c.Rollout.Rows("std_dev"), b.order, std)
}

// weighAdvantages returns the advantages of a minibatch, normalised if advantage_normalization is "minibatch", times w.
func (c *Batches) weighAdvantages(s *tensor.Scope, b Batch) tensor.Tensor {
	a := c.normalise(s, b.Advantages, b.Advantages, "minibatch")
	if b.importance.T == nil {
		return a
	}
	return s.Mul(a, b.importance)
}
