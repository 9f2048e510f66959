package onpolicy

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// ValueLoss is E[(R − V)²], V kept within value_clip of its old prediction: the larger of the clipped and the unclipped
// loss counts, so that a prediction that has moved the wrong way is always pulled back. (skrl 2.0 takes the clipped one
// alone, whose gradient is zero outside the band on either side.)
func (c *Core) ValueLoss(s *tensor.Scope, predicted, old, returns tensor.Tensor) tensor.Tensor {
	kind := tensor.Pessimistic
	switch {
	case c.Config.ValueClip <= 0:
		kind = tensor.NoValueClip
	case c.Config.Skrl():
		kind = tensor.ClippedOnly
	}
	return s.ValueLoss(predicted, old, returns, c.Config.ValueClip, kind)
}

// EntropyLoss is −scale·E[H], H the entropy of the whole action. (skrl 2.0 averages it over the dimensions.)
func (c *Core) EntropyLoss(s *tensor.Scope, e models.Evaluation) (entropy, loss tensor.Tensor) {
	h := e.Entropy
	if c.Config.EntropyLossScale == 0 {
		h = s.Detach(h)
	}
	if !c.Config.Skrl() {
		h = s.Sum(h, -1)
	}
	entropy = s.Mean(h)
	return entropy, s.MulScalar(entropy, -c.Config.EntropyLossScale)
}

// Minimise makes one optimizer step down the gradient of loss.
func (c *Core) Minimise(s *tensor.Scope, loss tensor.Tensor) {
	c.Flat.ZeroGrad(s)
	s.Backward(loss)
	c.Optimizer.ClipGrad(s)
	c.Optimizer.Step(s)
}

// TooFar reports whether the divergence kl of a minibatch exceeds kl_threshold. Only then does it wait for the device.
func (c *Core) TooFar(s *tensor.Scope, kl tensor.Tensor) (bool, error) {
	if c.Config.KLThreshold <= 0 {
		return false, nil
	}
	if err := s.Err(); err != nil {
		return false, err
	}
	x, err := tensor.Item(kl)
	if err != nil {
		return false, err
	}
	c.seenKL = append(c.seenKL, x)
	return x > c.Config.KLThreshold, nil
}

// Schedule ends a learning epoch. A schedule that looks at the divergence steps once an epoch, by the mean over its
// minibatches (the one that stopped it included); others once an update (skrl 2.0: once an epoch, too).
func (c *Core) Schedule(meter *Meter, lastEpoch bool) {
	defer func() { c.seenKL = c.seenKL[:0] }()
	if c.Scheduler == nil {
		return
	}
	switch {
	case c.Scheduler.UsesKL():
		c.Scheduler.Step(c.epochKL(meter))
	case c.Config.Skrl() || lastEpoch:
		c.Scheduler.Step(math.NaN())
	}
	c.ApplyRates()
}

func (c *Core) epochKL(meter *Meter) float64 {
	if len(c.seenKL) == 0 {
		kl, err := meter.EpochMean("Policy / KL divergence")
		if err != nil {
			return math.NaN()
		}
		return kl
	}
	sum := 0.0
	for _, x := range c.seenKL {
		sum += x
	}
	return sum / float64(len(c.seenKL))
}

// CheckParameters refuses parameters that the last steps of an update have made infinite or no numbers.
func (c *Core) CheckParameters(s *tensor.Scope) error {
	sum := s.Sum(c.Flat.Values)
	if err := s.Err(); err != nil {
		return err
	}
	x, err := tensor.Item(sum)
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		err = &agents.DivergedError{Agent: c.name, Detail: fmt.Sprintf("the sum of all parameters is %g", x)}
	}
	return err
}

// Finish ends an update: the scalers learn from the rollout, which is then forgotten.
func (c *Core) Finish(s *tensor.Scope) error {
	if !c.Config.Skrl() {
		c.ObservationScaler.Update(s, c.Rollout.Rows("observations"))
		if c.spaces.State.Width() > 0 {
			c.StateScaler.Update(s, c.Rollout.Rows("states"))
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	c.Updates++
	c.Rollout.Clear()
	return nil
}
