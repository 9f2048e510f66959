package models

import (
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
	seen := DefaultGaussianConfig()
	seen.StateDependentLogStd = true
	dist := tensortest.Opened[*Gaussian](t)(NewGaussian(box, seen))
	narrow := tensortest.Opened[*Net](t)(NewMLP(MLPConfig{Inputs: 3, Outputs: 2, Recurrent: GRU(2)}, 1))
	a := architecture(t, spaces.Unbounded(3), nil, 0, []int{5}, "tanh")
	_, evolvable := NewEvolvable(EvolvableConfig{Architecture: a, Outputs: 1, Source: "pictures"}, 1)
	_, multivariate := NewMultivariateGaussian(free, GaussianConfig{ClipActions: true})
	_, categorical := NewCategorical(box)
	_, multi := NewMultiCategorical(spaces.NewMultiDiscrete(2, 2), "none")
	_, few := NewPolicy(narrow, dist)
	_, blind := NewPolicy(odd{}, dist)
	_, heads := NewShared(narrow, narrow, narrow, dist)
	_, branch := Branch(odd{}, 2, 1)
	privileged := spaces.Set{Observation: free, State: spaces.Unbounded(3), Action: box}
	states := tensortest.Opened[*Net](t)(RecurrentValue(privileged, RecurrentLayer{}, []int{4}, "elu", 1))
	_, acting := states.Describe()
	for want, err := range map[string]error{
		"0 inputs":                    mlp(func(c *MLPConfig) { c.Inputs = 0 }),
		"hidden layer 1 has width 0":  mlp(func(c *MLPConfig) { c.Hidden[1] = 0 }),
		`unknown activation "eluu"`:   mlp(func(c *MLPConfig) { c.Activation = "eluu" }),
		"want observations or states": mlp(func(c *MLPConfig) { c.Source = "actions" }),
		`of the kind "gur"`:           mlp(func(c *MLPConfig) { c.Recurrent = RecurrentLayer{Kind: "gur"} }),
		"rnn over 4 frames, but the":  mlp(func(c *MLPConfig) { c.Recurrent = RNN(4).OfFrames(4) }),

		"want a space": cnn(func(c *CNNConfig) { c.Space = spaces.Space{} }),
		"0 outputs":    cnn(func(c *CNNConfig) { c.Outputs = 0 }),
		"too small":    cnn(func(c *CNNConfig) { c.Convolutions[0].Kernel = 9 }),
		"source":       evolvable,

		"clip_actions": gaussian(free, func(c *GaussianConfig) { c.ClipActions = true }),
		"needs a Box":  gaussian(discrete, func(*GaussianConfig) {}),
		"exceeds":      gaussian(box, func(c *GaussianConfig) { c.MaxLogStd = -30 }),
		"reduction":    gaussian(box, func(c *GaussianConfig) { c.Reduction = "max" }),
		"fixed_log_std and state_dependent_log_std": gaussian(box, func(c *GaussianConfig) {
			c.FixedLogStd, c.StateDependentLogStd = true, true
		}),
		"clip_mean_actions need limits":       multivariate,
		"needs a Discrete":                    categorical,
		"want sum, mean or prod":              multi,
		"2 outputs, its distribution needs 4": few,
		"state_dependent_log_std":             blind,
		"put them into the trunk":             heads,
		"no hidden layers to share":           branch,
		"the network reads states":            acting,
		`did you mean "orthogonal"`:           starts(Initialization{Kind: "orthogonl"}),
		"hidden_gain":                         starts(Initialization{HiddenGain: -1}),
	} {
		check.RefuseAs(t, want, err, want)
	}
}
