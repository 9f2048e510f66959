package evolution

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// Network is what a manifest says of networks: of policy, value and discriminator alike.
type Network struct {
	// Encoder are the widths of the hidden layers before the latent.
	Encoder []int
	// Latent is the width of every part's encoding; with 0 the head reads the observation itself.
	Latent int
	// Head are the widths of the hidden layers after the latent.
	Head []int
	// Activation follows all of these layers.
	Activation string
	// Convolutions are those of pictures, instead of Encoder; without any they are description.DefaultConvolutions.
	Convolutions []description.Convolution
	// Recurrent is a stack of recurrent layers between the latent and the head; the zero value is none.
	Recurrent description.RecurrentLayer
	// Limits bound what mutations make of the network.
	Limits Limits
}

// networkSection is the section network.
type networkSection struct {
	// Latent is the width of every part's encoding; 0 is no encoder.
	//
	// A wider one distinguishes more observations and costs more.
	Latent int `yaml:"latent_dim" config:"min=0"`
	// MinLatent and MaxLatent are its exclusive limits for mutations.
	MinLatent int `yaml:"min_latent_dim" config:"min=1"`
	MaxLatent int `yaml:"max_latent_dim" config:"min=1"`
	// Arch is the kind of network. Pictures have convolutions with any; lstm is recurrent.kind lstm.
	Arch string `yaml:"arch" config:"oneof=mlp|cnn|multi_input|lstm"`
	// Squash does nothing.
	Squash bool `yaml:"squash_output"`

	Encoder   encoderSection   `yaml:"encoder_config"`
	Recurrent recurrentSection `yaml:"recurrent"`
	Head      stackSection     `yaml:"head_config"`
}

type encoderSection struct {
	stackSection `yaml:",inline"`
	// Channels, Kernels and Strides are the channels, kernel sides and strides of the convolutions of pictures, one
	// number per layer. Without Channels there are three layers for the size of the picture.
	//
	// A larger stride is faster and coarser.
	Channels []int `yaml:"channel_size" config:"min=1"`
	Kernels  []int `yaml:"kernel_size" config:"min=1"`
	Strides  []int `yaml:"stride_size" config:"min=1"`
	// MinChannels and MaxChannels limit the channels of convolutions, MinConvolutions and MaxConvolutions their number.
	MinChannels     int `yaml:"min_channel_size" config:"min=1"`
	MaxChannels     int `yaml:"max_channel_size" config:"min=1"`
	MinConvolutions int `yaml:"min_convolutions" config:"min=1"`
	MaxConvolutions int `yaml:"max_convolutions" config:"min=1"`
}

type recurrentSection struct {
	// Kind is the kind of recurrent layers of policy and value network; the discriminator has none. Use them if one
	// observation is not enough to act.
	Kind string `yaml:"kind" config:"oneof=none|gru|lstm|rnn"`
	// Hidden is the first width of a recurrent layer, Layers their number.
	//
	// More remember more and take longer.
	Hidden int `yaml:"hidden_state_size" config:"min=1"`
	Layers int `yaml:"num_layers" config:"min=1"`
	// MinHidden and MaxHidden are inclusive limits of the width.
	MinHidden int `yaml:"min_hidden_state_size" config:"min=1"`
	MaxHidden int `yaml:"max_hidden_state_size" config:"min=1"`
}

type stackSection struct {
	// Hidden are the first widths of hidden layers. Start small if mutations are to find the size: growing keeps
	// what a network has learned, shrinking does not.
	Hidden []int `yaml:"hidden_size" config:"min=1"`
	// Activation follows all layers; it must be the same in encoder and head.
	Activation string `yaml:"activation"`
	// MinLayers and MaxLayers limit the number of hidden layers. Only the head's count: encoders keep theirs.
	MinLayers int `yaml:"min_hidden_layers" config:"min=0"`
	MaxLayers int `yaml:"max_hidden_layers" config:"min=0"`
	// MinNodes and MaxNodes limit the width of hidden layers; the wider limits of encoder and head count. A network
	// below MinNodes can only grow.
	MinNodes int `yaml:"min_mlp_nodes" config:"min=1"`
	MaxNodes int `yaml:"max_mlp_nodes" config:"min=1"`
	// LayerNorm, Output and Vanish do nothing.
	LayerNorm bool   `yaml:"layer_norm"`
	Output    string `yaml:"output_activation"`
	Vanish    bool   `yaml:"output_vanish"`
}

