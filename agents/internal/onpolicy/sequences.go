package onpolicy

import (
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Networks with memory learn from sequences of sequence_length timesteps of one environment each, which begin from the
// states that hidden.go has stored. A minibatch is made of whole sequences.

// orderSequences returns the order in which an epoch goes through the rollout's sequences, random or environment by
// environment (mini_batch_order), and the spans of its minibatches, each with about equally many. Both releases of
// skrl take the sequences environment by environment, and single steps in the order of time.
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

// sequenceRows returns the rows of the rollout in the sequences that order lists, step by step.
func (c *Batches) sequenceRows(s *tensor.Scope, order tensor.Tensor) tensor.Tensor {
	return s.Reshape(s.Add(c.stepRows, s.IndexSelect(c.firstRows, 0, order)), -1)
}

// addSequences gives b, the minibatch of the sequences that order lists, the states from which they begin, and leaves
// the rows to learn from.
func (c *Batches) addSequences(s *tensor.Scope, b *Batch, order tensor.Tensor) {
	ended, count := s.IndexSelect(c.Rollout.Rows("ended"), 0, b.order), int64(c.countSequences())
	b.hidden = map[string]models.Hidden{}
	for _, h := range c.hiddens {
		state := s.IndexSelect(s.Reshape(h.stored, count, h.size), 0, order)
		b.hidden[h.name] = models.Hidden{Length: c.length, State: state, Ended: ended}
	}
	if c.joined {
		b.hidden[layout.Value] = b.hidden[layout.Policy]
	}
	b.keepRows(s, c.learnable(s, b.order))
	if b.Rows == 0 && c.Group.Several() { // the other ranks wait for this one in every minibatch
		s.Fail(c.errorf("minibatch %d of rank %d has no row to learn from, because none of its steps shows a "+
			"transition; lower \"mini_batches\"", b.Index, c.Group.Rank()))
	}
}
