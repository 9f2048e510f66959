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

	optimizers []namedOptimizer
	segments   []tensor.Group  // the flat range of each network
	backup     tensor.Tensor   // the parameters when the update began
	undo       undo            // what else an update changes
	none       tensor.Tensor   // a scalar 0, the figure of a loss that is off
	stdDev     tensor.Tensor   // the latest mean standard deviation of actions
	hasStdDev  bool            // whether there was any
	gradients  *gradientScaler // with mixed precision in float16, otherwise nil
	graphs     *graphs         // recorded minibatches; nil if none can be
	outliers   outlierCheck
}

func newLearner(c *Core) *Learner {
	l := &Learner{Core: c, Rates: &Rates{Core: c}, none: c.resident.Zeros(), stdDev: c.resident.Zeros(),
		outliers: outlierCheck{Core: c}}
	l.Batches = &Batches{Core: c, Shuffle: func(s *tensor.Scope, n int64) tensor.Tensor { return s.RandPerm(c.Gen, n) }}
	if c.Precision == tensor.Float16 {
		l.gradients = newGradientScaler()
	}
	return l
}

// close releases what only the learner holds. It may be called twice.
func (c *Learner) close() {
	for _, o := range c.optimizers {
		o.Close()
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
	s.Copy(c.backup, c.Flat.Values)
	for i := range c.optimizers {
		o := &c.optimizers[i]
		s.Copy(o.avg, o.ExpAvg)
		s.Copy(o.avgSq, o.ExpAvgSq)
		o.steps = o.Steps
	}
	u := undo{rewards: s.Clone(c.Rollout.Tensor("rewards")), values: s.Clone(c.Rollout.Tensor("values"))}
	var err error
	if u.generator, err = c.Gen.State(); err != nil {
		s.Fail(err)
	}
	if u.pcg, err = c.pcg.MarshalBinary(); err != nil {
		s.Fail(err)
	}
	if c.Scheduler != nil {
		u.schedule = c.Scheduler.State()
	}
	for _, x := range c.allStatistics() {
		u.statistics = append(u.statistics, s.Clone(x))
	}
	c.undo = u
	for _, f := range c.distributionFields() {
		field := c.Rollout.Tensor(f.Name)
		was := s.Clone(field)
		c.OnRollback(func(undo *tensor.Scope) { undo.Copy(field, was) })
	}
	if c.Group.Several() {
		s.Fill(c.flags, 0)
	}
	if c.gradients != nil {
		was := *c.gradients
		c.OnRollback(func(*tensor.Scope) { *c.gradients = was })
	}
}

// rollback restores what keepState copied. The agent is as it was, its random sequences included, and the update
// can be tried again.
func (c *Learner) rollback() {
	s := tensor.NoGrad()
	defer s.Close()
	s.Copy(c.Flat.Values, c.backup)
	for _, o := range c.optimizers {
		s.Copy(o.ExpAvg, o.avg)
		s.Copy(o.ExpAvgSq, o.avgSq)
		o.Steps = o.steps
	}
	u := c.undo
	s.Copy(c.Rollout.Tensor("rewards"), u.rewards)
	s.Copy(c.Rollout.Tensor("values"), u.values)
	for i, x := range c.allStatistics() {
		s.Copy(x, u.statistics[i])
	}
	for _, f := range u.extra {
		f(s)
	}
	// No error is possible: these three were the agent's own state when the update began.
	_ = c.Gen.SetState(u.generator)
	_ = c.pcg.UnmarshalBinary(u.pcg)
	if c.Scheduler != nil {
		_ = c.Scheduler.Restore(u.schedule)
		c.ApplyRates()
	}
	c.seenKL = c.seenKL[:0]
	c.undo = undo{}
}

// undo holds what an update changes, except parameters and moments, as it was when the update began. Its tensors
// belong to the update's scope.
type undo struct {
	generator, pcg  []byte
	schedule        map[string]float64
	statistics      []tensor.Tensor // of all scalers, one after the other
	rewards, values tensor.Tensor   // fields of the rollout that an update overwrites
	extra           []func(s *tensor.Scope)
}

// OnRollback adds f to what undoes the update in progress. An algorithm calls it for what it changes itself.
func (c *Learner) OnRollback(f func(s *tensor.Scope)) { c.undo.extra = append(c.undo.extra, f) }

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