func networkDefaults() networkSection {
	l := DefaultLimits()
	usual := stackSection{Hidden: []int{64}, Activation: "ReLU", MinLayers: l.MinLayers, MaxLayers: l.MaxLayers,
		MinNodes: l.MinNodes, MaxNodes: l.MaxNodes}
	return networkSection{Latent: 64, MinLatent: l.MinLatent, MaxLatent: l.MaxLatent, Arch: "mlp",
		Encoder: encoderSection{stackSection: usual, MinChannels: l.MinChannels, MaxChannels: l.MaxChannels,
			MinConvolutions: l.MinConvolutions, MaxConvolutions: l.MaxConvolutions},
		Recurrent: recurrentSection{Kind: "none", Hidden: 64, Layers: 1, MinHidden: l.MinHidden,
			MaxHidden: l.MaxHidden},
		Head: usual}
}

// network sets s.Network from the section network, and notes the keys that do nothing.
func (f *manifest) network(s *Settings) error {
	if f.Network == nil {
		return nil
	}
	x := networkDefaults()
	if err := config.Merge(&x, f.Network, config.Options{}); err != nil {
		return config.Under("evolution", "network", err)
	}
	idle := map[string]bool{"squash_output": x.Squash}
	for name, stack := range map[string]stackSection{"encoder_config": x.Encoder.stackSection, "head_config": x.Head} {
		idle[name+".layer_norm"], idle[name+".output_vanish"] = stack.LayerNorm, stack.Vanish
		idle[name+".output_activation"] = stack.Output != ""
	}
	for key, on := range idle {
		if on {
			s.Notes = append(s.Notes, "network."+key+" does nothing: gorl's evolvable networks have none")
		}
	}
	slices.Sort(s.Notes)
	if x.Encoder.Activation != x.Head.Activation {
		return &config.Error{Prefix: "evolution", Path: "network.encoder_config.activation",
			Given:  x.Encoder.Activation,
			Reason: fmt.Sprintf("encoder and head begin with one activation; the head's is %q", x.Head.Activation)}
	}
	l := Limits{
		MinLayers: x.Head.MinLayers, MaxLayers: x.Head.MaxLayers, MinNodes: min(x.Head.MinNodes,
			x.Encoder.MinNodes), MaxNodes: max(x.Head.MaxNodes, x.Encoder.MaxNodes),
		MinLatent: x.MinLatent, MaxLatent: x.MaxLatent,
		MinConvolutions: x.Encoder.MinConvolutions, MaxConvolutions: x.Encoder.MaxConvolutions,
		MinChannels: x.Encoder.MinChannels, MaxChannels: x.Encoder.MaxChannels,
		MinHidden: x.Recurrent.MinHidden, MaxHidden: x.Recurrent.MaxHidden,
	}
	if err := l.Validate(); err != nil {
		return fmt.Errorf("evolution: network: %w", err)
	}
	if x.Arch == "lstm" && x.Recurrent.Kind == "none" {
		x.Recurrent.Kind = "lstm"
	}
	f.Network = config.Dict(x)
	s.Network = &Network{Encoder: x.Encoder.Hidden, Latent: x.Latent, Head: x.Head.Hidden,
		Activation: x.Head.Activation,
		Limits:     l}
	if r := x.Recurrent; r.Kind != "none" {
		s.Network.Recurrent = description.RecurrentLayer{Kind: r.Kind, HiddenSize: r.Hidden, Layers: r.Layers}
	}
	var err error
	s.Network.Convolutions, err = x.Encoder.convolutions()
	return err
}

// convolutions are those that the section gives.
func (e encoderSection) convolutions() ([]description.Convolution, error) {
	n := len(e.Channels)
	if len(e.Kernels) != n || len(e.Strides) != n {
		return nil, &config.Error{Prefix: "evolution", Path: "network.encoder_config.channel_size", Given: e.Channels,
			Reason: fmt.Sprintf("channel_size has %d layers, kernel_size %d and stride_size %d; give one number a "+
				"layer in each", n, len(e.Kernels), len(e.Strides))}
	}
	var layers []description.Convolution
	for i, channels := range e.Channels {
		layers = append(layers, description.Convolution{Channels: channels, Kernel: e.Kernels[i], Stride: e.Strides[i]})
	}
	return layers, nil
}

// Architecture returns the network's architecture for an observation space, with an encoder for every part of it. A
// space that no encoder reads is an error, and so is one of several parts, or with a picture, where Latent is 0, and a
// picture that is too small for the convolutions.
func (n Network) Architecture(observation spaces.Space) (description.Architecture, error) {
	encoder := n.Encoder
	if n.Latent == 0 {
		encoder = nil
	}
	a, err := description.NewArchitecture(observation, encoder, n.Latent, n.Head, n.Activation)
	if err != nil {
		return a, err
	}
	for i, p := range a.Parts {
		if len(p.Picture) > 0 && len(n.Convolutions) > 0 {
			a.Parts[i].Convolutions = slices.Clone(n.Convolutions)
		}
	}
	a.Recurrent = n.Recurrent
	return a, a.Validate()
}
