package amp

import (
	"context"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Update is one iteration of AMP (Peng et al. 2021, algorithm 1) on a complete rollout of T timesteps of N
// environments: PPO on a combined reward, with a discriminator step beside every policy step.
//
//  1. collect: fresh reference motion for the motion dataset;
//  2. standardise and reward: the discriminator's scaler learns, and the discriminator rewards the rollout for its style;
//  3. estimate: advantages and returns of task and style together;
//  4. learn, once an epoch: for each minibatch PPO's loss and the discriminator's, and one optimizer step;
//  5. remember and Finish: the replay buffer takes the policy's motion, the scalers learn, the rollout is emptied.
//
// An update that fails, diverges or is cancelled is undone as a whole, so that it can be tried again.
func (a *learner) Update(ctx context.Context) error {
	return a.Attempt(ctx, func(s *tensor.Scope) error {
		a.keepMotions(s, int64(a.cfg.AMPBatchSize))
		if err := a.collect(s, a.cfg.AMPBatchSize); err != nil {
			return err
		}
		a.standardise(s)
		style := a.reward(s)
		a.estimate(s, style)
		meter := onpolicy.NewMeter(s, meters...)
		if err := s.Err(); err != nil {
			return err
		}

		for epoch := range a.cfg.LearningEpochs {
			a.Draw.Begin(s, epoch)
			stopped, err := a.learn(ctx, epoch, meter)
			if err != nil {
				return err
			}
			last := epoch == a.cfg.LearningEpochs-1 || stopped
			a.Schedule(meter, last)
			if last {
				break
			}
		}

		more := map[string]tensor.Tensor{"Reward / Style reward (mean)": a.Mean(s, a.ValidOf(s, style))}
		if err := a.Conclude(s, meter, 0, more); err != nil {
			return err
		}
		a.remember(s)
		return a.Finish(s)
	})
}

// reward returns the style reward of every step, (T, N, 1): the larger, the more the discriminator takes the motion for
// the reference's. d is its logit.
func (a *learner) reward(s *tensor.Scope) tensor.Tensor {
	all, to := a.Rollout.Rows("amp_observations"), a.Rollout.Rows("style_rewards")
	a.Portions(s, a.rows.Packed(), int64(a.Rollout.Steps()*a.Rollout.Envs()), func(s *tensor.Scope, span memory.Span) {
		rows, rewards := all, to
		if a.rows.Packed() {
			rows, rewards = a.rows.Float32(s, s.Narrow(all, 0, span.Start, span.Len)), s.Narrow(to, 0, span.Start, span.Len)
		}
		s.Copy(rewards, a.styleReward(s, a.discriminator.Forward(s, models.Inputs{Observations: a.scaler.Forward(s, rows)})))
	})
	return a.Rollout.Tensor("style_rewards")
}

// styleReward is that of logits (n, 1).
func (a *learner) styleReward(s *tensor.Scope, logits tensor.Tensor) tensor.Tensor {
	switch a.cfg.DiscriminatorLoss {
	case "lsgan": // max(0, 1 − ¼(d − 1)²), Peng et al. 2021, eq. 7
		return s.ClampMin(s.ScalarSub(1, s.MulScalar(s.Square(s.AddScalar(logits, -1)), 0.25)), 0)
	case "wasserstein": // e^tanh(η·d)
		return s.Exp(s.Tanh(s.MulScalar(logits, a.cfg.WassersteinEta)))
	}
	// −ln max(1 − σ(d), 10⁻⁴)
	return s.Neg(s.Log(s.ClampMin(s.ScalarSub(1, s.Sigmoid(logits)), 1e-4)))
}

// estimate turns task and style rewards into advantages and returns, (T, N, 1), as PPO's estimate does: with one critic
// for their weighted sum (Peng et al. 2021, eq. 4), or with one each, whose advantages are then added by the same
// weights.
func (a *learner) estimate(s *tensor.Scope, style tensor.Tensor) {
	r, c := a.Rollout, a.cfg
	task := r.Tensor("rewards")
	gae := func(rewards, values tensor.Tensor, m onpolicy.Masks) tensor.Tensor {
		return s.GAE(rewards, values, m.Next, m.Bootstrap, m.Chain, c.DiscountFactor, c.GAELambda)
	}
	combined := s.Add(s.MulScalar(task, c.TaskRewardScale), s.MulScalar(style, c.StyleRewardScale))
	switch {
	case c.Skrl():
		m := a.NextValues(s, a.Estimator)
		if c.Skrl20() { // Record has stored the next values, zero at terminations
			m = onpolicy.Masks{Next: r.Tensor("next_values"), Bootstrap: s.Ones(tensor.Shape(m.Chain)...), Chain: m.Chain}
		}
		s.Copy(task, combined)
		advantages := gae(combined, r.Tensor("values"), m)
		a.StoreTargets(s, s.Add(advantages, r.Tensor("values")), advantages)
	case a.styleValue == nil:
		a.FillValues(s, a.Estimator)
		advantages := gae(combined, r.Tensor("values"), a.NextValues(s, a.Estimator))
		a.StoreTargets(s, s.Add(advantages, r.Tensor("values")), advantages)
	default:
		a.FillValues(s, a.Estimator)
		a.FillValues(s, a.styleEstimator)
		ofTask := gae(task, r.Tensor("values"), a.NextValues(s, a.Estimator))
		ofStyle := gae(style, r.Tensor("style_values"), a.NextValues(s, a.styleEstimator))
		s.Copy(r.Tensor("style_returns"), s.Add(ofStyle, r.Tensor("style_values")))
		sum := s.Add(s.MulScalar(ofTask, c.TaskRewardScale), s.MulScalar(ofStyle, c.StyleRewardScale))
		a.StoreTargets(s, s.Add(ofTask, r.Tensor("values")), sum)
	}
}

// learn makes one pass over the rollout, in minibatches of n rows, with one optimizer step each. It stops early where
// the policy has moved further than kl_threshold.
func (a *learner) learn(ctx context.Context, epoch int, meter *onpolicy.Meter) (stopped bool, err error) {
	rows := tensor.NoGrad().On(a.Device) // the minibatches: they live as long as the epoch
	defer rows.Close()
	s := tensor.NewScope().On(a.Device).Layers(a.Precision) // what is computed of one minibatch
	defer s.Close()
	for b := range a.Epoch(rows, epoch, a.fields()...) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		s.Reset()

		// PPO's clipped surrogate, as in ppo/update.go.
		e, predicted := a.Evaluate(s, b)
		policyLoss, kl, clipped := s.Surrogate(e.LogProb, b.LogProb, b.Advantages, a.Config.RatioClip)
		moved := a.Divergence(s, b, e, kl)

		// The critics' losses, and the entropy.
		valueLoss := a.ValueLoss(s, predicted, b.Values, b.Returns)
		if a.styleValue != nil {
			style := b.Learned(s, a.styleValue.Forward(s, b.Of(layout.StyleValue)))
			valueLoss = s.Add(valueLoss, a.ValueLoss(s, style, b.Extra[1], b.Extra[2]))
		}
		valueLoss = s.MulScalar(valueLoss, a.cfg.ValueLossScale)
		entropy, entropyLoss := a.EntropyLoss(s, e)

		// The discriminator's loss, and that for means out of bounds where it is on, and the gradient of the sum.
		d := a.discriminate(s, b)
		loss, boundsLoss := a.BoundsLoss(s, e, s.Add(s.Add(s.Add(policyLoss, entropyLoss), valueLoss), d.loss))
		a.Differentiate(s, loss)
		a.Average(s, b, &kl, &moved, &policyLoss, &valueLoss, &entropyLoss, &boundsLoss, &clipped, &entropy, &d.loss,
			&d.penalty, &d.motionRight, &d.policyRight, &d.motionLogit, &d.policyLogit)

		// One step down the gradient, unless the policy has moved too far. The learning rate may follow the divergence.
		if stop, err := a.TooFar(s, kl); stop || err != nil {
			return stop, err
		}
		a.step(s)
		if err := a.Adapt(s, moved); err != nil {
			return false, err
		}
		a.NoteStdDev(s, e)
		meter.Add(s, policyLoss, valueLoss, entropyLoss, boundsLoss, d.loss, moved, clipped, entropy,
			s.Select(a.Optimizer.Norms, 0, 0), d.penalty, d.motionRight, d.policyRight, d.motionLogit, d.policyLogit)
		if err := s.Err(); err != nil {
			return false, err
		}
	}
	return false, rows.Err()
}

