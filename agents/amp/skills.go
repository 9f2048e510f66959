package amp

import (
	"errors"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// ASE, adversarial skill embeddings (Peng et al. 2022, arXiv 2205.01906), is AMP for a policy π(a | s, z) that has many
// motions in it, one for each latent z on the unit sphere of latent_size dimensions. The environment shows z: it is the
// end of the observation, redrawn from time to time (wrappers.NewSkills). An encoder μ is rewarded, and the policy
// with it, for telling z from the motion, and a loss keeps different z from leading to the same actions.

// WithEncoder returns models with an encoder for latents of the given size. The encoder is an output layer on the
// hidden layers of the discriminator, which both train (models.Branch; the authors' enc.separate: False). m are
// models that build themselves (Models.Make), as those of [MLPs] and [CNNs] do. For networks of your own, set
// Models.Encoder.
func WithEncoder(m Models, latent int) Models {
	return withEncoder(m, "WithEncoder", func(discriminator models.Network, seed int64) (models.Network, error) {
		encoder, err := models.Branch(discriminator, latent, seed)
		if err != nil {
			return nil, fmt.Errorf("%w; WithSeparateEncoder makes one with layers of its own", err)
		}
		return encoder, nil
	})
}

// WithSeparateEncoder returns models with an encoder that is a network of its own (the authors' enc.separate: True):
// a perceptron of AMP observations with the given hidden layers. It is otherwise like [WithEncoder]. CALM and
// evolvable discriminators need a separate encoder.
func WithSeparateEncoder(m Models, sp spaces.Set, latent int, hidden []int, activation string) Models {
	return withEncoder(m, "WithSeparateEncoder", func(_ models.Network, seed int64) (models.Network, error) {
		return models.NewMLP(models.MLPConfig{Inputs: sp.AMPObservation.Width(), Outputs: latent, Hidden: hidden,
			Activation: activation}, seed)
	})
}

func withEncoder(m Models, name string, encoder func(of models.Network, seed int64) (models.Network, error)) Models {
	return remade(m, name, "their Encoder", func(out *Models, seed int64) (err error) {
		if out.Encoder, err = encoder(out.Discriminator, seed+6); err != nil {
			return fmt.Errorf("amp: encoder: %w", err)
		}
		return nil
	})
}

// latents reports whether observations end with a latent.
func (c *Config) latents() bool { return c.LatentSize > 0 }

// checkLatents refuses spaces that have no room for latents, and settings that do not go with them.
func (c *Config) checkLatents(sp spaces.Set) error {
	switch {
	case c.LatentSize == 0:
		return nil // Validate has refused it with latent_mode "calm"
	case c.LatentSize == 1:
		return errors.New("amp: \"latent_size\" is 1, which has two latents, -1 and 1; give it 2 dimensions at least")
	case c.SeparateCritics:
		return errors.New("amp: \"latent_size\" needs one critic; set \"separate_critics\" to false")
	case !c.endsWithLatent(sp.Observation):
		return fmt.Errorf("amp: \"latent_size\" is %d, but the observation space is %v: it must be a vector whose "+
			"last %d values are the latent, which wrappers.NewSkills adds", c.LatentSize, sp.Observation, c.LatentSize)
	case sp.State.Kind != spaces.None && !c.endsWithLatent(sp.State):
		return fmt.Errorf("amp: \"latent_size\" is %d, but the state space is %v: it must be a vector whose last %d "+
			"values are the latent, which wrappers.NewSkills adds", c.LatentSize, sp.State, c.LatentSize)
	}
	return nil
}

// endsWithLatent reports whether rows of a space have room for a latent at their end.
func (c *Config) endsWithLatent(space spaces.Space) bool {
	return space.Kind == spaces.Box && !memory.NewPacking(space).Packed() && space.Width() > c.LatentSize
}

// probeEncoder runs the encoder once, so that a width that does not fit is an error of New.
func (a *learner) probeEncoder(s *tensor.Scope) error {
	if len(a.HiddenSizes()) > 0 {
		return errors.New("amp: \"latent_size\" needs networks without memory, which see the latent in every row")
	}
	space := a.Spaces().AMPObservation
	if err := a.probe(s, "the encoder", fmt.Sprintf("AMP observations %v", space), a.encoder,
		models.Inputs{Observations: s.Zeros(1, int64(space.Width()))}, a.cfg.LatentSize,
		": \"latent_size\""); err != nil {
		return err
	}
	in := a.ZeroInputs(s)
	if a.cfg.DiversityLossScale > 0 && a.Policy.Evaluate(s, in, a.Policy.Mode(s, in)).Mean.T == nil {
		return errors.New("amp: \"diversity_loss_scale\" needs a policy that says the mean of its actions, a " +
			"Gaussian one; set it to 0")
	}
	return s.Err()
}

// latentOf returns the end of observations (n, O) as they were observed: z, (n, L).
func (a *learner) latentOf(s *tensor.Scope, observations tensor.Tensor) tensor.Tensor {
	l := int64(a.cfg.LatentSize)
	return s.Narrow(observations, 1, int64(a.Spaces().Observation.Width())-l, l)
}

// withLatent returns rows (n, W) whose last L values are replaced by latents (n, L).
func (a *learner) withLatent(s *tensor.Scope, rows, latents tensor.Tensor) tensor.Tensor {
	if s.Err() != nil {
		return tensor.Tensor{}
	}
	return s.Cat(1, s.Narrow(rows, 1, 0, tensor.Size(rows, 1)-int64(a.cfg.LatentSize)), latents)
}

// nextValues returns Core.NextValues. With latents the value of what followed a step is V(s', z) for the latent z of
// that step, even if the environment has drawn another one since (as in Peng et al.'s program).
func (a *learner) nextValues(s *tensor.Scope) onpolicy.Masks {
	if !a.cfg.latents() {
		return a.NextValues(s, a.Estimator)
	}
	z := a.latentOf(s, a.Rollout.Rows("observations"))
	observations, states := a.NextRows(s)
	if states.T != nil {
		states = a.withLatent(s, states, z)
	}
	values := a.ValuesOf(s, a.Estimator, a.withLatent(s, observations, z), states)
	return a.Masks(s, a.Estimator, s.Reshape(values, int64(a.Rollout.Steps()), int64(a.Rollout.Envs()), 1))
}

// likeness returns z·μ(x), (n, 1), of latents (n, L) and AMP observations as the discriminator sees them (n, M): the
// logarithm of the encoder's von Mises-Fisher density q(z | x), but for a constant (Peng et al. 2022, eq. 12).
func (a *learner) likeness(s *tensor.Scope, latents, rows tensor.Tensor) tensor.Tensor {
	return s.SumKeep(s.Mul(latents, a.encode(s, rows)), -1)
}

// encode returns μ(x), (n, L), of AMP observations as the discriminator sees them (n, M): points on the unit sphere.
func (a *learner) encode(s *tensor.Scope, rows tensor.Tensor) tensor.Tensor {
	return unit(s, a.encoder.Forward(s, models.Inputs{Observations: a.masked(s, rows)}))
}

// unit returns rows (n, L), each divided by its length.
func unit(s *tensor.Scope, rows tensor.Tensor) tensor.Tensor {
	return s.Div(rows, s.ClampMin(s.Sqrt(s.AddScalar(s.SumKeep(s.Square(rows), -1), 1e-12)), 1e-6))
}

// encoderReward returns max(0, z·μ(x)) of every step of the rollout, (T, N, 1).
func (a *learner) encoderReward(s *tensor.Scope) tensor.Tensor {
	r := a.Rollout
	rows := a.scaled(s, a.rows.Float32(s, r.Rows("amp_observations")))
	reward := s.ClampMin(a.likeness(s, a.latentOf(s, r.Rows("observations")), rows), 0)
	return s.Reshape(reward, int64(r.Steps()), int64(r.Envs()), 1)
}

// skillLosses are those that latents add to a minibatch's, scalars: −E[z·μ(x)] of the encoder, or with latent_mode
// "calm" the own loss that conditional has computed, and of the policy
//
//	E[(1 − r)²],  r = mean over the action's dimensions of (m(s, z′) − m(s, z))² / (½ − ½·z·z′ + 1e-5)
//
// where m is the mean action, scaled and clipped by clippedMean, and z′ a fresh latent. The policy's loss is small if
// different latents lead to actions that differ as much (Peng et al. 2022, eq. 15, with the squared distance and the
// clipping of their program).
func (a *learner) skillLosses(s *tensor.Scope, b onpolicy.Batch, e models.Evaluation,
	conditional tensor.Tensor) (encoder, diversity tensor.Tensor) {
	observations := b.Raw
	z := a.latentOf(s, observations)
	if encoder = conditional; encoder.T == nil {
		n := a.judgedRows(b)
		rows := a.scaled(s, a.rows.Float32(s, s.Narrow(b.Fields["amp_observations"], 0, 0, n)))
		encoder = s.Neg(s.Mean(a.likeness(s, s.Narrow(z, 0, 0, n), rows)))
	}
	if a.cfg.DiversityLossScale == 0 {
		return encoder, s.Scalar(0)
	}
	n, l := tensor.Size(z, 0), int64(a.cfg.LatentSize)
	other := unit(s, s.Randn(a.Gen, n, l))
	inputs := b.Inputs
	inputs.Observations = a.Inputs(s, a.withLatent(s, observations, other), tensor.Tensor{}).Observations
	mean := a.Policy.Evaluate(s, inputs, b.Actions).Mean
	between := s.AddScalar(s.MulScalar(s.SumKeep(s.Mul(z, other), -1), -0.5), 0.5+1e-5)
	moved := s.MeanKeep(s.Square(s.Sub(a.clippedMean(s, mean), a.clippedMean(s, e.Mean))), -1)
	return encoder, s.Mean(s.Square(s.ScalarSub(1, s.Div(moved, between))))
}

// clippedMean scales mean actions (n, A) so that the bounds of each dimension are −1 and 1, and clips them to [−1,
// 1]. A dimension without finite bounds is clipped but not scaled.
func (a *learner) clippedMean(s *tensor.Scope, mean tensor.Tensor) tensor.Tensor {
	if a.half.T != nil {
		mean = s.Div(s.Sub(mean, a.middle), a.half)
	}
	return s.Clamp(mean, -1, 1)
}

// measureActions computes the scale of clippedMean from the action space. It leaves middle and half zero Tensors if no
// dimension needs a scale.
func (a *learner) measureActions() error {
	space := a.Spaces().Action
	middle, half := make([]float32, space.Width()), make([]float32, space.Width())
	for j := range half {
		half[j] = 1
		if space.Low == nil || space.High == nil {
			continue
		}
		if low, high := float64(space.Low[j]), float64(space.High[j]); high > low && !math.IsInf(high-low, 0) {
			middle[j], half[j] = float32((low+high)/2), float32((high-low)/2)
		}
	}
	needed := false
	for j := range half {
		needed = needed || middle[j] != 0 || half[j] != 1
	}
	if !needed {
		return nil
	}
	a.middle, a.half = tensor.From(a.resident, middle), tensor.From(a.resident, half)
	return a.resident.Err()
}
