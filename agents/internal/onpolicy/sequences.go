package onpolicy

import (
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Networks with memory learn from sequences of sequence_length timesteps of one environment each, which begin from the
// states that hidden.go has stored. A minibatch is made of whole sequences.

// sequenceRows returns the rows of the rollout in the sequences that order lists. Those of each span are in the order
// of time.
func (c *Batches) sequenceRows(s *tensor.Scope, order tensor.Tensor, spans []memory.Span) tensor.Tensor {
	first := s.IndexSelect(c.firstRows, 0, order)
	parts := make([]tensor.Tensor, len(spans))
	for i, span := range spans {
		parts[i] = s.Reshape(s.Add(c.stepRows, s.Narrow(first, 0, span.Start, span.Len)), span.Len*int64(c.length))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return s.Cat(0, parts...)
}

// readHidden returns what the networks with memory read in addition to the given rows of the sequences that order
// lists, by their names.
func (c *Batches) readHidden(s *tensor.Scope, order, rows tensor.Tensor) map[string]models.Hidden {
	ended, all := s.IndexSelect(c.Rollout.Rows("ended"), 0, rows), map[string]models.Hidden{}
	for _, h := range c.hiddens {
		stored := s.Reshape(h.stored, int64(c.countSequences()), h.size)
		all[h.name] = models.Hidden{Length: c.length, State: s.IndexSelect(stored, 0, order), Ended: ended}
	}
	if c.joined {
		all[layout.Value] = all[layout.Policy]
	}
	return all
}

// leaveLearnable leaves the rows of a minibatch of sequences that show a transition.
func (c *Batches) leaveLearnable(s *tensor.Scope, b *Batch) {
	if len(c.hiddens) == 0 {
		return
	}
	if rows := c.learnable(s, b.order); rows.T != nil && s.Err() == nil {
		b.learned, b.Rows = rows, tensor.Size(rows, 0)
		b.mapTensors(func(t tensor.Tensor) tensor.Tensor { return s.IndexSelect(t, 0, rows) }, b.outcomes()...)
	}
	if b.Rows == 0 && c.Group.Several() { // the other ranks wait for this one in every minibatch
		s.Fail(c.errorf("minibatch %d of rank %d has no row to learn from, because none of its steps shows a "+
			"transition; lower \"mini_batches\"", b.Index, c.Group.Rank()))
	}
}
