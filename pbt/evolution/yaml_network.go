package evolution

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models"
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
	// Limits bound what mutations make of the network.
	Limits models.Limits
}

// networkSection is the section network.
type networkSection struct {
	// Latent is the width of every part's encoding; 0 is a network without an encoder. A wider latent can tell more
	// observations apart, and costs more compute.
	Latent int `yaml:"latent_dim" config:"min=0"`
	// MinLatent and MaxLatent are its limits for mutations, both exclusive.
	MinLatent int `yaml:"min_latent_dim" config:"min=1"`
	MaxLatent int `yaml:"max_latent_dim" config:"min=1"`
	// Arch is the kind of network.
	Arch string `yaml:"arch" config:"oneof=mlp"`
	// Squash does nothing: evolvable networks here do not squash.
	Squash bool `yaml:"squash_output"`

	Encoder stackSection `yaml:"encoder_config"`
	Head    stackSection `yaml:"head_config"`
}

type stackSection struct {
	// Hidden are the widths of hidden layers to begin with. Begin small where mutations are to find the size: growing
	// keeps what a network has learned, shrinking does not.
	Hidden []int `yaml:"hidden_size" config:"min=1"`
	// Activation follows all layers. Encoder and head must begin with the same one.
	Activation string `yaml:"activation"`
	// MinLayers and MaxLayers limit the number of hidden layers. Only the head's count: encoders keep their layers.
	MinLayers int `yaml:"min_hidden_layers" config:"min=0"`
	MaxLayers int `yaml:"max_hidden_layers" config:"min=0"`
	// MinNodes and MaxNodes limit the width of hidden layers. The wider limits of encoder and head hold for both. A
	// network that begins below MinNodes can only grow.
	MinNodes int `yaml:"min_mlp_nodes" config:"min=1"`
	MaxNodes int `yaml:"max_mlp_nodes" config:"min=1"`
	// LayerNorm, Output and Vanish do nothing: evolvable networks here have none of these.
	LayerNorm bool   `yaml:"layer_norm"`
	Output    string `yaml:"output_activation"`
	Vanish    bool   `yaml:"output_vanish"`
}

func networkDefaults() networkSection {
	l := models.DefaultLimits()
	usual := stackSection{Hidden: []int{64}, Activation: "ReLU", MinLayers: l.MinLayers, MaxLayers: l.MaxLayers,
		MinNodes: l.MinNodes, MaxNodes: l.MaxNodes}
	return networkSection{Latent: 64, MinLatent: l.MinLatent, MaxLatent: l.MaxLatent, Arch: "mlp", Encoder: usual,
		Head: usual}
}

// network sets s.Network from the section network, and notes the keys that do nothing.
func (f *manifest) network(s *Settings) error {
	if f.Network == nil {
		return nil
	}
	t := struct {
		Network networkSection `yaml:"network"`
	}{networkDefaults()}
	x := &t.Network
	if err := config.Merge(&t, map[string]any{"network": f.Network}, config.Options{Prefix: "evolution"}); err != nil {
		return err
	}
	for name, stack := range map[string]stackSection{"encoder_config": x.Encoder, "head_config": x.Head} {
		for key, on := range map[string]bool{"layer_norm": stack.LayerNorm, "output_vanish": stack.Vanish,
			"output_activation": stack.Output != ""} {
			if on {
				s.Notes = append(s.Notes, fmt.Sprintf("network.%s.%s does nothing: gorl's evolvable networks have none", name, key))
			}
		}
	}
	if x.Squash {
		s.Notes = append(s.Notes, "network.squash_output does nothing: gorl's evolvable networks have none")
	}
	slices.Sort(s.Notes)
	if x.Encoder.Activation != x.Head.Activation {
		return &config.Error{Prefix: "evolution", Path: "network.encoder_config.activation", Given: x.Encoder.Activation,
			Reason: fmt.Sprintf("encoder and head begin with one activation; the head's is %q", x.Head.Activation)}
	}
	l := models.Limits{
		MinLayers: x.Head.MinLayers, MaxLayers: x.Head.MaxLayers, MinNodes: min(x.Head.MinNodes,
			x.Encoder.MinNodes), MaxNodes: max(x.Head.MaxNodes, x.Encoder.MaxNodes),
		MinLatent: x.MinLatent, MaxLatent: x.MaxLatent,
	}
	if err := l.Validate(); err != nil {
		return fmt.Errorf("evolution: network: %w", err)
	}
	f.Network = config.Dict(x)
	s.Network = &Network{Encoder: x.Encoder.Hidden, Latent: x.Latent, Head: x.Head.Hidden, Activation: x.Head.Activation,
		Limits: l}
	return nil
}

// Architecture returns the network's architecture for an observation space, with an encoder for every part of it. A
// space that no encoder reads is an error, and so is one of several parts where Latent is 0.
func (n Network) Architecture(observation spaces.Space) (models.Architecture, error) {
	encoder := n.Encoder
	if n.Latent == 0 {
		encoder = nil
	}
	return models.NewArchitecture(observation, encoder, n.Latent, n.Head, n.Activation)
}
