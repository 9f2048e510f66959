package onpolicy

import (
	"cmp"
	"context"
	"iter"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/devicename"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Batch is a minibatch: n of the rollout's T·N environment steps, the same rows in every tensor.
type Batch struct {
	// Index counts the minibatches of the epoch from 0.
	Index int
	// Rows is how many there are to learn from.
	Rows int64
	// Inputs are observations (n, O) and states (n, S), standardised for the networks.
	Inputs models.Inputs
	// Actions is (n, A), as the policy drew them. The others are (n, 1): the log-probability of the actions when they
	// were drawn, the values predicted then and the returns, both standardised, and the normalised advantages. With
	// overlap the log-probability is that under the policy that the update begins with, and the advantages are weighed
	// (see weighAdvantages).
	Actions, LogProb, Values, Returns, Advantages tensor.Tensor
	// Raw is the observations (n, O) as they were observed, if Options.RawObservations asks for them. Fields holds the
	// rows of the algorithm's own fields (Field.Minibatch), by name.
	Raw    tensor.Tensor
	Fields map[string]tensor.Tensor

	// importance (n, 1) is w, by which Advantages are multiplied, with overlap; otherwise a zero Tensor.
	importance tensor.Tensor
	// order (n) says which rows of the rollout these are, and mean and stdDev (n, A) what the rollout has of the
	// distributions of their actions, if the closed form of the divergence needs it (gaussianDivergence).
	order, mean, stdDev tensor.Tensor
	// masks (n, K) says which actions were allowed; a zero Tensor if the spaces have no action mask. Of adds it to
	// what the policy reads.
	masks tensor.Tensor

	hidden map[string]models.Hidden // what networks with memory read in addition to Inputs, see Of
	// learned are the rows to learn from, if networks with memory read others as well; otherwise a zero Tensor. All
	// tensors but Inputs, Actions and masks have only these.
	learned tensor.Tensor
}

// Batches cuts the rollout into minibatches.
type Batches struct {
	*Core
	// Shuffle returns the numbers from 0 to n−1 in a random order, in which an epoch goes through the rollout's rows.
	// It is a field because tests of package agents replay recorded orders through it.
	Shuffle func(s *tensor.Scope, n int64) tensor.Tensor

	order tensor.Tensor // with mini_batch_order "random_once", the order of the rows in the present update
}

// MiniBatches returns how many minibatches a pass over the rollout has.
func (c *Batches) MiniBatches() int { return miniBatches(c.Config, c.numEnvs) }

// Minibatch learns from one minibatch b: losses and their gradients, computed in scope s, and one optimizer step. Its
// figures go to meter. It returns how far the policy has moved, a scalar that the learning rate may follow
// (Divergence), and whether it has moved too far, which ends the pass without a step (TooFar). What it asks of the
// device may be recorded and replayed for further minibatches (graphs.go).
type Minibatch func(s *tensor.Scope, b Batch, meter *Meter) (moved tensor.Tensor, stop bool, err error)

// Learn makes one pass over the rollout: it calls learn for each minibatch. It reports whether learn has ended the pass
// early. If minibatches are replayed, runPass makes the pass.
func (c *Learner) Learn(ctx context.Context, epoch int, meter *Meter, learn Minibatch) (stopped bool, err error) {
	if c.graphs.usable(c) {
		return false, c.graphs.runPass(ctx, c, epoch, meter, learn)
	}
	rows := tensor.NoGrad().On(c.Device) // a minibatch
	defer rows.Close()
	s := tensor.NewScope().On(c.Device).Layers(c.Precision) // what is computed of it
	defer s.Close()
	for b := range c.Epoch(rows, epoch) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		moved, stop, err := learn(s, b, meter)
		if stop || err != nil {
			return stop, err
		}
		if err := cmp.Or(s.Err(), c.Adapt(s, moved)); err != nil {
			return false, err
		}
		s.Reset()
		rows.Reset()
	}
	return false, rows.Err()
}

