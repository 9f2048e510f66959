package amp

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// CALM, conditional adversarial latent models (Tessler et al. 2023), takes its latents from reference motion: z =
// E(x) is the encoding of a row x. The discriminator D(x | z) reads a row together with a latent. It separates rows
// of reference motion with their own encodings from rows of the policy with the latents that the policy was given.
// The policy is therefore rewarded for the motion that z encodes. The encoder learns from the losses of the policy
// and the value network, for which an update encodes the motion behind each latent again. It does not learn from the
// discriminator's loss. The encoder's own loss gives windows of motion that overlap similar latents, and spreads all
// latents over the sphere.

// calm is latent_mode's value for it.
const calm = "calm"

// calmConfig returns the defaults with latent_mode "calm" and latents of 64 dimensions. The weights of the
// discriminator's and the encoder's losses are those of the authors' calm_humanoid.yaml. The encoder's reward and the
// diversity loss are off.
func calmConfig() Config {
	c := DefaultConfig()
	c.LatentMode, c.LatentSize = calm, 64
	c.DiscriminatorLogitRegularizationScale = 0.01
	c.EncoderLossScale, c.EncoderRewardScale, c.DiversityLossScale = 0.1, 0, 0
	return c
}

// OverlappingMotionSource is a [MotionSource] that shows two windows of motion that overlap, which latent_mode "calm"
// needs. The environments of package envs/mujoco and the sources of package motions do.
type OverlappingMotionSource interface {
	// CollectOverlappingMotions returns n pairs of rows of AMP observations, n × 2M values, drawn with rng: one at a
	// random time of a clip, as CollectReferenceMotions draws it, and behind it one that begins a few steps later,
	// within it.
	CollectOverlappingMotions(n int, rng *rand.Rand) ([]float32, error)
}

// WithConditionalDiscriminator returns models whose discriminator reads AMP observations with a latent of the given
// size behind each, as latent_mode "calm" needs it: a perceptron with the given hidden layers. m are models that
// build themselves (Models.Make), as those of [WithSeparateEncoder] do.
func WithConditionalDiscriminator(m Models, sp spaces.Set, latent int, hidden []int, activation string) Models {
	const own = "such a Discriminator"
	return remade(m, "WithConditionalDiscriminator", own, func(out *Models, seed int64) error {
		if models.IsBranch(out.Encoder) {
			return errors.New("amp: WithConditionalDiscriminator gets models whose encoder shares the hidden layers " +
				"of a discriminator that reads no latents; make them by WithSeparateEncoder")
		}
		discriminator, err := models.NewMLP(models.MLPConfig{Inputs: sp.AMPObservation.Width() + latent, Outputs: 1,
			Hidden: hidden, Activation: activation}, seed+2)
		if err != nil {
			return fmt.Errorf("amp: discriminator: %w", err)
		}
		out.Discriminator.Close()
		out.Discriminator = discriminator
		return nil
	})
}

// calm reports whether the discriminator is conditioned on latents, which are encodings of motion.
func (c *Config) calm() bool { return c.latents() && c.LatentMode == calm }

// validateCALM refuses settings that do not go with latent_mode "calm".
func (c *Config) validateCALM() error {
	switch {
	case c.LatentMode != calm:
		return nil
	case c.LatentSize == 0:
		return errors.New("amp: \"latent_mode\" is \"calm\", but \"latent_size\" is 0; give latents 2 dimensions " +
			"at least")
	case c.Overlap:
		return errors.New("amp: \"latent_mode\" is \"calm\" and \"overlap\" is true: the encoder that latents come " +
			"from is learning meanwhile; set \"overlap\" to false")
	case c.DiscriminatorMode == differential:
		return errors.New("amp: \"latent_mode\" is \"calm\", but \"discriminator_mode\" is \"differential\", which " +
			"has no motion to encode; set it to \"motion\"")
	case c.DiscriminatorGradientPenaltySamples != "motion":
		return fmt.Errorf("amp: \"discriminator_gradient_penalty_samples\" is %q; with \"latent_mode\" \"calm\" it is "+
			"\"motion\"", c.DiscriminatorGradientPenaltySamples)
	}
	return nil
}

// checkCALM refuses pictures, and a source of motion that shows no overlapping windows.
func (o Options) checkCALM(cfg *Config) error {
	if cfg.LatentMode != calm {
		return nil
	}
	if memory.NewPacking(o.Spaces.AMPObservation).Packed() {
		return fmt.Errorf("amp: \"latent_mode\" is \"calm\", but the AMP observation space %v has pictures",
			o.Spaces.AMPObservation)
	}
	if _, ok := o.Motions.(OverlappingMotionSource); o.Motions != nil && !ok {
		return fmt.Errorf("amp: \"latent_mode\" is \"calm\", which needs overlapping windows of motion, and "+
			"Options.Motions (%T) shows none: the environments of package envs/mujoco and the sources of package "+
			"motions do, others implement CollectOverlappingMotions", o.Motions)
	}
	return nil
}

