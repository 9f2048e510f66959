package amp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// verdict is the discriminator's loss on a minibatch, with the gradient penalty in it, its accuracy on either side and
// its mean logits, all scalars.
type verdict struct {
	loss, penalty, motionRight, policyRight, motionLogit, policyLogit tensor.Tensor
}

// judged is what the discriminator makes of a minibatch: its logits of the policy's rows, (m, 1), and of the
// reference's, (n, 1), and the gradient penalty, a scalar.
type judged struct {
	fake, real, penalty tensor.Tensor
	// with latent_mode "calm", the encoder's own loss
	encoder tensor.Tensor
}

// logits are the discriminator's, (n, 1), of standardised rows (n, M), or with latent_mode "calm" of rows with latents
// behind them (n, M+L). It does not see what is masked.
func (a *learner) logits(s *tensor.Scope, rows tensor.Tensor) tensor.Tensor {
	return a.discriminator.Forward(s, models.Inputs{Observations: a.masked(s, rows)})
}

// judgedRows returns the number of rows of a minibatch that the discriminator and the encoder learn from.
func (a *learner) judgedRows(b onpolicy.Batch) int64 {
	if limit := int64(a.cfg.DiscriminatorBatchSize); limit > 0 {
		return min(b.Rows, limit)
	}
	return b.Rows
}

// discriminate applies the discriminator to up to n rows each of the policy's motion, now and earlier, and of the
// reference, or with discriminator_mode "differential" the row of zeros.
func (a *learner) discriminate(s *tensor.Scope, b onpolicy.Batch, encodings tensor.Tensor) (d judged) {
	n := a.judgedRows(b)
	if a.cfg.calm() {
		d.fake, d.real, d.penalty, d.encoder = a.conditional(s, b, encodings, n)
	} else if policy, replay, motion := a.samples(s, b, n); a.cfg.differential() {
		d.fake, d.real, d.penalty = a.differentialPenalty(s, s.Cat(0, policy, replay), motion)
	} else {
		d.fake = a.logits(s, s.Cat(0, policy, replay))
		d.real, d.penalty = a.gradientPenalty(s, policy, motion)
	}
	return d
}