// fields lists the fields of the rollout that a minibatch needs beside PPO's, in the order in which Batch.Extra has
// them.
func (a *learner) fields() []string {
	if a.styleValue == nil {
		return []string{"amp_observations"}
	}
	return []string{"amp_observations", "style_values", "style_returns"}
}

// step makes one optimizer step of all networks, the discriminator's with its own optimizer where it has one.
func (a *learner) step(s *tensor.Scope) {
	if a.Step(s) && a.separate != nil {
		a.separate.ClipGrad(s)
		a.separate.Step(s)
	}
}

// verdict is the discriminator's loss on a minibatch, with the gradient penalty in it, its accuracy on either side and
// its mean logits, all scalars.
type verdict struct {
	loss, penalty, motionRight, policyRight, motionLogit, policyLogit tensor.Tensor
}

// discriminate computes the discriminator's loss on up to n rows each of the policy's motion, now and earlier, and of
// the reference: to tell them apart, with a penalty on the gradient by its input, which keeps the style reward smooth
// (Peng et al. 2021, eq. 8), and penalties on weights.
func (a *learner) discriminate(s *tensor.Scope, b onpolicy.Batch) verdict {
	c := a.cfg
	n := b.Rows
	if c.DiscriminatorBatchSize > 0 {
		n = min(n, int64(c.DiscriminatorBatchSize))
	}
	policy, replay, motion := a.samples(s, b, n)
	fake := a.discriminator.Forward(s, models.Inputs{Observations: s.Cat(0, policy, replay)})
	real, penalty := a.gradientPenalty(s, policy, motion)
	loss := s.Add(a.adversarial(s, fake, real), s.MulScalar(penalty, c.DiscriminatorGradientPenaltyScale))

	v := verdict{loss: s.MulScalar(a.regularise(s, loss), c.DiscriminatorLossScale), penalty: penalty}
	v.motionRight, v.motionLogit = s.PositiveShare(real)
	v.policyRight, v.policyLogit = s.PositiveShare(fake)
	v.policyRight = s.ScalarSub(1, v.policyRight)
	return v
}

