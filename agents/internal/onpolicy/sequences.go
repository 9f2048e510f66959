package onpolicy

import (
	"iter"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Networks with memory learn from sequences of sequence_length timesteps of one environment each, which begin from the
// states that hidden.go has stored. A minibatch is made of whole sequences.

// wholeSequences yields minibatches of whole sequences, each with about equally many, in random order or environment
// by environment (mini_batch_order). The rows of a minibatch are time-major. Both releases of skrl take the sequences
// environment by environment, and single steps in the order of time.
func (c *Batches) wholeSequences(s *tensor.Scope, epoch int) iter.Seq[Batch] {
	n, count := int64(c.numEnvs), int64(c.countSequences())
	spans := memory.Split(count, int64(c.MiniBatches()))
	var order tensor.Tensor // of sequences
	switch {
	case !c.Config.Skrl() && c.Config.MiniBatchOrder != "environments":
		order = c.shuffle(s, epoch, count)
	case c.length == 1 && c.Config.Skrl():
		order, spans = s.Arange(count), memory.Chunks(count, int64(c.MiniBatches()))
	default:
		order = byEnvironment(s, count/n, n)
	}
	return c.sequenceBatches(s, order, spans, epoch)
}

// sequenceBatches yields minibatches of the given spans of the sequences in the given order.
func (c *Batches) sequenceBatches(s *tensor.Scope, order tensor.Tensor, spans []memory.Span,
	epoch int) iter.Seq[Batch] {
	l, count := int64(c.length), int64(c.countSequences())
	// The rows of each minibatch, step by step.
	first := s.IndexSelect(c.firstRows, 0, order)
	parts := make([]tensor.Tensor, len(spans))
	for i, span := range spans {
		parts[i] = s.Reshape(s.Add(c.stepRows, s.Narrow(first, 0, span.Start, span.Len)), span.Len*l)
	}
	rows := s.Cat(0, parts...)
	pick := func(name string) tensor.Tensor { return s.IndexSelect(c.Rollout.Rows(name), 0, rows) }
	all, ended := c.batch(s, pick), pick("ended")
	all.order = rows
	if !c.Config.Skrl() && !c.packed() {
		all.Inputs = c.Inputs(s, all.Inputs.Observations, all.Inputs.States)
	}
	states := make([]tensor.Tensor, len(c.hiddens))
	for i, h := range c.hiddens {
		states[i] = s.IndexSelect(s.Reshape(h.stored, count, h.size), 0, order)
	}
	return func(yield func(Batch) bool) {
		own, done := c.batchScope(s)
		defer done()
		for i, span := range spans {
			b := all.rows(s, i, memory.Span{Start: span.Start * l, Len: span.Len * l})
			if b.keepRows(s, c.learnable(s, parts[i])); b.Rows == 0 {
				if c.Group.Several() { // the other ranks wait for this one in every minibatch
					s.Fail(c.errorf("minibatch %d of rank %d has no row to learn from, because none of its steps "+
						"shows a transition; lower \"mini_batches\"", i, c.Group.Rank()))
					return
				}
				continue
			}
			switch {
			case c.Config.Skrl():
				b.Inputs = c.learnInputs(s, own, epoch, b.Inputs)
			case c.packed():
				b.Inputs = c.unpackInputs(s, own, b.Inputs)
			}
			b.Advantages = c.weighAdvantages(s, b)
			b.hidden = map[string]models.Hidden{}
			for k, h := range c.hiddens {
				b.hidden[h.name] = models.Hidden{Length: int(l), State: s.Narrow(states[k], 0, span.Start, span.Len),
					Ended: s.Narrow(ended, 0, span.Start*l, span.Len*l)}
			}
			if c.joined {
				b.hidden[layout.Value] = b.hidden[layout.Policy]
			}
			if s.Err() != nil || !yield(b) {
				return
			}
		}
	}
}

// Of returns the inputs of a network, with the states from which its sequences begin if it has memory, and with the
// action masks, which policies apply.
func (b Batch) Of(network string) models.Inputs {
	in := b.Inputs
	in.Hidden, in.ActionMask = b.hidden[network], b.masks
	return in
}
