package onpolicy

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

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
	rows := tensor.NoGrad().On(c.Device) // the minibatches: they live as long as the pass
	defer rows.Close()
	if c.graphs.usable(c) {
		return false, c.graphs.runPass(ctx, rows, c, epoch, meter, learn)
	}
	s := tensor.NewScope().On(c.Device).Layers(c.Precision) // what is computed of one minibatch
	defer s.Close()
	for b := range c.Epoch(rows, epoch) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		s.Reset()
		moved, stop, err := learn(s, b, meter)
		if stop || err != nil {
			return stop, err
		}
		if err := cmp.Or(s.Err(), c.Adapt(s, moved)); err != nil {
			return false, err
		}
	}
	return false, rows.Err()
}

// runPass makes one pass over the rollout by graphs. s owns the order of the rows.
func (g *graphs) runPass(ctx context.Context, s *tensor.Scope, c *Learner, epoch int, meter *Meter,
	learn Minibatch) error {
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
			o.of.Advance(s)
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

// runMinibatch makes a minibatch of the rows in order. On a device it computes the first as usual, and records and
// replays the second. On the CPU it records the first while it computes it. It replays the others.
func (r *recorded) runMinibatch(c *Learner, index int, meter *Meter, learn Minibatch) (moved tensor.Tensor, err error) {
	whole := func() (err error) {
		for b := range c.divide(r.rows, r.rows, r.order, []memory.Span{{Len: r.size}}, 1) {
			b.Index = index
			moved, _, err = learn(r.learning, b, meter)
		}
		return cmp.Or(r.rows.Err(), err)
	}
	if r.moved.T != nil {
		meter.count++
		devicename.Replays.Add(1)
		return r.moved, r.graph.Replay()
	}
	r.rows.Reset()
	r.learning.Reset()
	if c.graphs.off || !r.warm && !c.Device.IsCPU() {
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
	if c.Device.IsCPU() { // Capture has computed the minibatch already
		return moved, nil
	}
	return moved, r.graph.Replay()
}

// Epoch yields the minibatches of one pass over the rollout; their tensors belong to scope s. mini_batch_order says
// whether the rows are shuffled in each epoch, shuffled once an update, or ordered by environment. Every epoch uses
// all rows. The observation scaler does not change meanwhile (see learnScales), so the ratio of the first minibatch
// is exactly one. If networks have memory, minibatches are made of whole sequences. In skrl the scalers learn from each
// minibatch of the first epoch as it comes.
func (c *Batches) Epoch(s *tensor.Scope, epoch int) iter.Seq[Batch] {
	order, spans := c.orderMinibatches(s, epoch)
	return c.divide(s, nil, order, spans, epoch)
}

// divide yields a minibatch for each span of the rows of the rollout in the given order (a zero Tensor for the order of
// time), or of its sequences if networks have memory. One without rows to learn from is passed over. The tensors belong
// to s. If rows are kept as bytes, the float rows of a minibatch belong to own. If own is nil, divide makes a scope
// that is reset for each minibatch, so that only one minibatch of pictures is in float32 at a time.
func (c *Batches) divide(s, own *tensor.Scope, order tensor.Tensor, spans []memory.Span, epoch int) iter.Seq[Batch] {
	return func(yield func(Batch) bool) {
		switch {
		case own == nil && c.packed():
			own = tensor.NoGrad().On(c.Device)
			defer own.Close()
		case own == nil:
			own = s
		}
		all, length := c.gather(s, order, spans)
		each := c.Config.Skrl() || c.packed() // one minibatch's inputs at a time
		if !each {
			all.Inputs = c.Inputs(s, all.Inputs.Observations, all.Inputs.States)
		}
		for i, span := range spans {
			b := all
			if b.Index, b.Rows = i, span.Len*length; len(spans) > 1 {
				b.cut(s, span, length)
			}
			c.leaveLearnable(s, &b)
			if b.Rows == 0 {
				continue
			}
			if each {
				b.Inputs = c.inputs(s, own, epoch, b.Inputs)
			}
			b.Advantages = c.weighAdvantages(s, b)
			if s.Err() != nil || !yield(b) {
				return
			}
		}
	}
}

// gather returns the rows that divide makes minibatches of, not standardised, and the number of rows of a sequence. It
// is 1 if no network has memory.
func (c *Batches) gather(s *tensor.Scope, order tensor.Tensor, spans []memory.Span) (all Batch, length int64) {
	rows, length := order, int64(1)
	if len(c.hiddens) > 0 {
		rows, length = c.sequenceRows(s, order, spans), int64(c.length)
	}
	all = c.batch(func(field string) tensor.Tensor { return pickRows(s, c.Rollout.Rows(field), rows) })
	if all.order = rows; len(c.hiddens) > 0 {
		all.hidden = c.readHidden(s, order, rows)
	}
	return all, length
}

// batch returns rows of the rollout, those of each field as rows returns them. The inputs are not standardised.
func (c *Batches) batch(rows func(field string) tensor.Tensor) Batch {
	ifAny := func(field string) tensor.Tensor { return c.ifAny(field, rows) }
	all := Batch{Inputs: models.Inputs{Observations: rows("observations"), States: ifAny("states")},
		Actions: rows("actions"), LogProb: rows("log_prob"), Values: rows("values"), Returns: rows("returns"),
		Advantages: rows("advantages"), Fields: map[string]tensor.Tensor{}, masks: ifAny("action_masks"),
		importance: ifAny("importance"), mean: ifAny("mean"), stdDev: ifAny("std_dev")}
	if c.raw {
		all.Raw = rows("observations")
	}
	for _, f := range c.fields {
		if f.Minibatch {
			all.Fields[f.Name] = rows(f.Name)
		}
	}
	if c.Config.Overlap {
		all.LogProb = rows("log_prob_before")
	}
	return all
}

// inputs standardises the raw rows of a minibatch in scope own (see divide). In the first epoch of skrl the scalers
// learn from them first.
func (c *Batches) inputs(s, own *tensor.Scope, epoch int, raw models.Inputs) models.Inputs {
	if own != s {
		own.Reset()
	}
	obs, state := raw.Observations, raw.States
	if c.Config.Skrl() && epoch == 0 {
		obs = c.obsRows.Float32(own, obs)
		c.ObservationScaler.Learn(s, obs)
		if state.T != nil {
			state = c.stateRows.Float32(own, state)
			c.StateScaler.Learn(s, state)
		}
	}
	in := c.Inputs(own, obs, state)
	s.Fail(own.Err())
	return in
}

// cut leaves a span of b's rows or, if networks have memory, of its sequences, each of length rows. The tensors that
// remain are views of the ones before.
func (b *Batch) cut(s *tensor.Scope, span memory.Span, length int64) {
	narrow := func(t tensor.Tensor) tensor.Tensor { return s.Narrow(t, 0, span.Start*length, span.Len*length) }
	b.mapTensors(narrow, append(b.outcomes(), &b.Actions, &b.masks, &b.Inputs.Observations, &b.Inputs.States)...)
	b.hidden = maps.Clone(b.hidden)
	for name, h := range b.hidden {
		h.State, h.Ended = s.Narrow(h.State, 0, span.Start, span.Len), narrow(h.Ended)
		b.hidden[name] = h
	}
}

// outcomes lists the tensors of b that have only the rows to learn from, except Fields.
func (b *Batch) outcomes() []*tensor.Tensor {
	return []*tensor.Tensor{&b.LogProb, &b.Values, &b.Returns, &b.Advantages, &b.Raw, &b.importance, &b.order,
		&b.mean, &b.stdDev}
}

// mapTensors replaces the given tensors of b, and those in a copy of its Fields, by what f returns for them. It skips
// zero Tensors.
func (b *Batch) mapTensors(f func(tensor.Tensor) tensor.Tensor, list ...*tensor.Tensor) {
	for _, t := range list {
		if t.T != nil {
			*t = f(*t)
		}
	}
	fields := maps.Clone(b.Fields)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		fields[name] = f(fields[name])
	}
	b.Fields = fields
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
