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

// CALM, conditional adversarial latent models (Tessler et al. 2023), has latents that mean something: z = E(x) is the
// encoding of reference motion, and the discriminator D(x | z) is shown it. It tells a row of reference motion beside its
// own encoding from a row of the policy beside the latent that the policy was told. So the policy is rewarded for the
// motion that z encodes, and the encoder, which learns through the discriminator, for latents by which motions can be
// told apart. Two windows of motion that overlap should have the same latent, and all together fill the sphere.

// calm is latent_mode's value for it.
const calm = "calm"

// CALMConfig returns the defaults with latent_mode "calm" and latents of 64 dimensions. The encoder's reward and the
// diversity loss are off. The encoder's own loss weighs 5 times as much as the discriminator's, where the paper has 0.1:
// with so little of it, and the few rows of a small run, the encoder helps the discriminator by latents that it has not
// given before, which tell nothing of the motion.
func CALMConfig() Config {
	c := DefaultConfig()
	c.LatentMode, c.LatentSize = calm, 64
	c.DiscriminatorLossScale, c.EncoderLossScale, c.EncoderRewardScale, c.DiversityLossScale = 1, 5, 0, 0
	return c
}

// OverlappingMotionSource is a [MotionSource] that shows two windows of motion that overlap, which latent_mode "calm"
// needs. The environments of package envs/mujoco and the sources of package motions do.
type OverlappingMotionSource interface {
	// CollectOverlappingMotions returns n pairs of rows of AMP observations, n × 2M values, drawn with rng: one at a random
	// time of a clip, as CollectReferenceMotions draws it, and behind it one that begins a few steps later, within it.
	CollectOverlappingMotions(n int, rng *rand.Rand) ([]float32, error)
}

