package evolution

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models/description"
)

// Mutations say how members are mutated after selection. Each is mutated in one of five ways, drawn by relative
// weights. It has the settings of AgileRL's class of this name. The yaml tags are keys of the section mutation of a
// manifest.
type Mutations struct {
	// Probabilities are the relative weights of the ways to mutate.
	Probabilities `yaml:"probabilities"`
	// Hyperparameters are those that RLHP mutates, by name (also AgileRL's), with their bounds. Default: the
	// learning rates ([DefaultHyperparameters]). In IPPO and MAPPO each is of one group, "speaker.learning_rate";
	// "learning_rate" stands for those of all groups.
	Hyperparameters HyperparameterConfig `yaml:"rl_hp_selection"`
	// MutationSD is the standard deviation of noise on weights, as a fraction of each weight. Default 0.1.
	//
	// Larger noise explores further and destroys more.
	MutationSD float64 `yaml:"mutation_sd" config:"gt=0"`
	// MutateElite mutates the elite too, as AgileRL's class does. The best member may then be lost. Default false.
	MutateElite bool `yaml:"mutate_elite"`
	// ActivationSelection are the activations to draw. Default relu, elu, gelu.
	ActivationSelection []string `yaml:"activation_selection"`
	// Preserve is the way to carry weights over an edit of the architecture: "function" (PreserveFunction) or
	// "overlap" (PreserveOverlap). Default: "function", with `strict` "overlap".
	Preserve Preserve `yaml:"preserve" config:"oneof=|function|overlap"`
	// Limits bound the architectures of all networks that NetworkLimits does not name. All zero means
	// DefaultLimits. Wide limits allow large networks, which are slow to train; a network that begins below
	// MinNodes can only grow.
	Limits Limits `yaml:"-"`
	// NetworkLimits bound single networks, by name ("discriminator"), in IPPO and MAPPO also of a group
	// ("speaker.policy").
	NetworkLimits map[string]Limits `yaml:"-"`
	// Seed is mixed into the population's seed. Another one draws other mutations for members that begin alike.
	Seed int64 `yaml:"-"`
	// Strict reproduces AgileRL where gorl differs: hyperparameters change by its factors (see RLParameter.Mutate); a
	// changed learning rate resets the optimizer, and every mutation of networks resets all optimizers, also where
	// limits stop the edit; edits keep only the overlap of weights, unless Preserve is set; the activation of PPO's
	// networks never changes; what is drawn for one group of IPPO and MAPPO, all groups get that have such a layer or
	// hyperparameter.
	Strict bool `yaml:"-"`
}

// Probabilities are relative weights of 0 or more, one of them above 0. The yaml tags are the keys of the section
// mutation.probabilities of a manifest.
type Probabilities struct {
	// NoMutation is the relative weight of no mutation.
	//
	// A larger one trains undisturbed more often.
	NoMutation float64 `yaml:"no_mut" config:"min=0"`
	// Architecture is the relative weight of an edit of the networks: a layer or nodes more or fewer; 0 fixes them.
	//
	// Raise it to search for the size of networks.
	Architecture float64 `yaml:"arch_mut" config:"min=0"`
	// NewLayerProb is the probability that such an edit changes layers rather than nodes.
	//
	// Raise it to search among depths rather than widths.
	NewLayerProb float64 `yaml:"new_layer" config:"min=0,max=1"`
	// Parameters is the relative weight of noise on the policy's weights.
	//
	// Noise moves a population off a plateau and costs most members some fitness. Keep the weight small if tournaments
	// are small.
	Parameters float64 `yaml:"params_mut" config:"min=0"`
	// Activation is the relative weight of another activation for all networks.
	//
	// Another activation changes what networks compute, so members must learn again. Give it a weight if generations
	// are long enough for that.
	Activation float64 `yaml:"act_mut" config:"min=0"`
	// RLHP is the relative weight of another value for one hyperparameter.
	RLHP float64 `yaml:"rl_hp_mut" config:"min=0"`
}

// DefaultMutations returns AgileRL's defaults: no mutation 0.4; architecture, parameters and hyperparameters 0.2 each;
// activation 0; new layers 0.2; noise 0.1.
func DefaultMutations() Mutations {
	return Mutations{
		Probabilities: Probabilities{NoMutation: 0.4, Architecture: 0.2, Parameters: 0.2, RLHP: 0.2, NewLayerProb: 0.2},
		MutationSD:    0.1, ActivationSelection: []string{"relu", "elu", "gelu"}, Preserve: PreserveFunction,
	}
}

func (m Mutations) withDefaults() Mutations {
	m.MutationSD = cmp.Or(m.MutationSD, 0.1)
	if m.ActivationSelection == nil {
		m.ActivationSelection = DefaultMutations().ActivationSelection
	}
	if m.Strict {
		m.Preserve = cmp.Or(m.Preserve, PreserveOverlap)
	}
	m.Preserve = cmp.Or(m.Preserve, PreserveFunction)
	return m
}

// The ways to mutate a member, as the journal names them.
const (
	kindNone         = "none"
	kindArchitecture = "architecture"
	kindParameters   = "param"
	kindActivation   = "activation"
	kindRLHP         = "rl_hp"
)

// kinds are in the order in which draw adds up their weights. Another order would change what a seed draws.
var kinds = []string{kindNone, kindArchitecture, kindParameters, kindActivation, kindRLHP}

// weights are those of kinds.
func (p Probabilities) weights() []float64 {
	return []float64{p.NoMutation, p.Architecture, p.Parameters, p.Activation, p.RLHP}
}

// Validate checks everything that can be checked without a member. The error joins all problems.
func (m Mutations) Validate() error {
	m = m.withDefaults()
	problems := []error{config.Check(m, "evolution: Mutations")}
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("evolution: Mutations."+format, args...))
	}
	if slices.Max(m.weights()) == 0 {
		problems = append(problems, errors.New("evolution: all weights of mutations are 0; make one of them greater"))
	}
	for _, name := range m.ActivationSelection {
		if _, err := description.ParseActivation(name); err != nil {
			wrong("ActivationSelection: %w", err)
		}
	}
	if m.Activation > 0 && len(m.ActivationSelection) == 0 {
		wrong("ActivationSelection is empty, but Activation is %v; give activations to choose from", m.Activation)
	}
	if err := cmp.Or(m.Limits, DefaultLimits()).check(); err != nil {
		wrong("Limits: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(m.NetworkLimits)) {
		if err := m.NetworkLimits[name].check(); err != nil {
			wrong("NetworkLimits: limits of %s: %w", name, err)
		}
	}
	return errors.Join(append(problems, m.Hyperparameters.Validate())...)
}

// draw chooses how to mutate, by the weights. With first, before training, NoMutation is left out, unless nothing else
// has a weight.
func (m Mutations) draw(rng *rand.Rand, first bool) string {
	weights := m.weights()
	if first {
		weights[0] = 0
	}
	sum := 0.0
	for _, weight := range weights {
		sum += weight
	}
	u, last := rng.Float64()*sum, kindNone
	for i, weight := range weights {
		if weight > 0 {
			last = kinds[i]
		}
		if u < weight {
			break
		}
		u -= weight
	}
	return last
}
