package ppo

import (
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// Models are PPO's networks. They belong to one agent, which closes them.
type Models struct {
	// Policy draws actions; Value computes (n, 1) from the same inputs.
	Policy models.Policy
	Value  models.Network
	// Make builds both from the agent's seed, if they are not given.
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

// CNNs returns models for observations with pictures: convolutional networks as cfg describes them (models.DefaultCNN
// is the usual start), otherwise like those of [MLPs]. The value network reads states if there are any.
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
// again, and package pbt/evolution changes them. The value network reads states if there are any, and its
// architecture must fit them then.
func Evolvable(sp spaces.Set, policy, value description.Architecture, gaussian models.GaussianConfig) Models {
	return Models{Make: func(seed int64) (models.Policy, models.Network, error) {
		return models.EvolvableActorCritic(sp, policy, value, gaussian, seed)
	}}
}