// WithConditionalDiscriminator returns models whose discriminator reads AMP observations with a latent of the given size
// behind each, as latent_mode "calm" needs it: a perceptron with the given hidden layers. m are models that build
// themselves (Models.Make), as those of [WithEncoder] do.
func WithConditionalDiscriminator(m Models, sp spaces.Set, latent int, hidden []int, activation string) Models {
	return made(func(out *Models, seed int64) (err error) {
		if m.Make == nil {
			m.close()
			return errors.New("amp: WithConditionalDiscriminator needs models with Make; give networks of your own such a Discriminator")
		}
		if *out, err = m.Make(seed); err != nil {
			return err
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
func (a *learner) calm() bool { return a.latents() && a.cfg.LatentMode == calm }

// validateCALM refuses settings that do not go with latent_mode "calm".
func (c *Config) validateCALM() error {
	if c.LatentMode != calm {
		return nil
	}
	switch {
	case c.LatentSize == 0:
		return errors.New("amp: \"latent_mode\" is \"calm\", but \"latent_size\" is 0; give latents 2 dimensions at least")
	case c.Overlap:
		return errors.New("amp: \"latent_mode\" is \"calm\" and \"overlap\" is true: the encoder that latents come from is learning " +
			"meanwhile; set \"overlap\" to false")
	case c.DiscriminatorMode == differential:
		return errors.New("amp: \"latent_mode\" is \"calm\", but \"discriminator_mode\" is \"differential\", which has no motion to encode; " +
			"set it to \"motion\"")
	case c.DiscriminatorGradientPenaltySamples != "motion":
		return fmt.Errorf("amp: \"discriminator_gradient_penalty_samples\" is %q; with \"latent_mode\" \"calm\" it is \"motion\"",
			c.DiscriminatorGradientPenaltySamples)
	}
	return nil
}

// checkCALM refuses pictures, and a source of motion that shows no overlapping windows.
func (o Options) checkCALM(cfg *Config) error {
	if cfg.LatentMode != calm {
		return nil
	}
	if memory.NewPacking(o.Spaces.AMPObservation).Packed() {
		return fmt.Errorf("amp: \"latent_mode\" is \"calm\", but the AMP observation space %v has pictures", o.Spaces.AMPObservation)
	}
	if _, ok := o.Motions.(OverlappingMotionSource); o.Motions != nil && !ok {
		return fmt.Errorf("amp: \"latent_mode\" is \"calm\", which needs overlapping windows of motion, and Options.Motions (%T) shows none: "+
			"the environments of package envs/mujoco and the sources of package motions do, others implement CollectOverlappingMotions", o.Motions)
	}
	return nil
}

// pairs asks the source for n pairs of windows of reference motion that overlap, and checks them.
func (a *learner) pairs(n int) ([]float32, error) {
	space := a.Spaces().AMPObservation
	rows, err := a.motions.(OverlappingMotionSource).CollectOverlappingMotions(n, a.Rng) // checkCALM has seen to it
	if err == nil && len(rows) != 2*n*space.Width() {
		err = fmt.Errorf("CollectOverlappingMotions(%d) returned %d values, want %d pairs of rows of the AMP observation space's %d",
			n, len(rows), n, space.Width())
	}
	if err == nil {
		err = space.Check(rows, 2*n)
	}
	if err != nil {
		return nil, fmt.Errorf("amp: reference motion: %w", err)
	}
	return rows, nil
}

// told returns the latents (n, L) in observations (n, O), by which the discriminator judges; without conditions the zero
// Tensor.
func (a *learner) told(s *tensor.Scope, observations tensor.Tensor) tensor.Tensor {
	if !a.calm() {
		return tensor.Tensor{}
	}
	return a.latentOf(s, observations)
}

// beside returns rows (n, M) with latents (n, L) behind each, as the discriminator reads them, or the rows alone where
// there are none.
func beside(s *tensor.Scope, rows, latents tensor.Tensor) tensor.Tensor {
	if latents.T == nil {
		return rows
	}
	return s.Cat(1, rows, latents)
}

// halves cuts rows (n, M+W) into (n, M) and (n, W).
func (a *learner) halves(s *tensor.Scope, rows tensor.Tensor) (first, second tensor.Tensor) {
	if s.Err() != nil {
		return tensor.Tensor{}, tensor.Tensor{}
	}
	m := int64(a.Spaces().AMPObservation.Width())
	return s.Narrow(rows, 1, 0, m), s.Narrow(rows, 1, m, tensor.Size(rows, 1)-m)
}

// conditional returns what the discriminator says of a minibatch with latents, and the encoder's own loss. fake are the
// logits of the policy's rows beside the latents that it was told, now and earlier, and with mismatched_negatives of
// reference rows beside the encodings of others; real those of n reference rows beside their own encodings, through which
// the encoder learns. The gradient penalty is on the gradient by the reference rows, not by the latents.
func (a *learner) conditional(s *tensor.Scope, b onpolicy.Batch, n int64) (fake, real, penalty, encoder tensor.Tensor) {
	pairs, replay := a.Draw.MotionRows(s, b.Index, n), a.Draw.ReplayRows(s, b.Index, n)
	policy := beside(s, b.Extra[0], a.told(s, b.Extra[1]))
	if s.Err() == nil && tensor.Size(policy, 0) > n {
		policy = s.Narrow(policy, 0, 0, n)
	}
	if replay.T == nil {
		replay = policy
	}
	rows, latents := a.halves(s, s.Cat(0, policy, replay))
	fake = a.logits(s, beside(s, a.scaled(s, rows), latents))

	now, next := a.halves(s, pairs)
	now = s.Detach(a.scaled(s, now))
	z, other := a.encode(s, now), a.encode(s, a.scaled(s, next))
	if a.cfg.MismatchedNegatives && n > 1 {
		shifted := s.Cat(0, s.Narrow(z, 0, 1, n-1), s.Narrow(z, 0, 0, 1))
		fake = s.Cat(0, fake, a.logits(s, beside(s, now, shifted)))
	}
	if a.cfg.DiscriminatorGradientPenaltyScale == 0 {
		real, penalty = a.logits(s, beside(s, now, z)), s.Scalar(0)
	} else {
		real, penalty = a.penaltyByAutograd(s, now, z)
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

// Encode returns the latents, n × latent_size, that the encoder gives n AMP observations (n × M), as points on the unit
// sphere: what a policy of latent_mode "calm" is told to move like them (wrappers.Skills.SetSource), and of ASE what it
// was probably told. Nothing is learned. The slice is the caller's. Without latent_size, and for rows of another width, it
// is an error.
func (a *Agent) Encode(ampObservations []float32) ([]float32, error) {
	l := a.learner
	width := l.Spaces().AMPObservation.Width()
	if !l.latents() {
		return nil, errors.New("amp: Encode: the agent has no encoder; set \"latent_size\"")
	}
	if len(ampObservations) == 0 || len(ampObservations)%width != 0 {
		return nil, fmt.Errorf("amp: Encode: %d values of AMP observations; want rows of %d", len(ampObservations), width)
	}
	s := tensor.NoGrad().On(l.Device).Layers(l.Precision)
	defer s.Close()
	rows := tensor.From(s, ampObservations, int64(len(ampObservations)/width), int64(width))
	return l.encoded(s, l.scaled(s, rows))
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

// Latents returns the latents of reference motion by the present encoder, n × latent_size: those of the rows of the motion
// dataset, at most 4096 of them. With latent_mode "calm" a policy is told one of them at a time, and wrappers.Skills draws
// them: give it this method (wrappers.Skills.SetSource). They are computed anew after an update and after a Restore. The
// slice is the agent's. Without latent_mode "calm" it is an error.
func (a *Agent) Latents() ([]float32, error) {
	l := a.learner
	if !l.calm() {
		return nil, errors.New("amp: Latents: the latents are not those of motion; set \"latent_mode\" to \"calm\"")
	}
	if l.shown != nil {
		return l.shown, nil
	}
	s := tensor.NoGrad().On(l.Device).Layers(l.Precision)
	defer s.Close()
	now, _ := l.halves(s, s.Narrow(l.motionSet.Data(), 0, 0, min(shownLatents, l.motionSet.Len())))
	var err error
	l.shown, err = l.encoded(s, l.scaled(s, now))
	return l.shown, err
}

// newMemory makes a memory of AMP observations, with latent_mode "calm" of rows that have so many values more.
func (a *learner) newMemory(capacity, more int) (*memory.Replay, error) {
	if a.calm() {
		return memory.NewReplay(capacity, a.Spaces().AMPObservation.Width()+more, a.Device)
	}
	return a.rows.NewReplay(capacity, a.Device)
}

// misfit says that the discriminator cannot read what it is to judge.
func (a *learner) misfit(err error) error {
	if a.calm() {
		return fmt.Errorf("amp: the discriminator does not fit AMP observations %v with %d values of a latent behind them, which "+
			"amp.WithConditionalDiscriminator makes it for: %w", a.Spaces().AMPObservation, a.cfg.LatentSize, err)
	}
	return fmt.Errorf("amp: the discriminator does not fit AMP observations %v: %w", a.Spaces().AMPObservation, err)
}
