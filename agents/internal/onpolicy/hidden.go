package onpolicy

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Networks with memory (models.Recurrent) read, beside a row, the state that they made of the rows before. This file
// keeps these states while acting, stores those from which the update begins its sequences, and hands out minibatches
// of whole sequences.

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

// remember finds the networks that have memory. A policy and a value network on one trunk have one between them. Only
// the policy and the critics may have it: a discriminator judges rows by themselves.
func (c *Core) remember() error {
	critics := map[string]bool{}
	for _, k := range c.critics {
		critics[k.Name] = true
	}
	for _, n := range c.networks {
		size := models.HiddenSize(n.Network)
		switch {
		case size == 0:
		case n.Name != layout.Policy && !critics[n.Name]:
			return fmt.Errorf("%s: the %s network keeps a state from row to row, "+
				"and is shown rows in any order; give its recurrent layers \"frames\"",
				strings.ToLower(c.name), n.Name)
		case n.Name == layout.Value && c.joined:
		default:
			if _, ok := n.Network.(models.RecurrentPolicy); n.Name == layout.Policy && !ok {
				return fmt.Errorf("%s: the policy %T has a HiddenSize, but is no models.RecurrentPolicy",
					strings.ToLower(c.name), n.Network)
			}
			c.hiddens = append(c.hiddens, &hidden{name: n.Name, size: int64(size)})
		}
	}
	return nil
}

// hiddenOf is the memory that a network reads, nil where it has none.
func (c *Core) hiddenOf(network string) *hidden {
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
func (c *Core) HiddenSizes() map[string]int {
	sizes := map[string]int{}
	for _, h := range c.hiddens {
		sizes[h.name] = int(h.size)
	}
	return sizes
}

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
	l, parts := c.sequence(), c.Config.MiniBatches
	count := c.Config.Rollouts / l * n
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

// allocateHidden makes the states, which begin as zeros, and the rows with which the sequences begin: sequence
// q = i·N + e is the i-th of environment e.
func (c *Core) allocateHidden() {
	n, l := int64(c.numEnvs), int64(c.sequence())
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
		first := make([]int64, c.sequences())
		for q := range first {
			first[q] = int64(q)/n*l*n + int64(q)%n
		}
		c.firstRows = tensor.From(c.resident, first)
		c.alive = c.resident.Zeros(n, 1)
	}
}

// with returns the inputs of the network that has this memory, which may be nil.
func (h *hidden) with(in models.Inputs, state tensor.Tensor) models.Inputs {
	if h != nil {
		in.Hidden = models.Hidden{State: state}
	}
	return in
}

// sample draws actions while training; the policy's memory goes on with Record.
func (c *Core) sample(s *tensor.Scope, in models.Inputs) models.Action {
	h := c.hiddenOf(layout.Policy)
	if h == nil {
		return c.Policy.Sample(s, in, c.Gen)
	}
	a, next := c.Policy.(models.RecurrentPolicy).SampleHidden(s, h.with(in, h.now), c.Gen)
	s.Copy(h.after, next)
	return a
}

// evaluate returns the actions of an agent in evaluation, whose memory goes on at once.
func (c *Core) evaluate(s *tensor.Scope, in models.Inputs) tensor.Tensor {
	h := c.hiddenOf(layout.Policy)
	switch {
	case h == nil && c.sampling:
		return c.Policy.Sample(s, in, c.Gen).Executed
	case h == nil:
		return c.Policy.Mode(s, in)
	}
	p := c.Policy.(models.RecurrentPolicy)
	in = h.with(in, h.evaluation)
	var actions, next tensor.Tensor
	if c.sampling {
		var a models.Action
		a, next = p.SampleHidden(s, in, c.Gen)
		actions = a.Executed
	} else {
		actions, next = p.ModeHidden(s, in)
	}
	s.Copy(h.evaluation, next)
	return actions
}

// storeStates stores the states before the present step where a sequence begins with it.
func (c *Core) storeStates(s *tensor.Scope) {
	if t := c.Rollout.Len(); t%c.sequence() == 0 {
		for _, h := range c.hiddens {
			s.Copy(h.starts[t/c.sequence()], h.now)
		}
	}
}

// overwriteState repeats a mistake of skrl: from an agent's second transition on, what is stored for the policy
// is the state behind the step in the place of the one before it.
func (c *Core) overwriteState(s *tensor.Scope) {
	h, t := c.hiddenOf(layout.Policy), c.Rollout.Len()
	if c.Overwrites && h != nil && c.Timestep > 0 && t%c.sequence() == 0 {
		s.Copy(h.starts[t/c.sequence()], h.after)
	}
}

