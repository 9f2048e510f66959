package onpolicy

import (
	"cmp"
	"context"

	"github.com/gorl-dev/gorl/tensor"
)

// Learner makes updates.
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

// Minibatch learns from one minibatch b: losses and their gradients, computed in scope s, and one optimizer step. Its
// figures go to meter. It returns how far the policy has moved, a scalar that the learning rate may follow
// (Divergence), and whether it has moved too far, which ends the pass without a step (TooFar). What it asks of the
// device may be recorded and replayed for further minibatches (graphs.go).
type Minibatch func(s *tensor.Scope, b Batch, meter *Meter) (moved tensor.Tensor, stop bool, err error)

// Learn makes one pass over the rollout: it calls learn for each minibatch. It reports whether learn has ended the pass
// early.
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
