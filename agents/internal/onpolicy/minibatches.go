package onpolicy

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/agents"
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

// Epoch yields the minibatches of one pass over the rollout; their tensors belong to scope s. mini_batch_order says
// whether the rows are shuffled in each epoch, shuffled once an update, or ordered by environment. Every epoch uses
// all rows. The observation scaler does not change meanwhile (see learnScales), so the ratio of the first minibatch
// is exactly one. If networks have memory, minibatches are made of whole sequences. In skrl the scalers learn from each
// minibatch of the first epoch as it comes.
func (c *Batches) Epoch(s *tensor.Scope, epoch int) iter.Seq[Batch] {
	order, spans := c.orderMinibatches(s, epoch)
	if len(c.hiddens) > 0 {
		return c.sequenceBatches(s, order, spans, epoch)
	}
	all := c.batch(s, func(field string) tensor.Tensor { return pickRows(s, c.Rollout.Rows(field), order) })
	all.order = order
	return c.divide(s, epoch, all, spans, func(*Batch, int) {})
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

// divide cuts all into the given spans of its rows. finish completes each minibatch; one that it leaves without rows is
// passed over.
func (c *Batches) divide(s *tensor.Scope, epoch int, all Batch, spans []memory.Span,
	finish func(b *Batch, index int)) iter.Seq[Batch] {
	each := c.Config.Skrl() || c.packed() // one minibatch's inputs at a time
	if !each {
		all.Inputs = c.Inputs(s, all.Inputs.Observations, all.Inputs.States)
	}
	return func(yield func(Batch) bool) {
		own, done := c.batchScope(s)
		defer done()
		for i, span := range spans {
			b := all.rows(s, i, span)
			if finish(&b, i); b.Rows == 0 {
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

// batchScope returns the scope that a minibatch's float rows belong to. It is s, or, if rows are kept as bytes, a
// scope that is reset for each minibatch, so that only one minibatch of pictures is in float32 at a time.
func (c *Batches) batchScope(s *tensor.Scope) (own *tensor.Scope, done func()) {
	if !c.packed() {
		return s, func() {}
	}
	own = tensor.NoGrad().On(c.Device)
	return own, own.Close
}

// inputs standardises the raw rows of a minibatch in scope own (see batchScope). In the first epoch of skrl the scalers
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
	if own != s {
		s.Fail(own.Err())
	}
	return in
}

// batch returns all rows of the rollout, each field as rows returns it. The inputs are not standardised.
func (c *Batches) batch(s *tensor.Scope, rows func(field string) tensor.Tensor) Batch {
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

// rows cuts a span of rows out of every tensor of b. The parts share its memory.
func (b Batch) rows(s *tensor.Scope, index int, span memory.Span) Batch {
	b.Index, b.Rows = index, span.Len
	b.mapTensors(func(t tensor.Tensor) tensor.Tensor { return s.Narrow(t, 0, span.Start, span.Len) },
		append(b.outcomes(), &b.Actions, &b.masks, &b.Inputs.Observations, &b.Inputs.States)...)
	return b
}

// keepRows leaves the rows with the given numbers to learn from, all if the numbers are a zero Tensor.
func (b *Batch) keepRows(s *tensor.Scope, rows tensor.Tensor) {
	if rows.T == nil || s.Err() != nil {
		return
	}
	b.learned, b.Rows = rows, tensor.Size(rows, 0)
	b.mapTensors(func(t tensor.Tensor) tensor.Tensor { return s.IndexSelect(t, 0, rows) }, b.outcomes()...)
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

// miniBatches returns how many minibatches a pass over a rollout of numEnvs environments has.
func miniBatches(c *agents.OnPolicy, numEnvs int) int {
	if c.MiniBatchSize > 0 {
		return c.Rollouts * numEnvs / c.MiniBatchSize
	}
	return c.MiniBatches
}

// checkMiniBatches refuses minibatches that do not divide a rollout of numEnvs environments.
func checkMiniBatches(c *agents.OnPolicy, numEnvs int) error {
	rows := math.MaxInt // environment steps of a rollout; so many do not fit into memory
	if c.Rollouts <= math.MaxInt/numEnvs {
		rows = c.Rollouts * numEnvs
	}
	if rows < 2 && c.AdvantageNormalization == "rollout" {
		return fmt.Errorf("a rollout of 1 step of 1 environment has no deviation to normalise advantages by; " +
			"raise \"rollouts\" or the number of environments, or set \"advantage_normalization\" to \"none\"")
	}
	if m := c.MiniBatchSize; m > 0 && rows < math.MaxInt && rows%m != 0 {
		return fmt.Errorf("\"mini_batch_size\" is %d, which does not divide the %d rows of a rollout "+
			"(\"rollouts\" %d × %d environments)", m, rows, c.Rollouts, numEnvs)
	}
	if c.MiniBatchSize == 0 && c.MiniBatches > rows {
		return fmt.Errorf("\"mini_batches\" is %d, but a rollout has only %d rows (\"rollouts\" %d × %d "+
			"environments), and no minibatch may be empty", c.MiniBatches, rows, c.Rollouts, numEnvs)
	}
	return nil
}

// checkSequences refuses minibatches that cannot be made of whole sequences of n environments.
func (c *Core) checkSequences(n int) error {
	if len(c.hiddens) == 0 {
		return nil
	}
	l, parts := c.length, miniBatches(c.Config, n)
	count := c.Config.Rollouts / l * n
	if m := c.Config.MiniBatchSize; m%l != 0 {
		return fmt.Errorf("\"mini_batch_size\" is %d, which is no multiple of the %d timesteps of a sequence "+
			"(\"sequence_length\"): with networks that have memory minibatches are made of whole sequences", m, l)
	}
	if parts > count {
		return fmt.Errorf("\"mini_batches\" is %d, but a rollout has only %d sequences "+
			"(%d of %d timesteps, \"sequence_length\", in each of %d environments), and no minibatch may be empty",
			parts, count, c.Config.Rollouts/l, l, n)
	}
	if c.Config.Skrl() && l > 1 && count%parts != 0 {
		return fmt.Errorf("\"mini_batches\" is %d, which does not divide the %d sequences of a rollout "+
			"(\"sequence_length\" %d, %d environments), as compatibility %q asks", parts, count, l, n,
			c.Config.Compatibility)
	}
	return nil
}
