package ppo

import (
	"context"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// update is proximal policy optimisation of the clipped surrogate (Schulman et al. 2017, eq. 7
// and 9) over the rollout, with advantages by GAE.
func (a *learner) update(ctx context.Context) (err error) {
	if err := a.CheckReady(ctx); err != nil {
		return err
	}
	defer onpolicy.OneThread()()
	s := tensor.NoGrad().On(a.Device)
	defer s.Close()
	a.Begin(s)
	if err := s.Err(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			a.Rollback()
		}
	}()
	a.estimate(s)
	meter := onpolicy.NewMeter(s, "Loss / Policy loss", "Loss / Value loss", "Loss / Entropy loss", "Policy / KL divergence",
		"Policy / Clip fraction", "Policy / Entropy", "Gradient / Norm")
	if err := s.Err(); err != nil {
		return err
	}

	for epoch := range a.Config.LearningEpochs {
		stopped, err := a.learn(ctx, epoch, meter)
		if err != nil {
			return err
		}
		last := epoch == a.Config.LearningEpochs-1 || stopped && !a.Config.Skrl()
		a.Schedule(meter, last)
		if last {
			break
		}
	}

	// skrl 2.0 divides by the number of minibatches there would have been without early stopping.
	count := 0
	if a.Config.Skrl() {
		count = a.Config.LearningEpochs * a.Config.MiniBatches
	}
	means, err := meter.Means(a.Name(), count)
	if err != nil {
		return err
	}
	if err := a.CheckParameters(s); err != nil {
		return err
	}
	if err := a.Track(means); err != nil {
		return err
	}
	return a.Finish(s)
}

// estimate turns rewards into advantages and returns: GAE (Schulman et al. 2016), R = A + V, and advantages normalised
// over the rollout.
func (a *learner) estimate(s *tensor.Scope) {
	r := a.Rollout
	if !a.Config.Skrl() { // there, values were recorded step by step
		a.FillValues(s, "values", a.ValueOf)
	}
	m := a.NextValues(s, "values", "final_values", a.ValueOf)
	advantages := s.GAE(r.Tensor("rewards"), r.Tensor("values"), m.Next, m.Bootstrap, m.Chain, a.Config.DiscountFactor, a.Config.GAELambda)
	returns := s.Add(advantages, r.Tensor("values"))
	a.StoreTargets(s, returns, onpolicy.Normalise(s, advantages))
}

// learn makes one pass over the rollout. It stops early where the policy has moved further than kl_threshold.
func (a *learner) learn(ctx context.Context, epoch int, meter *onpolicy.Meter) (stopped bool, err error) {
	rows := tensor.NoGrad().On(a.Device)
	defer rows.Close()
	s := tensor.NewScope().On(a.Device)
	defer s.Close()
	for b := range a.Epoch(rows, epoch) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		s.Reset()

		e, predicted := models.EvaluateBoth(s, a.Policy, a.Value, b.Inputs, b.Actions)
		a.NoteStdDev(s, e)
		policyLoss, kl, clipped := s.Surrogate(e.LogProb, b.LogProb, b.Advantages, a.Config.RatioClip)
		if stop, err := a.TooFar(s, kl); stop || err != nil {
			return stop, err
		}
		valueLoss := s.MulScalar(a.ValueLoss(s, predicted, b.Values, b.Returns), a.Config.ValueLossScale)
		entropy, entropyLoss := a.EntropyLoss(s, e)
		a.Minimise(s, s.Add(s.Add(policyLoss, entropyLoss), valueLoss))

		meter.Add(s, policyLoss, valueLoss, entropyLoss, kl, clipped, entropy, s.Select(a.Optimizer.Norms, 0, 0))
		if err := s.Err(); err != nil {
			return false, err
		}
	}
	return false, rows.Err()
}