// runPass is Learn by graphs.
func (g *graphs) runPass(ctx context.Context, c *Learner, epoch int, meter *Meter, learn Minibatch) error {
	s := tensor.NoGrad().On(c.Device) // owns the order of the rows
	defer s.Close()
	order, spans := c.orderMinibatches(s, epoch)
	for i, span := range spans {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := g.graphFor(c, span.Len)
		if err != nil {
			return err
		}
		s.Copy(r.order, s.Narrow(order, 0, span.Start, span.Len))
		for _, o := range c.optimizers {
			o.Advance(s)
		}
		if err := s.Err(); err != nil {
			return err
		}
		moved, err := r.runMinibatch(c, i, meter, learn)
		if err != nil && !c.Device.IsCPU() {
			err = c.errorf("a minibatch with \"cuda_graphs\", which can be set to false: %w", err)
		}
		if err != nil {
			return err
		}
		if err := c.Adapt(s, moved); err != nil {
			return err
		}
	}
	return s.Err()
}

// runMinibatch makes a minibatch of the rows in order. It computes the first as usual, records and replays the
// second, and replays the others.
func (r *recorded) runMinibatch(c *Learner, index int, meter *Meter, learn Minibatch) (moved tensor.Tensor, err error) {
	whole := func() (err error) {
		b := c.gather(r.rows, r.order, index, 1)
		if err := r.rows.Err(); err != nil {
			return err
		}
		moved, _, err = learn(r.learning, b, meter)
		return err
	}
	if r.moved.T != nil {
		meter.count++
		devicename.Replays.Add(1)
		return r.moved, r.graph.Replay()
	}
	r.rows.Reset()
	r.learning.Reset()
	if !r.warm || c.graphs.off {
		r.warm = true
		err = r.graph.WarmUp(r.learning, whole)
		return moved, err
	}
	if err = r.graph.Capture(r.learning, whole); err != nil {
		return moved, err
	}
	if !r.graph.Recorded() {
		c.graphs.off = true
		return moved, nil
	}
	r.moved = moved
	if c.Device.IsCPU() { // where a capture has done what it recorded
		return moved, nil
	}
	return moved, r.graph.Replay()
}

// Epoch yields the minibatches of one pass over the rollout; their tensors belong to scope s. mini_batch_order says
// whether the rows are shuffled in each epoch, shuffled once an update, or ordered by environment. Every epoch uses
// all rows. The observation scaler does not change meanwhile (see learnScales), so the ratio of the first minibatch
// is exactly one. If networks have memory, minibatches are made of whole sequences. A minibatch of sequences without a
// row to learn from is passed over.
func (c *Batches) Epoch(s *tensor.Scope, epoch int) iter.Seq[Batch] {
	return func(yield func(Batch) bool) {
		pass := tensor.NoGrad().On(c.Device) // owns the order of the rows
		defer pass.Close()
		order, spans := c.orderMinibatches(pass, epoch)
		for i, span := range spans {
			b := c.gather(s, s.Narrow(order, 0, span.Start, span.Len), i, epoch)
			if s.Err() != nil || b.Rows > 0 && !yield(b) {
				return
			}
		}
		s.Fail(pass.Err())
	}
}

// gather returns the minibatch of the rows of the rollout that order lists, or of its sequences if networks have
// memory. In the first epoch of skrl the scalers learn from the rows before they standardise them.
func (c *Batches) gather(s *tensor.Scope, order tensor.Tensor, index, epoch int) Batch {
	rows := order
	if len(c.hiddens) > 0 {
		rows = c.sequenceRows(s, order)
	}
	if s.Err() != nil {
		return Batch{}
	}
	b := c.batch(func(field string) tensor.Tensor { return s.IndexSelect(c.Rollout.Rows(field), 0, rows) })
	b.Index, b.Rows, b.order = index, tensor.Size(rows, 0), rows
	if len(c.hiddens) > 0 {
		if c.addSequences(s, &b, order); b.Rows == 0 {
			return b
		}
	}
	in := &b.Inputs
	if c.Config.Skrl() && epoch == 0 {
		in.Observations = c.obsRows.Float32(s, in.Observations)
		c.ObservationScaler.Learn(s, in.Observations)
		if in.States.T != nil {
			in.States = c.stateRows.Float32(s, in.States)
			c.StateScaler.Learn(s, in.States)
		}
	}
	b.Inputs = c.Inputs(s, in.Observations, in.States)
	b.Advantages = c.weighAdvantages(s, b)
	return b
}

