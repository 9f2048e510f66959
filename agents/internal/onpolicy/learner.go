package onpolicy

import "github.com/gorl-dev/gorl/tensor"

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