// adversarial returns the loss that tells the logits of the policy's rows (fake, (m, 1)) from those of the reference's
// (real, (n, 1)), a scalar.
func (a *learner) adversarial(s *tensor.Scope, fake, real tensor.Tensor) tensor.Tensor {
	switch a.cfg.DiscriminatorLoss {
	case "lsgan": // ½(E[(d_fake + 1)²] + E[(d_real − 1)²])
		return s.MulScalar(s.Add(s.Mean(s.Square(s.AddScalar(fake, 1))), s.Mean(s.Square(s.AddScalar(real, -1)))), 0.5)
	case "wasserstein": // E[tanh(η·d_fake)] − E[tanh(η·d_real)]
		bound := func(d tensor.Tensor) tensor.Tensor { return s.Mean(s.Tanh(s.MulScalar(d, a.cfg.WassersteinEta))) }
		return s.Sub(bound(fake), bound(real))
	}
	// ½(E[softplus(d_fake)] + E[softplus(−d_real)]): binary cross-entropy against 0 and 1
	return s.CrossEntropy(fake, real)
}

// gradientPenalty returns the logits of the reference's rows (n, 1) and the gradient penalty, a scalar: E[‖∂d/∂x‖²] at
// the samples that discriminator_gradient_penalty_samples names, or, for the wasserstein loss, E[(‖∂d/∂x‖ − 1)²].
// Perceptrons compute both in one operation (models.Critic); other networks go through penaltyByAutograd.
func (a *learner) gradientPenalty(s *tensor.Scope, policy, motion tensor.Tensor) (real, penalty tensor.Tensor) {
	c := a.cfg
	if c.DiscriminatorGradientPenaltyScale == 0 {
		return a.discriminator.Forward(s, models.Inputs{Observations: motion}), s.Scalar(0)
	}
	critic, fast := a.discriminator.(models.Critic)
	fast = fast && c.DiscriminatorLoss != "wasserstein"
	if c.DiscriminatorGradientPenaltySamples == "motion" {
		if fast {
			return critic.ForwardPenalty(s, models.Inputs{Observations: motion})
		}
		return a.penaltyByAutograd(s, motion)
	}
	at := s.Cat(0, motion, policy)
	if c.DiscriminatorGradientPenaltySamples == "interpolated" {
		share := s.Rand(a.Gen, tensor.Size(motion, 0), 1)
		at = s.Add(s.Mul(motion, share), s.Mul(policy, s.ScalarSub(1, share)))
	}
	real = a.discriminator.Forward(s, models.Inputs{Observations: motion})
	if fast {
		_, penalty = critic.ForwardPenalty(s, models.Inputs{Observations: at})
	} else {
		_, penalty = a.penaltyByAutograd(s, at)
	}
	return real, penalty
}

// penaltyByAutograd returns logits and gradient penalty at rows (n, M) by differentiating twice, which any network
// allows: the penalty is itself a function of the weights, so the first derivative is computed with a graph of its own.
func (a *learner) penaltyByAutograd(s *tensor.Scope, at tensor.Tensor) (logits, penalty tensor.Tensor) {
	at = s.RequireGrad(s.Detach(at))
	logits = a.discriminator.Forward(s, models.Inputs{Observations: at})
	square := s.Sum(s.Square(s.Grad(s.Sum(logits), true, at)[0]), -1)
	if a.cfg.DiscriminatorLoss == "wasserstein" {
		return logits, s.Mean(s.Square(s.AddScalar(s.Sqrt(s.AddScalar(square, 1e-12)), -1)))
	}
	return logits, s.Mean(square)
}

// regularise adds the penalties on weights to the discriminator's loss: Σw² of the output layer and of all linear
// layers, each with its scale.
func (a *learner) regularise(s *tensor.Scope, loss tensor.Tensor) tensor.Tensor {
	c := a.cfg
	if c.DiscriminatorLogitRegularizationScale == 0 && c.DiscriminatorWeightDecayScale == 0 {
		return loss
	}
	weights := a.discriminator.(models.Linears).LinearWeights()
	scales := make([]float64, len(weights))
	for i := range scales {
		scales[i] = c.DiscriminatorWeightDecayScale
	}
	scales[len(scales)-1] += c.DiscriminatorLogitRegularizationScale
	return s.Add(loss, s.SumSquares(scales, weights...))
}
