package evolution

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Mutations says what happens to members that are selected: in every generation one of five things to each, drawn by
// relative weights. It is AgileRL's class of this name.
type Mutations struct {
	// NoMutation, Architecture, Parameters, Activation and RLHP are relative weights, 0 or more, of which one must be
	// above 0: nothing; an edit of the networks' architecture; noise on the policy's weights; another activation for all
	// networks; another value for one hyperparameter.
	NoMutation, Architecture, Parameters, Activation, RLHP float64
	// NewLayerProb is the probability that an edit of the architecture adds or removes a layer rather than nodes.
	NewLayerProb float64
	// MutationSD is the standard deviation of noise on weights, relative to the weight. 0 means 0.1.
	MutationSD float64
	// ActivationSelection are the activations to choose from. Default relu, elu, gelu.
	ActivationSelection []string
	// MutateElite mutates the elite, too. Default false, so that elitism keeps what it has found (AgileRL's class: true).
	MutateElite bool
	// Preserve says how weights are carried over an edit. Default PreserveFunction.
	Preserve Preserve
	// Limits bound architectures; all zero means models.DefaultLimits. NetworkLimits are those of single networks.
	Limits        models.Limits
	NetworkLimits map[string]models.Limits
	// Hyperparameters are those that RLHP mutates. Default: [DefaultHyperparameters] of the first member.
	Hyperparameters HyperparameterConfig
	// Seed is mixed into the population's seed: another one draws other mutations for members that begin alike.
	Seed int64
	// Strict reproduces AgileRL where it differs: hyperparameters change by its factors (see RLParameter.Mutate), a
	// changed learning rate and every mutation of networks begins optimizers anew, those that a limit stops included, edits
	// keep the overlap of weights only (PreserveOverlap, unless Preserve is set), and the activation of PPO does not change.
	Strict bool
}

// DefaultMutations has AgileRL's defaults: no mutation 0.4, architecture, parameters and hyperparameters 0.2 each,
// activation 0; new layers 0.2, noise 0.1.
func DefaultMutations() Mutations {
	return Mutations{
		NoMutation: 0.4, Architecture: 0.2, Parameters: 0.2, Activation: 0, RLHP: 0.2, NewLayerProb: 0.2, MutationSD: 0.1,
		ActivationSelection: []string{"relu", "elu", "gelu"}, Preserve: PreserveFunction,
	}
}

func (m Mutations) withDefaults() Mutations {
	if m.MutationSD == 0 {
		m.MutationSD = 0.1
	}
	if m.ActivationSelection == nil {
		m.ActivationSelection = DefaultMutations().ActivationSelection
	}
	if m.Preserve == "" {
		m.Preserve = PreserveFunction
		if m.Strict {
			m.Preserve = PreserveOverlap
		}
	}
	return m
}

// clone shares no map and no slice with m.
func (m Mutations) clone() Mutations {
	m.ActivationSelection = slices.Clone(m.ActivationSelection)
	m.NetworkLimits, m.Hyperparameters = maps.Clone(m.NetworkLimits), maps.Clone(m.Hyperparameters)
	return m
}

// what a mutation may be, in the order in which weights are added up.
const (
	kindNone         = "none"
	kindArchitecture = "architecture"
	kindParameters   = "param"
	kindActivation   = "activation"
	kindRLHP         = "rl_hp"
)

type weighted struct {
	kind   string
	weight float64
}

func (m Mutations) weights() []weighted {
	return []weighted{{kindNone, m.NoMutation}, {kindArchitecture, m.Architecture}, {kindParameters, m.Parameters}, {kindActivation, m.Activation}, {kindRLHP, m.RLHP}}
}

// Validate says all that makes no sense.
func (m Mutations) Validate() error {
	m = m.withDefaults()
	var problems []error
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("evolution: Mutations."+format, args...))
	}
	sum := 0.0
	for i, w := range m.weights() {
		name := []string{"NoMutation", "Architecture", "Parameters", "Activation", "RLHP"}[i]
		if !(w.weight >= 0) || math.IsInf(w.weight, 0) {
			wrong("%s is %v; give a finite weight of 0 or more", name, w.weight)
		}
		sum += w.weight
	}
	if sum == 0 {
		wrong("NoMutation and all other weights are 0; make one of them greater, e.g. take DefaultMutations")
	}
	if !(m.NewLayerProb >= 0 && m.NewLayerProb <= 1) {
		wrong("NewLayerProb is %v; give a probability", m.NewLayerProb)
	}
	if !(m.MutationSD > 0) || math.IsInf(m.MutationSD, 0) {
		wrong("MutationSD is %v; give a number above 0, usually 0.1", m.MutationSD)
	}
	for _, name := range m.ActivationSelection {
		if _, err := tensor.ParseActivation(name); err != nil {
			wrong("ActivationSelection: %w", err)
		}
	}
	if m.Activation > 0 && len(m.ActivationSelection) == 0 {
		wrong("ActivationSelection is empty, but Activation is %v; give activations to choose from", m.Activation)
	}
	if m.Preserve != PreserveFunction && m.Preserve != PreserveOverlap {
		known := []string{string(PreserveFunction), string(PreserveOverlap)}
		wrong("Preserve is %q; give one of %q%s", m.Preserve, known, nearby(string(m.Preserve), known))
	}
	o := m.editOptions()
	for _, name := range append([]string{policy}, slices.Sorted(maps.Keys(m.NetworkLimits))...) {
		if _, err := o.of(name); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(append(problems, m.Hyperparameters.Validate())...)
}

func (m Mutations) editOptions() EditOptions {
	return EditOptions{Limits: m.Limits, NetworkLimits: m.NetworkLimits, Preserve: m.Preserve}
}

// draw chooses what happens. Before training something does, where anything else than nothing has a weight.
func (m Mutations) draw(rng *rand.Rand, first bool) string {
	weights := m.weights()
	if first {
		weights = weights[1:]
	}
	sum := 0.0
	for _, w := range weights {
		sum += w.weight
	}
	u, last := rng.Float64()*sum, kindNone
	for _, w := range weights {
		if w.weight == 0 {
			continue
		}
		if last = w.kind; u < w.weight {
			break
		}
		u -= w.weight
	}
	return last
}

// checkNetworks refuses limits of networks that do not evolve.
func (m Mutations) checkNetworks(r Registry) error {
	var names []string
	for _, g := range r.Groups {
		if g.Like == "" { // the limits of others are those of the network that they are like
			names = append(names, g.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.NetworkLimits)) {
		if !slices.Contains(names, name) {
			return &config.Error{Prefix: "evolution", Path: "Mutations.NetworkLimits", Given: name, Reason: fmt.Sprintf("want one of the registry's networks, %q", names), Nearest: config.Nearest(name, names)}
		}
	}
	return nil
}
