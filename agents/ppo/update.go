package ppo

import (
	"context"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/tensor"
)

// Update is one iteration of proximal policy optimisation (Schulman et al. 2017, algorithm 1) on a complete rollout of
// T timesteps of N environments:
//
//  1. estimate: values, advantages and returns of every step, by generalised advantage estimation;
//  2. learn, once an epoch: for each minibatch the loss L = −L^CLIP + c₁·L^VF − c₂·H (eq. 9) and one optimizer step;
//  3. Conclude and Finish: the scalers learn from the rollout, and the rollout is emptied.
//
// An update that fails, diverges or is cancelled is undone as a whole, so that it can be tried again.
func (a *learner) Update(ctx context.Context) error {
	return a.Attempt(ctx, func(s *tensor.Scope) error {
		a.estimate(s)
		meter := onpolicy.NewMeter(s, new(losses).figures())
		if err := s.Err(); err != nil {
			return err
		}

		for epoch := range a.Config.LearningEpochs {
			stopped, err := a.Learn(ctx, epoch, meter, a.minibatch)
			if err != nil {
				return err
			}
			// Early stopping ends the update, except in skrl, where it only ends the epoch.
			last := epoch == a.Config.LearningEpochs-1 || stopped && !a.Config.Skrl()
			a.Schedule(meter, last)
			if last {
				break
			}
		}

		// skrl divides by the number of minibatches there would have been without early stopping.
		count := 0
		if a.Config.Skrl() {
			count = a.Config.LearningEpochs * a.MiniBatches()
		}
		if err := a.Conclude(s, meter, count, nil); err != nil {
			return err
		}
		return a.Finish(s)
	})
}

// estimate turns the rollout's rewards into advantages and returns, all (T, N, 1), and stores them in the rollout.
//
// With the values V of the observations and V' of what followed each step, δ = r + γ·V' − V is the error of one step,
// and the advantage is A = δ + γ·λ·A' along the episode (Schulman et al. 2016, eq. 16). The mask Bootstrap says how
// much of V' counts (nothing after a termination), Chain whether A' belongs to the same episode. The return R = A + V
// is what the value network learns to predict. Advantages are normalised to a mean of 0 and a deviation of 1, over the
// rollout or (advantage_normalization) each minibatch, so that the size of rewards does not change the size of the
// policy's steps. Advantages passes over rows without a turn.
func (a *learner) estimate(s *tensor.Scope) {
	r := a.Rollout
	a.FillValues(s, a.Estimator)
	m := a.NextValues(s, a.Estimator)
	advantages := a.Advantages(s, a.Estimator, r.Tensor("rewards"), m)
	returns := s.Add(advantages, r.Tensor("values"))
	a.StoreTargets(s, returns, advantages)
}

// losses are the scalars of a minibatch. clipped is the share of rows outside the band of the clip, moved the
// divergence that the learning rate may follow, norm that of the gradient.
type losses struct {
	policy, value, entropyLoss, bounds, moved, clipped, entropy, norm tensor.Tensor
}

// figures are the losses as they are tracked.
func (l *losses) figures() []onpolicy.Figure {
	track := onpolicy.NewFigure
	return []onpolicy.Figure{track("Loss / Policy loss", &l.policy), track("Loss / Value loss", &l.value),
		track("Loss / Entropy loss", &l.entropyLoss), track("Loss / Bounds loss", &l.bounds),
		track("Policy / KL divergence", &l.moved), track("Policy / Clip fraction", &l.clipped),
		track("Policy / Entropy", &l.entropy), track("Gradient / Norm", &l.norm)}
}

// minibatch learns from n rows of the rollout, with one optimizer step. It stops the pass if the policy has moved
// further from the one that collected the rollout than kl_threshold.
func (a *learner) minibatch(s *tensor.Scope, b onpolicy.Batch, meter *onpolicy.Meter) (moved tensor.Tensor, stop bool,
	err error) {
	// The present policy's log-probability and entropy of the recorded actions, and the present values.
	e, predicted := a.Evaluate(s, b)
	a.NoteStdDev(s, e)

	// The clipped surrogate (eq. 7), as a loss: −E[min(ratio·A, clip(ratio, 1 − ε, 1 + ε)·A)], where ratio is
	// exp(LogProb − b.LogProb), the present policy's probability of an action over the old one's. The clip takes away
	// the reason to move a probability further than ε. kl estimates the divergence from the old policy,
	// E[ratio − 1 − ln ratio].
	var l losses
	var kl tensor.Tensor
	l.policy, kl, l.clipped = s.Surrogate(e.LogProb, b.LogProb, b.Advantages, a.Config.RatioClip)
	l.moved = a.Divergence(s, b, e, kl)

	// c₁·L^VF and −c₂·H, the loss for means out of bounds, if it is on, and the gradient of the sum. Several ranks
	// take the mean of all their rows.
	l.value = s.MulScalar(a.ValueLoss(s, predicted, b.Values, b.Returns), a.Config.ValueLossScale)
	l.entropy, l.entropyLoss = a.EntropyLoss(s, e)
	var loss tensor.Tensor
	loss, l.bounds = a.BoundsLoss(s, e, s.Add(s.Add(l.policy, l.entropyLoss), l.value))
	a.Differentiate(s, loss)
	a.Average(s, b, &kl, &l.moved, l.figures())

	// One step down the gradient, unless the policy has moved too far. The learning rate may follow the divergence.
	if stop, err := a.TooFar(s, kl); stop || err != nil {
		return l.moved, stop, err
	}
	a.Step(s)
	l.norm = s.Select(a.Optimizer.Norms, 0, 0)
	meter.Add(s, l.figures())
	return l.moved, false, s.Err()
}