// conditionOf returns the latents (n, L) at the end of observations (n, O), which condition the discriminator. It
// returns the zero Tensor unless latent_mode is "calm".
func (a *learner) conditionOf(s *tensor.Scope, observations tensor.Tensor) tensor.Tensor {
	if !a.cfg.calm() {
		return tensor.Tensor{}
	}
	return a.latentOf(s, observations)
}

// concatLatents returns rows (n, M) with latents (n, L) behind each, as the discriminator reads them. If latents is
// the zero Tensor, it returns the rows alone.
func concatLatents(s *tensor.Scope, rows, latents tensor.Tensor) tensor.Tensor {
	if latents.T == nil {
		return rows
	}
	return s.Cat(1, rows, latents)
}

// splitRows cuts rows (n, M+W) into (n, M) and (n, W).
func (a *learner) splitRows(s *tensor.Scope, rows tensor.Tensor) (first, second tensor.Tensor) {
	if s.Err() != nil {
		return tensor.Tensor{}, tensor.Tensor{}
	}
	m := int64(a.Spaces().AMPObservation.Width())
	return s.Narrow(rows, 1, 0, m), s.Narrow(rows, 1, m, tensor.Size(rows, 1)-m)
}

// encodeAgain returns a minibatch whose inputs end with new encodings of the motion behind each latent that the
// policy was given. The losses of the policy and the value network then have a gradient with respect to the encoder's
// weights. It also returns the encodings (n, L).
func (a *learner) encodeAgain(s *tensor.Scope, b onpolicy.Batch) (again onpolicy.Batch, z tensor.Tensor) {
	z = a.encode(s, a.scaled(s, b.Fields["windows"]))
	sp, l := a.Spaces(), a.cfg.LatentSize
	scaled := a.ObservationScaler.ForwardColumns(s, z, sp.Observation.Width()-l)
	b.Inputs.Observations = a.withLatent(s, b.Inputs.Observations, scaled)
	if b.Inputs.States.T != nil {
		b.Inputs.States = a.withLatent(s, b.Inputs.States, a.StateScaler.ForwardColumns(s, z, sp.State.Width()-l))
	}
	return b, z
}

// conditional returns the discriminator's logits for n rows of each kind in a minibatch, its gradient penalty, and
// the encoder's own loss. fake are the logits of the policy's rows, from this rollout and from the replay buffer,
// with their latents encoded again; encodings (n, L) are those of this rollout. With mismatched_negatives fake also
// has reference rows with the policy's latents. real are the logits of reference rows with their own encodings. The
// latents have no gradient here: the penalty is on the gradient with respect to the reference rows.
func (a *learner) conditional(s *tensor.Scope, b onpolicy.Batch, encodings tensor.Tensor, n int64) (fake, real,
	penalty, encoder tensor.Tensor) {
	pairs, replay := a.Draw.Rows(s, b.Index, n)
	policy, latents := s.Narrow(b.Fields["amp_observations"], 0, 0, n), s.Detach(s.Narrow(encodings, 0, 0, n))
	earlier, earlierLatents := policy, latents
	if replay.T != nil {
		rows, windows := a.splitRows(s, replay)
		earlier, earlierLatents = rows, s.Detach(a.encode(s, a.scaled(s, windows)))
	}
	fake = a.logits(s, s.Cat(0, concatLatents(s, a.scaled(s, policy), latents),
		concatLatents(s, a.scaled(s, earlier), earlierLatents)))

	now, next := a.splitRows(s, pairs)
	now = s.Detach(a.scaled(s, now))
	z, other := a.encode(s, now), a.encode(s, a.scaled(s, next))
	if a.cfg.MismatchedNegatives {
		fake = s.Cat(0, fake, a.logits(s, concatLatents(s, now, latents)))
	}
	if own := s.Detach(z); a.cfg.DiscriminatorGradientPenaltyScale == 0 {
		real, penalty = a.logits(s, concatLatents(s, now, own)), s.Scalar(0)
	} else {
		real, penalty = a.penaltyByAutograd(s, now, own)
	}
	return fake, real, penalty, s.Add(alignment(s, z, other), s.MulScalar(uniformity(s, z), a.cfg.UniformityLossScale))
}

// alignment returns E[‖z − z′‖²] of latents (n, L) and those of windows that overlap theirs (n, L), a scalar (Wang and
// Isola 2020).
func alignment(s *tensor.Scope, z, other tensor.Tensor) tensor.Tensor {
	return s.Mean(s.SumKeep(s.Square(s.Sub(z, other)), -1))
}

