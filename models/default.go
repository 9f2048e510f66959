package models

import (
	"cmp"
	"fmt"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// NewDistribution returns the usual distribution for an action space: [Gaussian] for a Box, [Categorical] for Discrete
// and MultiDiscrete.
func NewDistribution(action spaces.Space, gaussian GaussianConfig) (Distribution, error) {
	switch action.Kind {
	case spaces.Box:
		return NewGaussian(action, gaussian)
	case spaces.Discrete:
		return NewCategorical(action)
	case spaces.MultiDiscrete:
		return NewMultiCategorical(action, "")
	}
	return nil, fmt.Errorf("models: there is no policy for the action space %v", action)
}

// ActorCritic returns a policy and a value network with the same hidden layers. The policy's output layer starts at a
// hundredth of PyTorch's initial weights, so that the first actions are near the middle (Andrychowicz et al. 2021). The
// value network reads states if there are any, and its seed is seed + 1. An initialization replaces these starts.
func ActorCritic(sp spaces.Set, hidden []int, activation string, gaussian GaussianConfig, seed int64,
	initialization ...Initialization) (Policy, Network, error) {
	return RecurrentActorCritic(sp, RecurrentLayer{}, hidden, activation, gaussian, seed, initialization...)
}

// RecurrentActorCritic is [ActorCritic] with a stack of recurrent layers before the hidden layers of both networks,
// each with its own: RecurrentActorCritic(sp, GRU(64), []int{64}, "elu", ...).
func RecurrentActorCritic(sp spaces.Set, memory RecurrentLayer, hidden []int, activation string,
	gaussian GaussianConfig, seed int64, initialization ...Initialization) (Policy, Network, error) {
	from := last(initialization)
	policy := func(outputs int) (Network, error) {
		return NewMLP(MLPConfig{
			Inputs: sp.Observation.Width(), Outputs: outputs, Recurrent: memory, Hidden: hidden, Activation: activation,
			OutputGain: cmp.Or(from.PolicyOutputGain, policyOutputGain), Initialization: from,
		}, seed)
	}
	value := func() (Network, error) { return RecurrentValue(sp, memory, hidden, activation, seed+1, from) }
	return actorCritic(sp, gaussian, policy, value)
}

// policyOutputGain multiplies the initial weights of a policy's output layer, unless the configuration has a gain.
const policyOutputGain = 0.01

// last returns the last of the optional initializations, or the zero value if there are none.
func last(initializations []Initialization) Initialization {
	if n := len(initializations); n > 0 {
		return initializations[n-1]
	}
	return Initialization{}
}

// actorCritic combines the usual distribution with the network that policy makes for its number of outputs, and then
// makes the value network. It closes what it has made if a later step fails.
func actorCritic(sp spaces.Set, gaussian GaussianConfig, policy func(outputs int) (Network, error),
	value func() (Network, error)) (Policy, Network, error) {
	dist, err := NewDistribution(sp.Action, gaussian)
	if err != nil {
		return nil, nil, err
	}
	p, err := policyOn(dist, policy)
	if err != nil {
		return nil, nil, err
	}
	v, err := value()
	if err != nil {
		p.Close()
		return nil, nil, err
	}
	return p, v, nil
}

// policyOn returns the policy of a distribution and of the network that build makes for its number of outputs. It takes
// over the distribution: it closes it if it fails.
func policyOn(dist Distribution, build func(outputs int) (Network, error)) (Policy, error) {
	net, err := build(dist.Outputs())
	if err != nil {
		dist.Close()
		return nil, err
	}
	// NewPolicy refuses outputs of another width, and a network without the output layer that a log standard deviation
	// of the state needs.
	p, err := NewPolicy(net, dist)
	if err != nil {
		net.Close()
		dist.Close()
		return nil, err
	}
	return p, nil
}

// RecurrentValue returns a value network: a perceptron with one output behind a stack of recurrent layers. The zero
// RecurrentLayer is no stack. The network reads states if there are any, otherwise observations. The weights start as
// PyTorch's Linear unless an initialization is given.
func RecurrentValue(sp spaces.Set, memory RecurrentLayer, hidden []int, activation string, seed int64,
	initialization ...Initialization) (*Net, error) {
	space, source := valueInput(sp)
	return NewMLP(MLPConfig{Inputs: space.Width(), Outputs: 1, Recurrent: memory, Hidden: hidden,
		Activation: activation, Source: source, OutputGain: last(initialization).ValueOutputGain,
		Initialization: last(initialization)}, seed)
}

// valueInput returns the space and the source of what value networks read: states if there are any, otherwise
// observations.
func valueInput(sp spaces.Set) (space spaces.Space, source string) {
	if sp.State.Width() > 0 {
		return sp.State, "states"
	}
	return sp.Observation, "observations"
}

// EvolvableActorCritic returns a policy and a value network of the given architectures, otherwise as [ActorCritic]. The
// value network reads states if there are any. Its architecture must then fit the state space.
func EvolvableActorCritic(sp spaces.Set, policy, value description.Architecture, gaussian GaussianConfig,
	seed int64) (Policy, Network, error) {
	return actorCritic(sp, gaussian, func(outputs int) (Network, error) {
		cfg := EvolvableConfig{Architecture: policy, Outputs: outputs, OutputGain: policyOutputGain}
		return evolvable("policy", sp.Observation, cfg, seed)
	}, func() (Network, error) { return EvolvableValue(sp, value, seed+1) })
}

// EvolvableValue returns a value network of the given architecture with one output. It reads states if there are any,
// otherwise observations.
func EvolvableValue(sp spaces.Set, value description.Architecture, seed int64) (*Net, error) {
	space, source := valueInput(sp)
	return evolvable("value network", space, EvolvableConfig{Architecture: value, Outputs: 1, Source: source}, seed)
}

// evolvable checks that the architecture reads rows of the space s before it makes the network. what names the network
// in errors.
func evolvable(what string, s spaces.Space, cfg EvolvableConfig, seed int64) (*Net, error) {
	if err := cfg.Architecture.Fits(s); err != nil {
		return nil, fmt.Errorf("models: %s: %w", what, err)
	}
	return NewEvolvable(cfg, seed)
}
