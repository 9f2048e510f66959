package onpolicy

import (
	"fmt"
	"iter"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Networks with memory learn from sequences of sequence_length timesteps of one environment each, which begin from the
// states that hidden.go has stored. A minibatch is made of whole sequences.

// sequence is L, the number of steps of a sequence.
func (c *Core) sequence() int {
	if c.Config.SequenceLength == 0 {
		return c.Config.Rollouts
	}
	return c.Config.SequenceLength
}

// begun is how many sequences of each environment n steps of a rollout have begun.
func (c *Core) begun(n int) int { return (n + c.sequence() - 1) / c.sequence() }

// sequences is how many sequences a rollout has.
func (c *Core) sequences() int { return c.Config.Rollouts / c.sequence() * c.numEnvs }

// checkSequences refuses minibatches that cannot be made of whole sequences of n environments.
func (c *Core) checkSequences(n int) error {
	if len(c.hiddens) == 0 {
		return nil
	}
	l, parts := c.sequence(), c.miniBatches(n)
	count := c.Config.Rollouts / l * n
	if m := c.Config.MiniBatchSize; m%l != 0 {
		return fmt.Errorf("%s: \"mini_batch_size\" is %d, which is no multiple of the %d timesteps of a sequence "+
			"(\"sequence_length\"): with networks that have memory minibatches are made of whole sequences", strings.ToLower(c.name), m, l)
	}
	if parts > count {
		return fmt.Errorf("%s: \"mini_batches\" is %d, but a rollout has only %d sequences "+
			"(%d of %d timesteps, \"sequence_length\", in each of %d environments), and no minibatch may be empty",
			strings.ToLower(c.name), parts, count, c.Config.Rollouts/l, l, n)
	}
	if c.Config.Skrl() && l > 1 && count%parts != 0 {
		return fmt.Errorf("%s: \"mini_batches\" is %d, which does not divide the %d sequences of a rollout "+
			"(\"sequence_length\" %d, %d environments), as compatibility %q asks",
			strings.ToLower(c.name), parts, count, l, n, c.Config.Compatibility)
	}
	return nil
}

// wholeSequences yields minibatches of whole sequences, each with about equally many, in random order or environment
// by environment (mini_batch_order). The rows of a minibatch are time-major. Both releases of skrl take the sequences
// environment by environment, and single steps in the order of time.
func (c *Core) wholeSequences(s *tensor.Scope, epoch int, extra []string) iter.Seq[Batch] {
	n, count := int64(c.numEnvs), int64(c.sequences())
	spans := memory.Split(count, int64(c.MiniBatches()))
	var order tensor.Tensor // of sequences
	switch {
	case !c.Config.Skrl() && c.Config.MiniBatchOrder != "environments":
		order = c.shuffle(s, epoch, count)
	case c.sequence() == 1 && c.Config.Skrl():
		order, spans = s.Arange(count), memory.Chunks(count, int64(c.MiniBatches()))
	default:
		order = byEnvironment(s, count/n, n)
	}
	return c.inSequences(s, order, spans, epoch, extra)
}

// inSequences yields minibatches of the given spans of the sequences in the given order.
func (c *Core) inSequences(s *tensor.Scope, order tensor.Tensor, spans []memory.Span, epoch int, extra []string) iter.Seq[Batch] {
	l, count := int64(c.sequence()), int64(c.sequences())
	// The rows of each minibatch, step by step.
	first := s.IndexSelect(c.firstRows, 0, order)
	parts := make([]tensor.Tensor, len(spans))
	for i, span := range spans {
		parts[i] = s.Reshape(s.Add(c.stepRows, s.Narrow(first, 0, span.Start, span.Len)), span.Len*l)
	}
	rows := s.Cat(0, parts...)
	pick := func(name string) tensor.Tensor { return s.IndexSelect(c.Rollout.Rows(name), 0, rows) }
	all, ended := c.batch(s, pick, extra), pick("ended")
	all.order = rows
	if !c.Config.Skrl() && !c.packed() {
		all.Inputs = c.Inputs(s, all.Inputs.Observations, all.Inputs.States)
	}
	states := make([]tensor.Tensor, len(c.hiddens))
	for i, h := range c.hiddens {
		states[i] = s.IndexSelect(s.Reshape(h.stored, count, h.size), 0, order)
	}
	return func(yield func(Batch) bool) {
		own, done := c.numbers(s)
		defer done()
		for i, span := range spans {
			b := all.rows(s, i, memory.Span{Start: span.Start * l, Len: span.Len * l})
			if b.only(s, c.learnable(s, parts[i])); b.Rows == 0 {
				if c.Group.Several() { // the other ranks wait for this one in every minibatch
					s.Fail(fmt.Errorf("%s: minibatch %d of rank %d has no row to learn from, because none of its steps shows a transition; lower \"mini_batches\"", strings.ToLower(c.name), i, c.Group.Rank()))
					return
				}
				continue
			}
			switch {
			case c.Config.Skrl():
				b.Inputs = c.learnedInputs(s, own, epoch, b.Inputs)
			case c.packed():
				b.Inputs = c.unpacked(s, own, b.Inputs)
			}
			b.Advantages = c.weighed(s, b)
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

// only leaves the rows with the given numbers to learn from, all where these are a zero Tensor.
func (b *Batch) only(s *tensor.Scope, rows tensor.Tensor) {
	if rows.T == nil || s.Err() != nil {
		return
	}
	b.learned, b.Rows = rows, tensor.Size(rows, 0)
	for _, t := range []*tensor.Tensor{&b.LogProb, &b.Values, &b.Returns, &b.Advantages, &b.importance, &b.order, &b.mean, &b.stdDev} {
		*t = pickRows(s, *t, rows)
	}
	for i, t := range b.Extra {
		b.Extra[i] = s.IndexSelect(t, 0, rows)
	}
}

// Of returns the inputs of a network, with the states from which its sequences begin where it has memory.
func (b Batch) Of(network string) models.Inputs {
	in := b.Inputs
	in.Hidden = b.hidden[network]
	return in
}