// uniformity returns ln E[exp(−2·‖zᵢ − zⱼ‖²)] over all pairs i ≠ j of latents on the unit sphere (n, L), a scalar: the
// smaller, the more evenly they fill it (Wang and Isola 2020). ‖zᵢ − zⱼ‖² is 2 − 2·zᵢ·zⱼ. Of one latent it is 0.
func uniformity(s *tensor.Scope, z tensor.Tensor) tensor.Tensor {
	if s.Err() != nil {
		return tensor.Tensor{}
	}
	n := tensor.Size(z, 0)
	if n < 2 {
		return s.Scalar(0)
	}
	between := s.Exp(s.AddScalar(s.MulScalar(s.MatMul(z, s.Transpose(z, 0, 1)), 4), -4))
	self := s.Exp(s.AddScalar(s.MulScalar(s.Sum(s.Square(z), -1), 4), -4)) // the diagonal
	return s.Log(s.MulScalar(s.Sub(s.Sum(between), s.Sum(self)), 1/float64(n*(n-1))))
}

// Encode returns the latents, n × latent_size, that the encoder gives n AMP observations (n × M), as points on the
// unit sphere. With latent_mode "calm" a policy moves like these rows if its observations end with the latents
// (wrappers.Skills.SetSource). With ASE they estimate the latents that the policy was given. Nothing is learned. The
// slice is the caller's. Without latent_size, and for rows of another width, it is an error.
func (a *Agent) Encode(ampObservations []float32) (latents []float32, err error) {
	return a.guarded("Encode", func() ([]float32, error) { return a.learner.encodeRows(ampObservations) })
}

func (a *learner) encodeRows(ampObservations []float32) ([]float32, error) {
	width := a.Spaces().AMPObservation.Width()
	if !a.cfg.latents() {
		return nil, errors.New("amp: Encode: the agent has no encoder; set \"latent_size\"")
	}
	if len(ampObservations) == 0 || len(ampObservations)%width != 0 {
		return nil, fmt.Errorf("amp: Encode: %d values of AMP observations; want rows of %d", len(ampObservations),
			width)
	}
	s := tensor.NoGrad().On(a.Device).Layers(a.Precision)
	defer s.Close()
	rows := tensor.From(s, ampObservations, int64(len(ampObservations)/width), int64(width))
	return a.encoded(s, a.scaled(s, rows))
}

// encoded returns the latents of rows (n, M) as the encoder sees them.
func (a *learner) encoded(s *tensor.Scope, rows tensor.Tensor) ([]float32, error) {
	z := a.encode(s, rows)
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("amp: encoding: %w", err)
	}
	return tensor.Float32s(z)
}

// shownLatents is the most latents that Latents returns.
const shownLatents = 4096

// Latents returns the latents of reference motion by the present encoder, n × latent_size: those of the rows of the
// motion dataset, at most 4096 of them. With latent_mode "calm" wrappers.Skills draws one of them at a time for each
// environment: pass this method to wrappers.Skills.SetSource. In training the agent refuses latents of any other
// source, because it learns from the motion behind each. The latents are computed again after an update and after a
// Restore. The slice is the agent's. Without latent_mode "calm" Latents returns an error.
func (a *Agent) Latents() (latents []float32, err error) {
	return a.guarded("Latents", a.learner.latentsOfMotion)
}

func (a *learner) latentsOfMotion() ([]float32, error) {
	if !a.cfg.calm() {
		return nil, errors.New("amp: Latents: the latents are not those of motion; set \"latent_mode\" to \"calm\"")
	}
	if a.motionLatents != nil {
		return a.motionLatents, nil
	}
	s := tensor.NoGrad().On(a.Device).Layers(a.Precision)
	defer s.Close()
	now, _ := a.splitRows(s, s.Narrow(a.motionSet.Data(), 0, 0, min(shownLatents, a.motionSet.Len())))
	points, err := a.encoded(s, a.scaled(s, now))
	if err != nil {
		return nil, err
	}
	rows, err := tensor.Float32s(now)
	if err != nil {
		return nil, fmt.Errorf("amp: reading motion: %w", err)
	}
	a.windows.returned = a.windows.table(points, rows)
	a.motionLatents = points
	return a.motionLatents, nil
}

// newMemory makes a memory of AMP observations, with latent_mode "calm" of rows that have so many values more.
func (a *learner) newMemory(capacity, more int) (*memory.Replay, error) {
	if a.cfg.calm() {
		return memory.NewReplay(capacity, a.Spaces().AMPObservation.Width()+more, a.Device)
	}
	return a.rows.NewReplay(capacity, a.Device)
}
