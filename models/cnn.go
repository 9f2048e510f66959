package models

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// Convolution is a convolution layer with square kernels, see [CNNConfig].
type Convolution = description.Convolution

// CNNConfig describes a network for spaces with pictures. Every picture, a Box of three dimensions, has convolutions
// and a linear layer of its own. Their results are concatenated with the other parts of the space, indices one-hot, and
// pass through the hidden layers. A space without pictures passes through the hidden layers only. Start from
// [DefaultCNN].
type CNNConfig struct {
	// Space is what the network reads. Values of uint8 are divided by 255.
	Space spaces.Space
	// Outputs is the width of a result row.
	Outputs int
	// Convolutions are applied to every picture. A Stride of 0 means 1. Activation below follows each of them: their
	// own Activation and Extra are not used.
	Convolutions []Convolution
	// Features is the width of the linear layer after the convolutions of a picture.
	Features int
	// Hidden lists the widths of the hidden layers after the concatenation.
	Hidden []int
	// Activation is the name of the activation after every convolution and hidden layer.
	Activation string
	// ChannelsFirst means that pictures are (channels, height, width). The default is (height, width, channels), the
	// layout of cameras.
	ChannelsFirst bool
	// OutputGain, Initialization and Source are as in [MLPConfig].
	OutputGain     float64
	Initialization Initialization
	Source         string
}

// DefaultCNN returns the convolutions of Mnih et al. 2015 ("Nature CNN"), for pictures of about 84 × 84 pixels. They
// are 32 kernels of 8 with stride 4, 64 of 4 with stride 2, and 64 of 3. A linear layer of 512 follows, and no hidden
// layers. All activations are relu.
func DefaultCNN() CNNConfig {
	return CNNConfig{
		Convolutions: []Convolution{
			{Channels: 32, Kernel: 8, Stride: 4}, {Channels: 64, Kernel: 4, Stride: 2},
			{Channels: 64, Kernel: 3, Stride: 1},
		},
		Features: 512, Activation: "relu",
	}
}

// NewCNN returns a network whose initial parameters are drawn from a generator with the given seed, as in PyTorch's
// Conv2d and Linear unless CNNConfig.Initialization says otherwise. Parameters are named after the parts of the space:
// picture.0.weight, ... for a picture that is the whole space, picture_camera.0.weight, ... for a part, and
// net.0.weight, ... for the layers after them. NewCNN returns an error if a picture is too small for the convolutions.
func NewCNN(cfg CNNConfig, seed int64) (*Net, error) {
	if err := cfg.Space.Validate(); err != nil {
		return nil, fmt.Errorf("models: CNN: %w", err)
	}
	// A CNN is built as a Spec: its expressions already cut parts, permute pictures and encode indices.
	sp, input := spaces.Set{Observation: cfg.Space}, "OBSERVATIONS"
	if cfg.Space.Kind == spaces.None || cfg.Outputs < 1 || cfg.Features < 1 {
		return nil, fmt.Errorf("models: CNN of %v with %d features and %d outputs: want a space, and positive numbers",
			cfg.Space, cfg.Features, cfg.Outputs)
	}
	states, err := readsStates("CNN", cfg.Source)
	if err != nil {
		return nil, err
	}
	if states {
		sp.State, input = cfg.Space, "STATES"
	}
	from := cfg.Initialization
	spec := Spec{Class: classDeterministic, Output: "ACTIONS",
		Initialization: from.Kind, InitialBias: from.Bias, HiddenGain: from.HiddenGain, OutputGain: cfg.OutputGain}
	parts := cfg.parts(&spec, "picture", strings.TrimSuffix(input, "S")+"_SPACE", input, cfg.Space)
	net := Container{Name: "net", Input: "concatenate([" + strings.Join(parts, ", ") + "])",
		Activations: cfg.activations()}
	for _, n := range cfg.Hidden {
		net.Layers = append(net.Layers, Layer{Out: strconv.Itoa(n)})
	}
	spec.Network = append(spec.Network, net)
	made, _, err := spec.assemble(sp, spec.Output, cfg.Outputs, seed)
	return made, err
}

