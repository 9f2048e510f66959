package onpolicy

import (
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Networks with memory (models.Recurrent) read a row and the state that they made of the rows before. This file keeps
// the states while acting, and stores those from which an update begins its sequences (sequences.go).

// hiddenStates are the hidden states of an agent's recurrent networks.
type hiddenStates struct {
	hiddens   []*hidden
	joined    bool          // policy and value network share a trunk
	length    int           // L, the number of steps of a sequence
	firstRows tensor.Tensor // the rows with which the rollout's sequences begin
	stepRows  tensor.Tensor // (L, 1), how far behind them the sequences' steps are
}

// countBegun returns how many sequences of each environment n steps of a rollout have begun.
func (m *hiddenStates) countBegun(n int) int { return (n + m.length - 1) / m.length }

// countSequences returns how many sequences a rollout has.
func (c *Core) countSequences() int { return c.Config.Rollouts / c.length * c.numEnvs }

// hidden is the memory of one network: a row of its state an environment.
type hidden struct {
	name string // the network's
	size int64
	// now is the state before the next step of training, after the one behind the step that Act has taken and Record
	// completes, evaluation that of an agent in evaluation; all (N, size).
	now, after, evaluation tensor.Tensor
	// stored are the states before the first step of each sequence of the rollout, (T/L, N, size), and starts its
	// steps.
	stored tensor.Tensor
	starts []tensor.Tensor
}

// findMemories finds the networks that have memory. A policy and a value network on one trunk share one. Only the
// policy and the critics may have memory, because a discriminator judges rows one by one.
func (c *Core) findMemories(list []*Critic) error {
	critics := map[string]bool{}
	for _, k := range list {
		critics[k.Name] = true
	}
	for _, n := range c.networks {
		size := models.HiddenSize(n.Network)
		switch {
		case size == 0:
		case n.Name != layout.Policy && !critics[n.Name]:
			return c.errorf("the %s network keeps a state from row to row, "+
				"and is shown rows in any order; give its recurrent layers \"frames\"", n.Name)
		case n.Name == layout.Value && c.joined:
		default:
			if _, ok := n.Network.(models.RecurrentPolicy); n.Name == layout.Policy && !ok {
				return c.errorf("the policy %T has a HiddenSize, but is no models.RecurrentPolicy", n.Network)
			}
			c.hiddens = append(c.hiddens, &hidden{name: n.Name, size: int64(size)})
		}
	}
	return nil
}

// hiddenOf returns the memory that a network reads, or nil if it has none.
func (c *hiddenStates) hiddenOf(network string) *hidden {
	if network == layout.Value && c.joined {
		network = layout.Policy
	}
	for _, h := range c.hiddens {
		if h.name == network {
			return h
		}
	}
	return nil
}

// HiddenSizes returns the widths of the networks' states, by network; those without memory are left out.
func (c *hiddenStates) HiddenSizes() map[string]int {
	sizes := map[string]int{}
	for _, h := range c.hiddens {
		sizes[h.name] = int(h.size)
	}
	return sizes
}

// allocateHidden makes the states, which start as zeros, and the first rows of the sequences. Sequence q = i·N + e is
// the i-th one of environment e.
func (c *Core) allocateHidden() {
	n, l := int64(c.numEnvs), int64(c.length)
	for _, h := range c.hiddens {
		for _, x := range []*tensor.Tensor{&h.now, &h.after, &h.evaluation} {
			*x = c.resident.Zeros(n, h.size)
		}
		h.stored = c.resident.Zeros(int64(c.Config.Rollouts)/l, n, h.size)
		if c.resident.Err() != nil {
			return
		}
		for i := range tensor.Size(h.stored, 0) {
			h.starts = append(h.starts, c.resident.Select(h.stored, 0, i))
		}
	}
	if len(c.hiddens) > 0 {
		first := make([]int64, c.countSequences())
		for q := range first {
			first[q] = int64(q)/n*l*n + int64(q)%n
		}
		steps := make([]int64, l)
		for t := range steps {
			steps[t] = int64(t) * n
		}
		c.firstRows, c.stepRows = tensor.From(c.resident, first), tensor.From(c.resident, steps, l, 1)
	}
}

// addState returns the inputs of the network that has this memory, which may be nil.
func (h *hidden) addState(in models.Inputs, state tensor.Tensor) models.Inputs {
	if h != nil {
		in.Hidden = models.Hidden{State: state}
	}
	return in
}

// storeStates stores the states before the present step if a sequence begins with it.
func (c *Collector) storeStates(s *tensor.Scope) {
	if t := c.Rollout.Len(); t%c.length == 0 {
		for _, h := range c.hiddens {
			s.Copy(h.starts[t/c.length], h.now)
		}
	}
}

// repeatMistake repeats a mistake of skrl: from an agent's second transition on it stores the policy's state after
// the step instead of the one before it.
func (c *Collector) repeatMistake(s *tensor.Scope) {
	h, t := c.hiddenOf(layout.Policy), c.Rollout.Len()
	if c.RepeatMemories && h != nil && c.Timestep > 0 && t%c.length == 0 {
		s.Copy(h.starts[t/c.length], h.after)
	}
}

// advanceMemories ends the step that Record completes. It clears memories where an episode has ended or the row shows
// no transition.
func (c *Collector) advanceMemories(s *tensor.Scope) {
	if len(c.hiddens) == 0 {
		return
	}
	terminated := c.Rollout.Row("terminated")
	cut := s.Max(terminated, c.Rollout.Row("truncated"))
	if c.delivery.invalid.Valid() {
		cut = s.Max(cut, c.delivery.invalid.Tensor(s))
	}
	alive := s.ScalarSub(1, cut)
	for _, h := range c.hiddens {
		s.Copy(h.now, s.Mul(h.after, alive))
	}
	if c.RepeatMemories { // skrl 2.0's sequences in training go on behind a truncation
		cut = terminated
	}
	s.Copy(c.Rollout.Row("ended"), cut)
}
