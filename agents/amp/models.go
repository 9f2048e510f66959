package amp

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// Models are AMP's networks. The agent takes them over and closes them.
type Models struct {
	// Policy draws actions; Value computes (n, 1) from the same inputs.
	Policy models.Policy
	Value  models.Network
	// Discriminator computes a logit (n, 1) from AMP observations. Weight decay and logit regularisation need to know
	// its linear layers (models.Linears, which every MLP has).
	Discriminator models.Network
	// StyleValue is the second critic of separate_critics.
	StyleValue models.Network
	// Encoder computes a latent (n, latent_size) from AMP observations. The agent scales the latent to length 1. Set it
	// only with latent_size; see [WithEncoder].
	Encoder models.Network
	// Make builds them from the agent's seed, if they are not given.
	Make func(seed int64) (Models, error)
}

// DefaultGaussian returns the settings of the Gaussian policy of [MLPs]: a log standard deviation that starts at −1.
func DefaultGaussian() models.GaussianConfig {
	gaussian := models.DefaultGaussianConfig()
	gaussian.InitialLogStd = -1
	return gaussian
}

// MLPs returns models of multilayer perceptrons with the given hidden layers: a Gaussian policy with a log standard
// deviation that starts at −1, value networks, and a discriminator of the AMP observation. An initialization says how
// the weights of policy and value networks start; the discriminator's are PyTorch's.
func MLPs(sp spaces.Set, hidden []int, activation string, initialization ...models.Initialization) Models {
	return Recurrent(sp, models.RecurrentLayer{}, hidden, activation, initialization...)
}

// Recurrent returns models like those of [MLPs] with memory: a stack of recurrent layers (models.GRU, models.LSTM,
// models.RNN) reads the rows in the policy, and one of its own in each value network, before the hidden layers. The
// discriminator is a perceptron: it judges transitions one by one. The setting sequence_length says through how many
// steps the networks learn.
func Recurrent(sp spaces.Set, memory models.RecurrentLayer, hidden []int, activation string,
	initialization ...models.Initialization) Models {
	gaussian := DefaultGaussian()
	return made(func(m *Models, seed int64) (err error) {
		if m.Policy, m.Value, err = models.RecurrentActorCritic(sp, memory, hidden, activation, gaussian, seed,
			initialization...); err != nil {
			return err
		}
		if m.Discriminator, err = models.NewMLP(models.MLPConfig{Inputs: sp.AMPObservation.Width(), Outputs: 1,
			Hidden: hidden, Activation: activation}, seed+2); err != nil {
			return err
		}
		m.StyleValue, err = models.RecurrentValue(sp, memory, hidden, activation, seed+4, initialization...)
		return err
	})
}

// CNNs returns models for observations with pictures: convolutional networks as cfg describes them (models.DefaultCNN
// is the usual start), otherwise like those of [MLPs]. Pictures among the AMP observations are the discriminator's to
// see, too.
func CNNs(sp spaces.Set, cfg models.CNNConfig) Models {
	return made(func(m *Models, seed int64) (err error) {
		if m.Policy, m.Value, err = models.CNNActorCritic(sp, cfg, DefaultGaussian(), seed); err != nil {
			return err
		}
		of := cfg
		of.Space, of.Outputs, of.Source, of.OutputGain, of.Initialization = sp.AMPObservation, 1, "", 0,
			models.Initialization{}
		if m.Discriminator, err = models.NewCNN(of, seed+2); err != nil {
			return fmt.Errorf("amp: discriminator: %w", err)
		}
		m.StyleValue, err = models.ValueCNN(sp, cfg, seed+4)
		return err
	})
}

// Evolvable returns models of the given architectures, otherwise like those of [MLPs]; [Agent.Architectures] tells them
// again, and package pbt/evolution changes them. The discriminator's is of AMP observations. A second critic has the
// value network's.
func Evolvable(sp spaces.Set, policy, value, discriminator description.Architecture,
	gaussian models.GaussianConfig) Models {
	return made(func(m *Models, seed int64) (err error) {
		if err := discriminator.Fits(sp.AMPObservation); err != nil {
			return fmt.Errorf("amp: discriminator: %w", err)
		}
		if m.Policy, m.Value, err = models.EvolvableActorCritic(sp, policy, value, gaussian, seed); err != nil {
			return err
		}
		if m.Discriminator, err = models.NewEvolvable(models.EvolvableConfig{Architecture: discriminator,
			Outputs: 1}, seed+2); err != nil {
			return err
		}
		m.StyleValue, err = models.EvolvableValue(sp, value, seed+4)
		return err
	})
}

// made returns models that fill makes. On its error those made so far are closed.
func made(fill func(m *Models, seed int64) error) Models {
	return Models{Make: func(seed int64) (m Models, err error) {
		if err = fill(&m, seed); err != nil {
			m.close()
		}
		return m, err
	}}
}

// remade returns models that m makes and change changes. name is the calling function, own what networks of the user's
// own must be given instead.
func remade(m Models, name, own string, change func(out *Models, seed int64) error) Models {
	return made(func(out *Models, seed int64) (err error) {
		if m.Make == nil {
			m.close()
			return fmt.Errorf("amp: %s needs models with Make; give networks of your own %s", name, own)
		}
		if *out, err = m.Make(seed); err != nil {
			return err
		}
		return change(out, seed)
	})
}

// none reports whether no network is given, so that Make is asked for them.
func (m Models) none() bool {
	return m.Policy == nil && m.Value == nil && m.Discriminator == nil && m.StyleValue == nil && m.Encoder == nil
}

// close closes the networks that there are.
func (m Models) close() {
	onpolicy.CloseFree(m.Policy)
	for _, n := range []models.Network{m.Value, m.Discriminator, m.StyleValue, m.Encoder} {
		onpolicy.CloseFree(n)
	}
}

// check refuses missing networks, and penalties on weights of a discriminator that does not say which ones they are.
func (m Models) check(cfg *Config) error {
	switch {
	case m.Policy == nil || m.Value == nil || m.Discriminator == nil:
		return errors.New("amp: Options.Models needs a Policy, a Value network and a Discriminator; amp.MLPs " +
			"makes them")
	case cfg.SeparateCritics && m.StyleValue == nil:
		return errors.New("amp: separate_critics needs Options.Models.StyleValue")
	case cfg.LatentSize > 0 && m.Encoder == nil:
		return errors.New("amp: latent_size needs Options.Models.Encoder; amp.WithEncoder makes it")
	}
	if cfg.DiscriminatorLogitRegularizationScale > 0 || cfg.DiscriminatorWeightDecayScale > 0 {
		if _, ok := m.Discriminator.(models.Linears); !ok {
			return fmt.Errorf("amp: the discriminator (%T) does not say which weights are linear layers' "+
				"(models.Linears); set discriminator_logit_regularization_scale and discriminator_weight_decay_scale "+
				"to 0, or implement it", m.Discriminator)
		}
	}
	return nil
}