// activations returns the activations of a container: one for all its layers, or none.
func (cfg CNNConfig) activations() []string {
	if cfg.Activation == "" {
		return nil
	}
	return []string{cfg.Activation}
}

// parts adds a container for each picture of a space to spec. It returns the expressions of all parts of the space, in
// the order of its entries. name is the prefix of the containers' names; space and rows are the expressions of the
// space and of its rows. For the entries of a Dict or Tuple it calls itself.
func (cfg CNNConfig) parts(spec *Spec, name, space, rows string, s spaces.Space) []string {
	switch {
	case len(s.Entries) > 0:
		var all []string
		for i, e := range s.Entries {
			index := "[" + strconv.Itoa(i) + "]"
			if s.Kind == spaces.Dict {
				index = "[" + quote(e.Name) + "]"
			}
			own := name + "_" + unnamable.ReplaceAllString(e.Name, "_")
			all = append(all, cfg.parts(spec, own, space+index, rows+index, e.Space)...)
		}
		return all
	case s.Kind == spaces.Discrete || s.Kind == spaces.MultiDiscrete:
		return []string{"one_hot_encoding(" + space + ", " + rows + ")"}
	case len(s.Shape) != 3 && s.DType == spaces.Uint8:
		return []string{rows + " / 255"}
	case len(s.Shape) != 3:
		return []string{rows}
	}
	// conv2d reads (channels, height, width). The identity order marks a picture whose channels do come first.
	order := "(0, 3, 1, 2)"
	if cfg.ChannelsFirst {
		order = "(0, 1, 2, 3)"
	}
	c := Container{Name: name, Input: "permute(" + rows + ", " + order + ")", Activations: cfg.activations()}
	// Two parts may differ only in characters that a container's name cannot have. An underscore makes the second name
	// unique.
	for slices.ContainsFunc(spec.Network, func(other Container) bool { return other.Name == c.Name }) {
		c.Name += "_"
	}
	if s.DType == spaces.Uint8 {
		c.Input += " / 255"
	}
	for _, l := range cfg.Convolutions {
		both := func(n int) [2]int { return [2]int{n, n} }
		conv := &Conv{Kernel: both(l.Kernel), Stride: both(l.Stride), Padding: both(l.Padding)}
		c.Layers = append(c.Layers, Layer{Out: strconv.Itoa(l.Channels), Conv: conv})
	}
	c.Layers = append(c.Layers, Layer{Flatten: true}, Layer{Out: strconv.Itoa(cfg.Features)})
	spec.Network = append(spec.Network, c)
	return []string{c.Name}
}

// quote writes a text as a string literal of the network language.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// unnamable matches what container names cannot have.
var unnamable = regexp.MustCompile(`[^A-Za-z0-9_]`)

// CNNActorCritic returns a policy and a value network as [ActorCritic] does, with networks as cfg describes them. It
// sets cfg's Space, Outputs, Source and OutputGain. The value network reads states if there are any.
func CNNActorCritic(sp spaces.Set, cfg CNNConfig, gaussian GaussianConfig, seed int64) (Policy, Network, error) {
	policy := func(outputs int) (Network, error) {
		of := cfg
		of.Space, of.Outputs, of.Source = sp.Observation, outputs, ""
		of.OutputGain = cmp.Or(cfg.Initialization.PolicyOutputGain, policyOutputGain)
		return NewCNN(of, seed)
	}
	return actorCritic(sp, gaussian, policy, func() (Network, error) { return ValueCNN(sp, cfg, seed+1) })
}

// ValueCNN returns a value network as [RecurrentValue] does, with a network as cfg describes it.
func ValueCNN(sp spaces.Set, cfg CNNConfig, seed int64) (*Net, error) {
	cfg.Space, cfg.Source = valueInput(sp)
	cfg.Outputs, cfg.OutputGain = 1, cfg.Initialization.ValueOutputGain
	return NewCNN(cfg, seed)
}
