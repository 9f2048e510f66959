package models

import (
	"math"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// odd is a network without parameters that computes what it is given.
type odd struct{}

func (odd) Forward(s *tensor.Scope, in Inputs) tensor.Tensor { return in.Observations }
func (odd) Parameters() []tensor.Parameter                   { return nil }
func (odd) Close()                                           {}

// What cannot be is an error of the constructor that says what is wrong, and nothing is left behind.
func TestRefuses(t *testing.T) {
	box, free, discrete := spaces.NewBox(-1, 1, 2), spaces.Unbounded(2), spaces.NewDiscrete(3)
	mlp := func(change func(c *MLPConfig)) error {
		c := MLPConfig{Inputs: 6, Outputs: 1, Hidden: []int{4, 4}}
		change(&c)
		_, err := NewMLP(c, 1)
		return err
	}
	cnn := func(change func(c *CNNConfig)) error {
		c := small(spaces.NewPicture(5, 6, 3))
		change(&c)
		_, err := NewCNN(c, 1)
		return err
	}
	a := architecture(t, spaces.Unbounded(3), nil, 0, []int{5}, "tanh")
	evolvable := func(outputs int, source, activation string) error {
		_, err := NewEvolvable(EvolvableConfig{Architecture: a, Outputs: outputs, Source: source,
			OutputActivation: activation}, 1)
		return err
	}
	gaussian := func(action spaces.Space, change func(c *GaussianConfig)) error {
		c := DefaultGaussianConfig()
		change(&c)
		_, err := NewGaussian(action, c)
		return err
	}
	starts := func(from Initialization) error {
		_, _, err := ActorCritic(spaces.Set{Observation: free, Action: discrete}, []int{4}, "", DefaultGaussianConfig(),
			1, from)
		return err
	}
	memory := func(layer RecurrentLayer) error { return mlp(func(c *MLPConfig) { c.Recurrent = layer }) }
	seen := DefaultGaussianConfig()
	seen.StateDependentLogStd = true
	dist := tensortest.Opened[*Gaussian](t)(NewGaussian(box, seen))
	narrow := tensortest.Opened[*Net](t)(NewMLP(MLPConfig{Inputs: 3, Outputs: 2, Recurrent: GRU(2)}, 1))
	_, multivariate := NewMultivariateGaussian(free, GaussianConfig{ClipActions: true})
	_, categorical := NewCategorical(box)
	_, multi := NewMultiCategorical(spaces.NewMultiDiscrete(2, 2), "none")
	_, nothing := NewPolicy(nil, nil)
	_, few := NewPolicy(narrow, dist)
	_, blind := NewPolicy(odd{}, dist)
	_, trunkless := NewShared(nil, nil, nil, nil)
	_, heads := NewShared(narrow, narrow, narrow, dist)
	_, branch := Branch(odd{}, 2, 1)
	_, _, apart := EvolvableActorCritic(spaces.Set{Observation: spaces.Unbounded(3), State: spaces.Unbounded(4),
		Action: discrete}, a, a, DefaultGaussianConfig(), 1)
	privileged := spaces.Set{Observation: free, State: spaces.Unbounded(3), Action: box}
	states := tensortest.Opened[*Net](t)(RecurrentValue(privileged, RecurrentLayer{}, []int{4}, "elu", 1))
	spec := tensortest.Opened[Network](t)(specOf(t, "{class: Deterministic, output: tanh(ONE) * 2, "+
		"network: [{name: net, input: STATES, layers: [4]}]}").BuildNetwork(privileged, 1))
	_, acting := states.Describe()
	_, actingSpec := spec.(Described).Describe()
	for want, err := range map[string]error{
		"0 inputs":                      mlp(func(c *MLPConfig) { c.Inputs = 0 }),
		"-2 outputs":                    mlp(func(c *MLPConfig) { c.Outputs = -2 }),
		"hidden layer 1 has width 0":    mlp(func(c *MLPConfig) { c.Hidden[1] = 0 }),
		`unknown activation "eluu"`:     mlp(func(c *MLPConfig) { c.Activation = "eluu" }),
		"want observations or states":   mlp(func(c *MLPConfig) { c.Source = "actions" }),
		`of the kind "gur"`:             memory(RecurrentLayer{Kind: "gur", HiddenSize: 4, Layers: 1}),
		"gru of 0 values in 1 layers":   memory(GRU(0)),
		"lstm of 4 values in 0 layers":  memory(LSTM(4, 0)),
		"rnn over 4 frames, but the":    memory(RNN(4).OfFrames(4)),
		"gru of 100000 values in 1 lay": memory(GRU(100000)),

		"want a space":              cnn(func(c *CNNConfig) { c.Space = spaces.Space{} }),
		"0 outputs":                 cnn(func(c *CNNConfig) { c.Outputs = 0 }),
		"0 features":                cnn(func(c *CNNConfig) { c.Features = 0 }),
		`source "state"`:            cnn(func(c *CNNConfig) { c.Source = "state" }),
		"too small":                 cnn(func(c *CNNConfig) { c.Convolutions[0].Kernel = 9 }),
		"kernels have at least one": cnn(func(c *CNNConfig) { c.Convolutions[0].Kernel = 0 }),
		"dimension 0 is 0":          cnn(func(c *CNNConfig) { c.Space = spaces.NewPicture(0, 1, 1) }),
		"the size 0":                cnn(func(c *CNNConfig) { c.Convolutions[1].Channels = 0 }),

		"with 0 outputs":     evolvable(0, "", ""),
		"source":             evolvable(1, "pictures", ""),
		"unknown activation": evolvable(1, "", "sinus"),
		"value network: description: the architecture 3→[5] tanh reads 3 columns, Box(4) has 4": apart,

		"clip_actions":      gaussian(free, func(c *GaussianConfig) { c.ClipActions = true }),
		"clip_mean_actions": gaussian(free, func(c *GaussianConfig) { c.ClipMeanActions = true }),
		"needs a Box":       gaussian(discrete, func(*GaussianConfig) {}),
		"exceeds":           gaussian(box, func(c *GaussianConfig) { c.MaxLogStd = -30 }),
		"reduction":         gaussian(box, func(c *GaussianConfig) { c.Reduction = "max" }),
		"initial_log_std":   gaussian(box, func(c *GaussianConfig) { c.InitialLogStd = math.NaN() }),
		"fixed_log_std and state_dependent_log_std": gaussian(box, func(c *GaussianConfig) {
			c.FixedLogStd, c.StateDependentLogStd = true, true
		}),
		"clip_mean_actions need limits":       multivariate,
		"needs a Discrete":                    categorical,
		"want sum, mean or prod":              multi,
		"needs a network":                     nothing,
		"2 outputs, its distribution needs 4": few,
		"state_dependent_log_std":             blind,
		"needs a trunk":                       trunkless,
		"put them into the trunk":             heads,
		"no hidden layers to share":           branch,
		"the network reads states":            acting,
		"reads states, which are not there":   actingSpec,
		`did you mean "orthogonal"`:           starts(Initialization{Kind: "orthogonl"}),
		"hidden_gain":                         starts(Initialization{HiddenGain: -1}),
		"output_gain":                         starts(Initialization{ValueOutputGain: math.Inf(1)}),
		"initial_bias":                        starts(Initialization{Bias: "none"}),
	} {
		check.RefuseAs(t, want, err, want)
	}
}
