package onpolicy

import (
	"runtime"

	"github.com/gorl-dev/gorl/tensor"
)

// OneThread keeps the caller on one thread of the operating system until it calls what is returned. libtorch numbers the
// nodes of a graph by thread and runs the backward pass in the order of the numbers: a goroutine that moved on in
// the middle of a minibatch would add gradients up in another order, and no two runs would be quite the same.
func OneThread() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// Begin remembers parameters, moments and whatever else an update changes, so that Rollback can undo one that diverges
// or is cancelled. What it remembers lives as long as scope s.
func (c *Core) Begin(s *tensor.Scope) {
	s.Copy(c.backup, c.Flat.Values)
	for i := range c.optimizers {
		o := &c.optimizers[i]
		s.Copy(o.avg, o.ExpAvg)
		s.Copy(o.avgSq, o.ExpAvgSq)
		o.steps = o.Steps
	}
	c.remember(s)
}

// Rollback undoes what happened since Begin: the agent stands as it did, its random sequences included.
func (c *Core) Rollback() {
	s := tensor.NoGrad()
	defer s.Close()
	s.Copy(c.Flat.Values, c.backup)
	for _, o := range c.optimizers {
		s.Copy(o.ExpAvg, o.avg)
		s.Copy(o.ExpAvgSq, o.avgSq)
		o.Steps = o.steps
	}
	c.forget(s)
}

// undo is what an update changes beside parameters and moments, as it was when the update began. Its tensors belong to
// the update's scope.
type undo struct {
	generator, pcg  []byte
	schedule        map[string]float64
	statistics      [][3]tensor.Tensor // of each scaler: mean, variance, count
	rewards, values tensor.Tensor      // an update writes over these
	extra           []func(s *tensor.Scope)
}

// remember fills undo. An error is the scope's.
func (c *Core) remember(s *tensor.Scope) {
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
	for _, x := range c.allScalers() {
		var copies [3]tensor.Tensor
		if x.RunningStandardScaler != nil {
			copies = [3]tensor.Tensor{s.Clone(x.Mean), s.Clone(x.Variance), s.Clone(x.Count)}
		}
		u.statistics = append(u.statistics, copies)
	}
	c.undo = u
}

// OnRollback adds f to what a Rollback of the update that Begin has begun does.
func (c *Core) OnRollback(f func(s *tensor.Scope)) { c.undo.extra = append(c.undo.extra, f) }

// forget brings back what remember has seen.
func (c *Core) forget(s *tensor.Scope) {
	u := c.undo
	s.Copy(c.Rollout.Tensor("rewards"), u.rewards)
	s.Copy(c.Rollout.Tensor("values"), u.values)
	for i, x := range c.allScalers() {
		if x.RunningStandardScaler != nil {
			s.Copy(x.Mean, u.statistics[i][0])
			s.Copy(x.Variance, u.statistics[i][1])
			s.Copy(x.Count, u.statistics[i][2])
		}
	}
	for _, f := range u.extra {
		f(s)
	}
	// These three were the agent's own state a moment ago, so they fit.
	_ = c.Gen.SetState(u.generator)
	_ = c.pcg.UnmarshalBinary(u.pcg)
	if c.Scheduler != nil {
		_ = c.Scheduler.Restore(u.schedule)
		c.ApplyRates()
	}
	c.seenKL = c.seenKL[:0]
	c.undo = undo{}
}