// goOn ends the step that Record completes: memories begin anew where an episode has ended, and go on elsewhere.
func (c *Core) goOn(s *tensor.Scope) {
	if len(c.hiddens) == 0 {
		return
	}
	terminated := c.Rollout.Row("terminated")
	cut := s.Max(terminated, c.Rollout.Row("truncated"))
	alive := s.ScalarSub(1, cut)
	for _, h := range c.hiddens {
		s.Copy(h.now, s.Mul(h.after, alive))
	}
	if c.Overwrites { // skrl 2.0's sequences in training go on behind a truncation
		cut = terminated
	}
	s.Copy(c.Rollout.Row("ended"), cut)
}

// forget begins the memories of an agent in evaluation anew in the environments whose episodes have ended.
func (c *Core) forget(t agents.Transition) error {
	if len(c.hiddens) == 0 || c.numEnvs == 0 {
		return nil
	}
	if err := errors.Join(
		c.checkRows("terminated flags", len(t.Terminated), 1), c.checkRows("truncated flags", len(t.Truncated), 1),
	); err != nil {
		return err
	}
	for i := range c.flags {
		c.flags[i] = 1
		if t.Terminated[i] || t.Truncated[i] {
			c.flags[i] = 0
		}
	}
	if err := tensor.Write(c.alive, c.flags); err != nil {
		return err
	}
	s := c.step
	s.Reset()
	for _, h := range c.hiddens {
		s.Copy(h.evaluation, s.Mul(h.evaluation, c.alive))
	}
	return s.Err()
}

// ResetHidden begins memories anew, all or those of the given environments: those of evaluation where the agent is in
// evaluation, otherwise those of training, in which case the step recorded last counts as the end of what the networks
// remember.
func (c *Core) ResetHidden(environments ...int) {
	if len(c.hiddens) == 0 || c.numEnvs == 0 {
		return
	}
	ends := make([]float32, c.numEnvs)
	for i := range ends {
		if len(environments) == 0 || slices.Contains(environments, i) {
			ends[i] = 1
		}
	}
	s := tensor.NoGrad().On(c.Device)
	defer s.Close()
	cut := tensor.From(s, ends, int64(c.numEnvs), 1)
	anew := func(x tensor.Tensor) { s.Copy(x, s.Where(s.GtScalar(cut, 0.5), s.Zeros(1, 1), x)) }
	for _, h := range c.hiddens {
		if c.training {
			anew(h.now)
		} else {
			anew(h.evaluation)
		}
	}
	if n := c.Rollout.Len(); c.training && n > 0 {
		row := c.Rollout.At("ended", n-1)
		s.Copy(row, s.Max(row, cut))
	}
}

// wholeSequences yields minibatches of whole sequences, in an order that is drawn anew for each epoch; each has about
// equally many. The rows of a minibatch are time-major. skrl, 2.1 too, takes the sequences environment by environment, in
// the same order in every epoch, and steps by themselves in the order of time.
func (c *Core) wholeSequences(s *tensor.Scope, epoch int, extra []string) iter.Seq[Batch] {
	n, l, count := int64(c.numEnvs), int64(c.sequence()), int64(c.sequences())
	spans := memory.Split(count, int64(c.Config.MiniBatches))
	var order tensor.Tensor // of sequences
	switch {
	case !c.Config.Skrl():
		order = c.Shuffle(s, count)
	case l == 1:
		order, spans = s.Arange(count), memory.Chunks(count, int64(c.Config.MiniBatches))
	default:
		order = s.Reshape(s.Transpose(s.Reshape(s.Arange(count), count/n, n), 0, 1), count)
	}
	// The rows of each minibatch, step by step.
	first := s.IndexSelect(c.firstRows, 0, order)
	steps := make([]int64, l)
	for t := range steps {
		steps[t] = int64(t) * n
	}
	offsets := tensor.From(s, steps, l, 1)
	parts := make([]tensor.Tensor, len(spans))
	for i, span := range spans {
		parts[i] = s.Reshape(s.Add(offsets, s.Narrow(first, 0, span.Start, span.Len)), span.Len*l)
	}
	rows := s.Cat(0, parts...)
	pick := func(name string) tensor.Tensor { return s.IndexSelect(c.Rollout.Rows(name), 0, rows) }
	all, ended := c.batch(pick, extra), pick("ended")
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
			switch {
			case c.Config.Skrl():
				b.Inputs = c.learnedInputs(s, own, epoch, b.Inputs)
			case c.packed():
				b.Inputs = c.unpacked(s, own, b.Inputs)
			}
			b.Advantages = c.normalise(s, b.Advantages, "minibatch")
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

// Of returns the inputs of a network, with the states from which its sequences begin where it has memory.
func (b Batch) Of(network string) models.Inputs {
	in := b.Inputs
	in.Hidden = b.hidden[network]
	return in
}
