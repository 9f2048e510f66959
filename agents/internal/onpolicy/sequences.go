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

// orderSequences returns the order of an epoch's sequences and the spans of its minibatches. mini_batch_order chooses a
// random order or one environment after the other. skrl goes environment by environment, with sequences of one step in
// the order of time.
func (c *Batches) orderSequences(s *tensor.Scope, epoch int) (order tensor.Tensor, spans []memory.Span) {
	n, count := int64(c.numEnvs), int64(c.countSequences())
	spans = memory.Split(count, int64(c.MiniBatches()))
	switch {
	case !c.Config.Skrl() && c.Config.MiniBatchOrder != "environments":
		return c.shuffle(s, epoch, count), spans
	case c.length == 1 && c.Config.Skrl():
		return s.Arange(count), memory.Chunks(count, int64(c.MiniBatches()))
	default:
		return byEnvironment(s, count/n, n), spans
	}
}

// gatherSequences returns the minibatch of the sequences that order lists, for graphs.go. Its rows are time-major.
func (c *Batches) gatherSequences(s *tensor.Scope, order tensor.Tensor, index int) Batch {
	l, n := int64(c.length), tensor.Size(order, 0)
	rows := s.Reshape(s.Add(c.stepRows, s.IndexSelect(c.firstRows, 0, order)), n*l)
	b := c.gatherRows(s, rows, index)
	ended := s.IndexSelect(c.Rollout.Rows("ended"), 0, rows)
	b.hidden = c.readHidden(func(h *hidden) models.Hidden {
		state := s.IndexSelect(s.Reshape(h.stored, int64(c.countSequences()), h.size), 0, order)
		return models.Hidden{Length: int(l), State: state, Ended: ended}
	})
	return b
}

// readHidden returns what the networks with memory read in addition to a minibatch, by their names.
func (c *Batches) readHidden(of func(*hidden) models.Hidden) map[string]models.Hidden {
	all := map[string]models.Hidden{}
	for _, h := range c.hiddens {
		all[h.name] = of(h)
	}
	if c.joined {
		all[layout.Value] = all[layout.Policy]
	}
	return all
}

// sequenceBatches yields minibatches of the given spans of the sequences in the given order.
func (c *Batches) sequenceBatches(s *tensor.Scope, order tensor.Tensor, spans []memory.Span,
	epoch int) iter.Seq[Batch] {
	l, count := int64(c.length), int64(c.countSequences())
	// The rows of each minibatch, step by step.
	first := s.IndexSelect(c.firstRows, 0, order)
	parts, cuts := make([]tensor.Tensor, len(spans)), make([]memory.Span, len(spans))
	for i, span := range spans {
		parts[i] = s.Reshape(s.Add(c.stepRows, s.Narrow(first, 0, span.Start, span.Len)), span.Len*l)
		cuts[i] = memory.Span{Start: span.Start * l, Len: span.Len * l}
	}
	rows := s.Cat(0, parts...)
	pick := func(name string) tensor.Tensor { return s.IndexSelect(c.Rollout.Rows(name), 0, rows) }
	all, ended := c.batch(s, pick), pick("ended")
	all.order = rows
	states := map[*hidden]tensor.Tensor{}
	for _, h := range c.hiddens {
		states[h] = s.IndexSelect(s.Reshape(h.stored, count, h.size), 0, order)
	}
	return c.divide(s, epoch, all, cuts, func(b *Batch, i int) {
		if b.keepRows(s, c.learnable(s, parts[i])); b.Rows == 0 {
			if c.Group.Several() { // the other ranks wait for this one in every minibatch
				s.Fail(c.errorf("minibatch %d of rank %d has no row to learn from, because none of its steps shows a "+
					"transition; lower \"mini_batches\"", i, c.Group.Rank()))
			}
			return
		}
		b.hidden = c.readHidden(func(h *hidden) models.Hidden {
			return models.Hidden{Length: int(l), State: s.Narrow(states[h], 0, spans[i].Start, spans[i].Len),
				Ended: s.Narrow(ended, 0, cuts[i].Start, cuts[i].Len)}
		})
	})
}

// Of returns the inputs of a network, with the states from which its sequences begin if it has memory, and with the
// action masks, which policies apply.
func (b Batch) Of(network string) models.Inputs {
	in := b.Inputs
	in.Hidden, in.ActionMask = b.hidden[network], b.masks
	return in
}