// batch returns rows of the rollout, those of each field as rows returns them. The inputs are not standardised.
func (c *Batches) batch(rows func(field string) tensor.Tensor) Batch {
	all := Batch{Actions: rows("actions"), LogProb: rows("log_prob"), Values: rows("values"), Returns: rows("returns")}
	all.Advantages, all.Inputs.Observations = rows("advantages"), rows("observations")
	if c.spaces.State.Width() > 0 {
		all.Inputs.States = rows("states")
	}
	if c.spaces.ActionMask.Width() > 0 {
		all.masks = rows("action_masks")
	}
	if c.raw {
		all.Raw = rows("observations")
	}
	for _, f := range c.fields {
		if f.Minibatch {
			if all.Fields == nil {
				all.Fields = map[string]tensor.Tensor{}
			}
			all.Fields[f.Name] = rows(f.Name)
		}
	}
	if c.Config.Overlap {
		all.LogProb, all.importance = rows("log_prob_before"), rows("importance")
	}
	if c.distributions {
		all.mean, all.stdDev = rows("mean"), rows("std_dev")
	}
	return all
}

// keepRows leaves the rows with the given numbers to learn from, all if the numbers are a zero Tensor.
func (b *Batch) keepRows(s *tensor.Scope, rows tensor.Tensor) {
	if rows.T == nil || s.Err() != nil {
		return
	}
	b.learned, b.Rows = rows, tensor.Size(rows, 0)
	for _, t := range []*tensor.Tensor{&b.LogProb, &b.Values, &b.Returns, &b.Advantages, &b.Raw, &b.importance,
		&b.order, &b.mean, &b.stdDev} {
		*t = pickRows(s, *t, rows)
	}
	for name, t := range b.Fields {
		b.Fields[name] = pickRows(s, t, rows)
	}
}

// Learned returns the rows to learn from, out of what a network has computed for all rows of the minibatch. Networks
// with memory read further rows. A single row that stands for all, such as the entropy of a policy with one
// deviation, stays.
func (b Batch) Learned(s *tensor.Scope, out tensor.Tensor) tensor.Tensor {
	if b.learned.T == nil || out.T == nil || s.Err() != nil || tensor.Size(out, 0) != tensor.Size(b.Actions, 0) {
		return out
	}
	return s.IndexSelect(out, 0, b.learned)
}

// Of returns the inputs of a network, with the states from which its sequences begin if it has memory, and with the
// action masks, which policies apply.
func (b Batch) Of(network string) models.Inputs {
	in := b.Inputs
	in.Hidden, in.ActionMask = b.hidden[network], b.masks
	return in
}

// Evaluate returns the present policy's log-probabilities and entropies of a minibatch's actions, and the value
// network's predictions (n, 1), of the rows to learn from.
func (c *Learner) Evaluate(s *tensor.Scope, b Batch) (models.Evaluation, tensor.Tensor) {
	e, predicted := models.EvaluateBoth(s, c.Policy, c.Value, b.Of(layout.Policy), b.Of(layout.Value), b.Actions)
	e.LogProb, e.Entropy, e.Mean = b.Learned(s, e.LogProb), b.Learned(s, e.Entropy), b.Learned(s, e.Mean)
	if e.StdDev.T != nil && len(tensor.Shape(e.StdDev)) == 2 {
		e.StdDev = b.Learned(s, e.StdDev)
	}
	return e, b.Learned(s, predicted)
}

// orderMinibatches returns the order in which an epoch goes through the rollout's rows, or through its sequences if
// networks have memory, and the spans of its minibatches.
func (c *Batches) orderMinibatches(s *tensor.Scope, epoch int) (order tensor.Tensor, spans []memory.Span) {
	if len(c.hiddens) > 0 {
		return c.orderSequences(s, epoch)
	}
	if c.Config.Skrl20() { // the same consecutive rows in every epoch, without the remainder
		return s.Arange(c.rows()), memory.Chunks(c.rows(), int64(c.MiniBatches()))
	}
	if order = c.orderRows(s, epoch); s.Err() != nil {
		return order, nil
	}
	n := tensor.Size(order, 0)
	return order, memory.Split(n, min(n, int64(c.MiniBatches())))
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

// byEnvironment returns the indices of t × n rows, stored step by step with n environments a step, in the order
// environment by environment.
func byEnvironment(s *tensor.Scope, t, n int64) tensor.Tensor {
	return s.Reshape(s.Transpose(s.Reshape(s.Arange(t*n), t, n), 0, 1), t*n)
}
