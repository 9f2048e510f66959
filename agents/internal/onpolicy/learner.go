package onpolicy

import (
	"cmp"
	"context"
	"runtime"

	"github.com/gorl-dev/gorl/schedulers"
	"github.com/gorl-dev/gorl/tensor"
)

// Learner makes updates. An update is all or nothing: Attempt copies what it changes, and puts that back if the update
// fails, diverges or is cancelled. That is parameters, optimizers, schedule, scalers, the fields of the rollout that it
// overwrites, and random sequences.
type Learner struct {
	*Core
	*Rates
	*Batches
	// Fetched is what an [Overlap] has asked the environment for, for the next update. Otherwise it is nil.
	Fetched []float32
	// NoReplays switches off graphs.go. Tests set it if they give each minibatch rows of their own.
	NoReplays bool

	optimizers []named[*tensor.Optimizer]
	undo       []func(s *tensor.Scope)
	statistics []tensor.Tensor // those of all scalers when the update began, one after the other
	rewards    tensor.Tensor   // the rollout's when the update began
	none       tensor.Tensor   // a scalar 0, the figure of a loss that is off
	stdDev     tensor.Tensor   // the latest mean standard deviation of actions
	hasStdDev  bool            // whether there was any
	gradients  *gradientScaler // with mixed precision in float16, otherwise nil
	graphs     *graphs         // recorded minibatches; nil if none can be
	outliers   outlierCheck
}

func newLearner(c *Core) *Learner {
	l := &Learner{Core: c, Rates: &Rates{Core: c}, none: c.resident.Zeros(), stdDev: c.resident.Zeros(),
		outliers: outlierCheck{c, map[string]bool{}}}
	l.Batches = &Batches{Core: c, Shuffle: func(s *tensor.Scope, n int64) tensor.Tensor { return s.RandPerm(c.Gen, n) }}
	if c.Precision == tensor.Float16 {
		l.gradients = newGradientScaler()
	}
	return l
}

// close releases what only the learner holds. It may be called twice.
func (c *Learner) close() {
	for _, o := range c.optimizers {
		o.of.Close()
	}
	c.graphs.close()
	tensor.Free(c.order)
}

// Attempt makes an update. It calls update with a scope that lives until update returns. It returns an error if the
// rollout is not complete. If update returns an error, Attempt undoes everything that update has changed.
//
// Attempt keeps the goroutine on one thread of the operating system. libtorch numbers the nodes of a graph by thread
// and runs the backward pass in the order of these numbers. A goroutine that changed threads during a minibatch would
// add gradients up in another order, and runs would not be reproducible.
func (c *Learner) Attempt(ctx context.Context, update func(s *tensor.Scope) error) error {
	if err := c.checkReady(ctx); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return c.stream.Do(func() error {
		s := tensor.NoGrad().On(c.Device).Layers(c.Precision)
		defer s.Close()
		c.keepState(s)
		if err := s.Err(); err != nil {
			return err
		}
		c.evaluateBefore(s)
		err := s.Err()
		if err == nil {
			err = update(s)
		}
		err = cmp.Or(err, c.graphs.drop())
		if err != nil {
			c.rollback()
		}
		return err
	})
}

// keepState copies everything that an update changes, so that rollback can undo an update that diverges, fails or is
// cancelled. The copies live as long as scope s; errors are the scope's.
func (c *Learner) keepState(s *tensor.Scope) {
	c.undo = nil
	c.Keep(s, c.Flat.Values)
	for _, o := range c.optimizers {
		c.Keep(s, o.of.ExpAvg, o.of.ExpAvgSq)
		steps := o.of.Steps
		c.OnRollback(func(*tensor.Scope) { o.of.Steps = steps })
	}
	c.rewards = c.Keep(s, c.Rollout.Tensor("rewards"), c.Rollout.Tensor("values"))[0]
	c.statistics = c.Keep(s, c.allStatistics()...)
	for _, f := range c.distributionFields() {
		c.Keep(s, c.Rollout.Tensor(f.Name))
	}
	generator, err := c.Gen.State()
	s.Fail(err)
	pcg, err := c.pcg.MarshalBinary()
	s.Fail(err)
	// No error is possible in what follows: these are the agent's own states when the update began.
	c.OnRollback(func(*tensor.Scope) {
		_ = c.Gen.SetState(generator)
		_ = c.pcg.UnmarshalBinary(pcg)
	})
	if c.Scheduler != nil {
		schedule := c.Scheduler.State()
		c.OnRollback(func(*tensor.Scope) {
			_ = c.Scheduler.Restore(schedule)
			c.ApplyRates()
		})
	}
	if c.Group.Several() {
		s.Fill(c.flags, 0)
	}
	if c.gradients != nil {
		was := *c.gradients
		c.OnRollback(func(*tensor.Scope) { *c.gradients = was })
	}
}

// Keep copies tensors that the update in progress changes, so that rollback puts them back, and returns the copies.
func (c *Learner) Keep(s *tensor.Scope, tensors ...tensor.Tensor) (was []tensor.Tensor) {
	for _, x := range tensors {
		before := s.Clone(x)
		if was = append(was, before); s.Err() == nil {
			c.OnRollback(func(undo *tensor.Scope) { undo.Copy(x, before) })
		}
	}
	return was
}

// rollback restores what keepState copied. The agent is as it was, its random sequences included, and the update
// can be tried again.
func (c *Learner) rollback() {
	s := tensor.NoGrad()
	defer s.Close()
	for _, f := range c.undo {
		f(s)
	}
	c.seenKL, c.undo = c.seenKL[:0], nil
}

// OnRollback adds f to what undoes the update in progress. An algorithm calls it for what it changes itself. For
// tensors it calls Keep.
func (c *Learner) OnRollback(f func(s *tensor.Scope)) { c.undo = append(c.undo, f) }

// Wait implements [agents.Overlapping]: an update has ended when Update returns.
func (c *Learner) Wait(context.Context) error { return nil }

// checkReady returns why an update cannot begin: the rollout is not complete, or the context is done.
func (c *Learner) checkReady(ctx context.Context) error {
	if !c.Ready() {
		return c.errorf("Update before the rollout's %d timesteps are complete; call it when Ready", c.Config.Rollouts)
	}
	if curve, ok := c.Scheduler.(*schedulers.Curve); ok && !curve.Planned() {
		return c.errorf("\"learning_rate_scheduler_kwargs\" says auto, which is the length of the run, and it is not " +
			"known: give the trainer Timesteps, or the population TotalSteps; a training loop of one's own calls Plan")
	}
	return ctx.Err()
}
