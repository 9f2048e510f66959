// Package ppo is proximal policy optimisation (Schulman et al. 2017) with generalised advantage estimation.
//
// Make an agent with [New] from an environment's spaces, models (see [MLPs]) and settings; a trainer drives it. The
// whole algorithm is in update.go.
package ppo

import (
	"cmp"
	"errors"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// Models are PPO's networks. They belong to one agent, which closes them.
type Models struct {
	// Policy draws actions; Value computes (n, 1) from the same inputs.
	Policy models.Policy
	Value  models.Network
	// Make builds both from the agent's seed, where they are not given.
	Make func(seed int64) (models.Policy, models.Network, error)
}

// MLPs returns models of multilayer perceptrons with the given hidden layers: a Gaussian policy for a Box action space
// (log standard deviation starting at 0), a categorical one for discrete actions. An initialization says how weights
// start, otherwise as [models.ActorCritic] describes.
func MLPs(sp spaces.Set, hidden []int, activation string, initialization ...models.Initialization) Models {
	return Models{Make: func(seed int64) (models.Policy, models.Network, error) {
		return models.ActorCritic(sp, hidden, activation, models.DefaultGaussianConfig(), seed, initialization...)
	}}
}

// CNNs returns models for observations with pictures: convolutional networks as cfg describes them (models.DefaultCNN is
// the usual start), otherwise like those of [MLPs]. The value network reads states where there are any.
func CNNs(sp spaces.Set, cfg models.CNNConfig) Models {
	return Models{Make: func(seed int64) (models.Policy, models.Network, error) {
		return models.CNNActorCritic(sp, cfg, models.DefaultGaussianConfig(), seed)
	}}
}

// Recurrent returns models like those of [MLPs] with memory: a stack of recurrent layers (models.GRU, models.LSTM,
// models.RNN) reads the rows in the policy and another one in the value network, each before the hidden layers. The
// setting sequence_length says through how many steps they learn.
func Recurrent(sp spaces.Set, memory models.RecurrentLayer, hidden []int, activation string,
	initialization ...models.Initialization) Models {
	return Models{Make: func(seed int64) (models.Policy, models.Network, error) {
		return models.RecurrentActorCritic(sp, memory, hidden, activation, models.DefaultGaussianConfig(), seed,
			initialization...)
	}}
}

// Evolvable returns models of the given architectures, otherwise like those of [MLPs]; [Agent.Architectures] tells them
// again, and package pbt/evolution changes them. The value network reads states where there are any, and its
// architecture must fit them then.
func Evolvable(sp spaces.Set, policy, value description.Architecture, gaussian models.GaussianConfig) Models {
	return Models{Make: func(seed int64) (models.Policy, models.Network, error) {
		return models.EvolvableActorCritic(sp, policy, value, gaussian, seed)
	}}
}

// Options is what an agent is made of.
type Options struct {
	// Spaces describes one environment, NumEnvs is how many act together; 0 leaves it to the trainer.
	Spaces  spaces.Set
	NumEnvs int
	// Models are the networks, for instance from [MLPs].
	Models Models
	// Config are the settings to start from, nil for [DefaultConfig]. The agent keeps a copy.
	Config *Config
	// Dict is merged over Config: settings by the keys of skrl's documentation, see [FromDict]. nil changes nothing.
	Dict map[string]any
	// Seed starts every random sequence of the agent. Same seed, same machine, same run.
	Seed int64
	// Group is this process's part where several train the agent (distributed.Join). All give the same settings, models
	// and seed; parameters are then rank 0's everywhere, and each rank draws its own random numbers. nil is one process.
	Group *distributed.Group
}

// learner is the inside of an [Agent]: the core that all on-policy agents share, and PPO's settings.
type learner struct {
	*onpolicy.Core
	cfg *Config
}

// New makes an agent. It returns an error, before anything changes, if spaces, models or settings are wrong, and
// closes the models then. A network that belongs to another agent is also an error, and stays open.
func New(o Options) (*Agent, error) {
	cfg, err := o.config()
	if err == nil {
		err = o.Spaces.Validate()
	}
	switch made := o.Models.Make != nil && o.Models.Policy == nil && o.Models.Value == nil; {
	case err != nil:
	case made:
		o.Models.Policy, o.Models.Value, err = o.Models.Make(o.Seed)
	case cfg.Overlap:
		err = onpolicy.NeedsMake("ppo")
	}
	if err == nil && (o.Models.Policy == nil || o.Models.Value == nil) {
		err = errors.New("ppo: Options.Models needs a Policy and a Value network; ppo.MLPs makes them")
	}
	if err != nil {
		o.Models.close()
		return nil, err
	}
	options := onpolicy.Options{Name: "PPO", Spaces: o.Spaces, NumEnvs: o.NumEnvs, Config: &cfg.OnPolicy, Settings: cfg,
		Policy: o.Models.Policy, Value: o.Models.Value, Seed: o.Seed, Group: o.Group}
	core, err := onpolicy.New(options)
	if err != nil {
		return nil, err
	}
	a := &learner{core, cfg}
	if !cfg.Overlap {
		return guard(a, a, o.Seed), nil
	}
	if options.Policy, options.Value, err = o.Models.Make(o.Seed); err != nil {
		_ = a.Close()
		return nil, err
	}
	both, err := onpolicy.NewOverlap(a, core, options)
	if err != nil {
		return nil, err
	}
	return guard(a, both, o.Seed), nil
}

func (m Models) close() {
	onpolicy.CloseFree(m.Policy)
	onpolicy.CloseFree(m.Value)
}

// config returns the agent's own copy of the settings.
func (o Options) config() (*Config, error) {
	if o.Config == nil {
		cfg, err := FromDict(o.Dict, o.Spaces)
		return &cfg, err
	}
	cfg := o.Config.clone()
	return &cfg, cfg.merge(o.Dict, o.Spaces)
}

// SetHyperparameters changes settings that may change while training, all or none.
func (a *learner) SetHyperparameters(values map[string]float64) error {
	next := a.cfg.clone()
	if err := agents.Assign("ppo", next.Tunable(), values); err != nil {
		return err
	}
	agents.Rescale(next.LearningRate, a.cfg.LearningRate[0])
	agents.Rescale(next.GradNormClip, a.cfg.GradNormClip[0])
	if err := cmp.Or(next.Validate(), a.CheckSettings(&next.OnPolicy)); err != nil {
		return err
	}
	*a.cfg = next
	return a.ApplySettings()
}