// verdict computes the discriminator's loss: to tell the policy's motion from the reference's, with a penalty on the
// gradient by its input, which keeps the style reward smooth (Peng et al. 2021, eq. 8), and penalties on weights.
func (a *learner) verdict(s *tensor.Scope, d judged) verdict {
	loss := s.Add(a.adversarial(s, d.fake, d.real), s.MulScalar(d.penalty, a.cfg.DiscriminatorGradientPenaltyScale))
	v := verdict{loss: s.MulScalar(a.regularise(s, loss), a.cfg.DiscriminatorLossScale), penalty: d.penalty}
	v.motionRight, v.motionLogit = s.PositiveShare(d.real)
	v.policyRight, v.policyLogit = s.PositiveShare(d.fake)
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
func (a *learner) gradientPenalty(s *tensor.Scope, policy, motion tensor.Tensor) (real, penalty tensor.Tensor) {
	c := a.cfg
	if c.DiscriminatorGradientPenaltyScale == 0 || c.DiscriminatorGradientPenaltySamples == "motion" {
		return a.penalised(s, motion)
	}
	at := s.Cat(0, motion, policy)
	if c.DiscriminatorGradientPenaltySamples == "interpolated" {
		share := s.Rand(a.Gen, tensor.Size(motion, 0), 1)
		at = s.Add(s.Mul(motion, share), s.Mul(policy, s.ScalarSub(1, share)))
	}
	real = a.logits(s, motion)
	_, penalty = a.penalised(s, at)
	return real, penalty
}

// penalised returns logits (n, 1) and the gradient penalty, a scalar, at rows (n, M). Perceptrons compute both in one
// operation (models.Critic); other networks, and those with a mask before them, go through penaltyByAutograd.
func (a *learner) penalised(s *tensor.Scope, at tensor.Tensor) (logits, penalty tensor.Tensor) {
	if a.cfg.DiscriminatorGradientPenaltyScale == 0 {
		return a.logits(s, at), s.Scalar(0)
	}
	if critic, fast := a.discriminator.(models.Critic); fast && a.mask.T == nil &&
		a.cfg.DiscriminatorLoss != "wasserstein" {
		return critic.ForwardPenalty(s, models.Inputs{Observations: at})
	}
	return a.penaltyByAutograd(s, at, tensor.Tensor{})
}

// penaltyByAutograd returns logits and gradient penalty at rows (n, M), with latents (n, L) behind them if there are
// any, by differentiating twice, which any network allows: the penalty is itself a function of the weights, so the
// first derivative is computed with a graph of its own.
func (a *learner) penaltyByAutograd(s *tensor.Scope, at, latents tensor.Tensor) (logits, penalty tensor.Tensor) {
	at = s.RequireGrad(s.Detach(at))
	logits = a.logits(s, concatLatents(s, at, latents))
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

// parseFeatures reads discriminator_masked_features: indices and ranges from one to another, both included, with
// commas between them ("0-2, 9"). It returns each index once or more.
func parseFeatures(text string) (indices []int, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(strings.TrimSpace(from), 10, 31)
		last, err2 := strconv.ParseUint(strings.TrimSpace(to), 10, 31)
		if err1 != nil || err2 != nil || last < first || last-first > 1<<20 {
			return nil, fmt.Errorf("amp: \"discriminator_masked_features\" is %q: %q is neither an index nor a "+
				"range such as 3-7", text, part)
		}
		for i := first; i <= last; i++ {
			indices = append(indices, int(i))
		}
	}
	return indices, nil
}

// makeMask makes a row (M): 1 for features that the discriminator sees, 0 for masked ones, equal in every frame.
// Without masked features it makes none.
func (a *learner) makeMask() error {
	c, width := a.cfg, a.Spaces().AMPObservation.Width()
	if width%c.AMPObservationFrames != 0 {
		return fmt.Errorf("amp: \"amp_observation_frames\" is %d, but an AMP observation has %d values, which are not "+
			"%d frames of equal width", c.AMPObservationFrames, width, c.AMPObservationFrames)
	}
	masked, err := parseFeatures(c.DiscriminatorMaskedFeatures)
	if err != nil || len(masked) == 0 {
		return err
	}
	frame := width / c.AMPObservationFrames
	seen, left := make([]float32, width), width
	for i := range seen {
		seen[i] = 1
	}
	for _, j := range masked {
		if j >= frame {
			return fmt.Errorf("amp: \"discriminator_masked_features\" is %q, but a frame has features 0 to %d (%d "+
				"values of an AMP observation, \"amp_observation_frames\" %d)", c.DiscriminatorMaskedFeatures, frame-1,
				width, c.AMPObservationFrames)
		}
		for ; j < width; j += frame {
			if seen[j] == 1 {
				seen[j], left = 0, left-1
			}
		}
	}
	if left == 0 {
		return fmt.Errorf("amp: \"discriminator_masked_features\" is %q, which leaves the discriminator nothing to see",
			c.DiscriminatorMaskedFeatures)
	}
	a.mask = tensor.From(a.resident, seen)
	return a.resident.Err()
}

// masked returns rows (n, M), or rows with latents (n, M+L), whose masked features are 0.
func (a *learner) masked(s *tensor.Scope, rows tensor.Tensor) tensor.Tensor {
	if a.mask.T == nil || s.Err() != nil {
		return rows
	}
	if m := tensor.Size(a.mask, 0); tensor.Size(rows, 1) > m {
		seen, latents := a.splitRows(s, rows)
		return s.Cat(1, s.Mul(seen, a.mask), latents)
	}
	return s.Mul(rows, a.mask)
}

// StyleRewards returns the style reward of each of n AMP observations (n × M), as an update would reward them by the
// discriminator and the running statistics that there are now, before style_reward_scale. With latent_mode "calm"
// each observation has the latent behind it that it is judged by (n × (M+L)). Nothing is learned. The slice is the
// caller's. Rows of another width are an error.
func (a *Agent) StyleRewards(ampObservations []float32) (rewards []float32, err error) {
	return a.guarded("StyleRewards", func() ([]float32, error) { return a.learner.styleRewards(ampObservations) })
}

func (a *learner) styleRewards(ampObservations []float32) ([]float32, error) {
	width := a.judgedWidth()
	if len(ampObservations) == 0 || len(ampObservations)%width != 0 {
		return nil, fmt.Errorf("amp: %d values of AMP observations; want rows of %d", len(ampObservations), width)
	}
	s := tensor.NoGrad().On(a.Device)
	defer s.Close()
	rows := tensor.From(s, ampObservations, int64(len(ampObservations)/width), int64(width))
	var latents tensor.Tensor
	if a.cfg.calm() {
		rows, latents = a.splitRows(s, rows)
	}
	rewards := a.styleReward(s, a.logits(s, concatLatents(s, a.scaled(s, rows), latents)))
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("amp: style rewards: %w", err)
	}
	return tensor.Float32s(rewards)
}

// judgedWidth returns the width of what the discriminator reads: AMP observations, with latent_mode "calm" with a
// latent behind each.
func (a *learner) judgedWidth() int {
	if a.cfg.calm() {
		return a.Spaces().AMPObservation.Width() + a.cfg.LatentSize
	}
	return a.Spaces().AMPObservation.Width()
}
