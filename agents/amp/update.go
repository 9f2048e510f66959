package amp

import (
	"context"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/tensor"
)

// Update is one iteration of AMP (Peng et al. 2021, algorithm 1) on a complete rollout of T timesteps of N
// environments: PPO on a combined reward, with a discriminator step in every policy step.
//
//  1. collect: fresh reference motion for the motion dataset;
//  2. standardise and reward: the discriminator's scaler learns, and the discriminator rewards the rollout's style;
//  3. estimate: advantages and returns of task and style together;
//  4. learn, once an epoch: for each minibatch PPO's loss and the discriminator's, and one optimizer step;
//  5. Conclude, fillReplay and Finish: the scalers learn, the replay buffer takes the policy's motion, the rollout is
//     emptied.
//
// An update that fails, diverges or is cancelled is undone as a whole, so that it can be tried again.
func (a *learner) Update(ctx context.Context) error {
	return a.Attempt(ctx, func(s *tensor.Scope) error {
		a.motionLatents = nil // drop the latents of the previous update
		a.keepMotions(s, int64(a.cfg.AMPBatchSize))
		if err := a.collect(s, a.cfg.AMPBatchSize); err != nil {
			return err
		}
		a.standardise(s)
		style := a.reward(s)
		var skill tensor.Tensor // what the encoder adds to the reward
		if a.cfg.latents() {
			skill = a.encoderReward(s)
		}
		a.estimate(s, style, skill)
		meter := onpolicy.NewMeter(s, a.figures(new(losses)))
		if err := s.Err(); err != nil {
			return err
		}

		for epoch := range a.cfg.LearningEpochs {
			a.Draw.Begin(s, epoch)
			stopped, err := a.Learn(ctx, epoch, meter, a.minibatch)
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
		if a.cfg.latents() {
			more["Reward / Encoder reward (mean)"] = a.Mean(s, a.ValidOf(s, skill))
		}
		if err := a.Conclude(s, meter, 0, more); err != nil {
			return err
		}
		a.fillReplay(s)
		return a.Finish(s)
	})
}

// reward returns the style reward of every step, (T, N, 1). It is larger if the discriminator takes the motion for
// reference motion. d is the discriminator's logit.
func (a *learner) reward(s *tensor.Scope) tensor.Tensor {
	all, to := a.Rollout.Rows("amp_observations"), a.Rollout.Rows("style_rewards")
	a.Portions(s, a.rows.Packed(), int64(a.Rollout.Steps()*a.Rollout.Envs()), func(s *tensor.Scope, span memory.Span) {
		rows := a.scaled(s, a.rows.Float32(s, s.Narrow(all, 0, span.Start, span.Len)))
		rows = concatLatents(s, rows, a.conditionOf(s, a.Rollout.Rows("observations")))
		s.Copy(s.Narrow(to, 0, span.Start, span.Len), a.styleReward(s, a.logits(s, rows)))
	})
	return a.Rollout.Tensor("style_rewards")
}

// styleReward returns the style reward (n, 1) of logits (n, 1).
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
// weights. With latents the encoder's reward, skill, is part of the sum.
func (a *learner) estimate(s *tensor.Scope, style, skill tensor.Tensor) {
	r, c := a.Rollout, a.cfg
	task := r.Tensor("rewards")
	gae := func(rewards, values tensor.Tensor, m onpolicy.Masks) tensor.Tensor {
		return s.GAE(rewards, values, m.Next, m.Bootstrap, m.Chain, c.DiscountFactor, c.GAELambda)
	}
	combined := s.Add(s.MulScalar(task, c.TaskRewardScale), s.MulScalar(style, c.StyleRewardScale))
	if skill.T != nil {
		combined = s.Add(combined, s.MulScalar(skill, c.EncoderRewardScale))
	}
	switch {
	case c.Skrl():
		m := a.NextValues(s, a.Estimator)
		if c.Skrl20() { // Record has stored the next values, zero at terminations
			m = onpolicy.Masks{Next: r.Tensor("next_values"), Bootstrap: s.Ones(tensor.Shape(m.Chain)...),
				Chain: m.Chain}
		}
		s.Copy(task, combined)
		advantages := gae(combined, r.Tensor("values"), m)
		a.StoreTargets(s, s.Add(advantages, r.Tensor("values")), advantages)
	case a.styleValue == nil:
		a.FillValues(s, a.Estimator)
		advantages := gae(combined, r.Tensor("values"), a.nextValues(s))
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

// losses are the scalars of a minibatch, as in ppo/update.go; verdict has those of the discriminator.
type losses struct {
	policy, value, entropyLoss, bounds, moved, clipped, entropy, norm tensor.Tensor
	verdict
	encoder, diversity tensor.Tensor // with latents
}

// figures are the losses as they are tracked.
func (a *learner) figures(l *losses) []onpolicy.Figure {
	track := onpolicy.NewFigure
	list := []onpolicy.Figure{track("Loss / Policy loss", &l.policy), track("Loss / Value loss", &l.value),
		track("Loss / Entropy loss", &l.entropyLoss), track("Loss / Bounds loss", &l.bounds),
		track("Loss / Discriminator loss", &l.loss),
		track("Policy / KL divergence", &l.moved), track("Policy / Clip fraction", &l.clipped),
		track("Policy / Entropy", &l.entropy),
		track("Gradient / Norm", &l.norm), track("Discriminator / Gradient penalty", &l.penalty),
		track("Discriminator / Accuracy (motion)", &l.motionRight), track("Discriminator / Accuracy (policy)",
			&l.policyRight),
		track("Discriminator / Logit (motion)", &l.motionLogit), track("Discriminator / Logit (policy)",
			&l.policyLogit)}
	if a.cfg.latents() {
		list = append(list, track("Loss / Encoder loss", &l.encoder), track("Loss / Diversity loss", &l.diversity))
	}
	return list
}

// minibatch learns from n rows of the rollout and as many of earlier and of reference motion, with one optimizer
// step. It stops the pass if the policy has moved further than kl_threshold.
func (a *learner) minibatch(s *tensor.Scope, b onpolicy.Batch, meter *onpolicy.Meter) (moved tensor.Tensor, stop bool,
	err error) {
	var encodings tensor.Tensor
	if a.cfg.calm() {
		b, encodings = a.encodeAgain(s, b)
	}

	// The networks come first, one after the other, because the engine can then compute them side by side.
	d := a.discriminate(s, b, encodings)
	var style tensor.Tensor
	if a.styleValue != nil {
		style = a.styleValue.Forward(s, b.Of(layout.StyleValue))
	}
	e, predicted := a.Evaluate(s, b)

	// PPO's clipped surrogate, as in ppo/update.go.
	var l losses
	var kl tensor.Tensor
	l.policy, kl, l.clipped = s.Surrogate(e.LogProb, b.LogProb, b.Advantages, a.Config.RatioClip)
	l.moved = a.Divergence(s, b, e, kl)

	// The critics' losses, and the entropy.
	l.value = a.ValueLoss(s, predicted, b.Values, b.Returns)
	if a.styleValue != nil {
		style = b.Learned(s, style)
		l.value = s.Add(l.value, a.ValueLoss(s, style, b.Fields["style_values"], b.Fields["style_returns"]))
	}
	l.value = s.MulScalar(l.value, a.cfg.ValueLossScale)
	l.entropy, l.entropyLoss = a.EntropyLoss(s, e)

	// The discriminator's loss, that for means out of bounds, if it is on, those of latents, and the gradient of the
	// sum.
	l.verdict = a.verdict(s, d)
	var loss tensor.Tensor
	loss, l.bounds = a.BoundsLoss(s, e, s.Add(s.Add(s.Add(l.policy, l.entropyLoss), l.value), l.loss))
	if a.cfg.latents() {
		l.encoder, l.diversity = a.skillLosses(s, b, e, d.encoder)
		loss = s.Add(loss, s.Add(s.MulScalar(l.encoder, a.cfg.EncoderLossScale), s.MulScalar(l.diversity,
			a.cfg.DiversityLossScale)))
	}
	a.Differentiate(s, loss)
	a.Average(s, b, &kl, &l.moved, a.figures(&l))

	// One step down the gradient, unless the policy has moved too far. The learning rate may follow the divergence.
	if stop, err := a.TooFar(s, kl); stop || err != nil {
		return l.moved, stop, err
	}
	if a.Step(s) && a.separate != nil {
		a.separate.ClipGrad(s)
		a.separate.Step(s)
	}
	a.NoteStdDev(s, e)
	l.norm = s.Select(a.Optimizer.Norms, 0, 0)
	meter.Add(s, a.figures(&l))
	return l.moved, false, s.Err()
}
