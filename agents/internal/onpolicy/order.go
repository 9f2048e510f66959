package onpolicy

import (
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/tensor"
)

// orderMinibatches returns the order in which an epoch goes through the rollout's rows, or through its sequences if
// networks have memory, and the spans of its minibatches.
func (c *Batches) orderMinibatches(s *tensor.Scope, epoch int) (order tensor.Tensor, spans []memory.Span) {
	if len(c.hiddens) > 0 {
		return c.orderSequences(s, epoch)
	}
	if c.Config.Skrl20() { // the same consecutive rows in every epoch, without the remainder
		return order, memory.Chunks(c.rows(), int64(c.MiniBatches()))
	}
	if order = c.orderRows(s, epoch); s.Err() != nil {
		return order, nil
	}
	n := tensor.Size(order, 0)
	return order, memory.Split(n, min(n, int64(c.MiniBatches())))
}

// orderRows returns the order in which an epoch goes through the rollout's rows that show a transition.
func (c *Batches) orderRows(s *tensor.Scope, epoch int) tensor.Tensor {
	t, n := int64(c.Rollout.Steps()), int64(c.Rollout.Envs())
	valid := c.Valid(s)
	switch {
	case c.Config.MiniBatchOrder == "environments":
		order := byEnvironment(s, t, n)
		return pickRows(s, order, c.learnable(s, order))
	case valid.T != nil:
		return s.IndexSelect(valid, 0, c.shuffle(s, epoch, tensor.Size(valid, 0)))
	}
	return c.shuffle(s, epoch, t*n)
}

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

// shuffle returns the numbers from 0 to n−1 in random order. The order is new in each epoch. With mini_batch_order
// "random_once" all epochs of an update have the order of the first.
func (c *Batches) shuffle(s *tensor.Scope, epoch int, n int64) tensor.Tensor {
	if c.Config.MiniBatchOrder != "random_once" {
		return c.Shuffle(s, n)
	}
	if epoch == 0 {
		tensor.Free(c.order)
		c.order = s.Keep(c.Shuffle(s, n))
	}
	return c.order
}

// byEnvironment returns the indices of t × n rows, stored step by step with n environments a step, in the order
// environment by environment.
func byEnvironment(s *tensor.Scope, t, n int64) tensor.Tensor {
	return s.Reshape(s.Transpose(s.Reshape(s.Arange(t*n), t, n), 0, 1), t*n)
}
