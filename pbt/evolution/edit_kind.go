package evolution

import (
	"fmt"

	"github.com/gorl-dev/gorl/models/description"
)

// editKind is a way to change an architecture. The kinds are AgileRL's.
type editKind string

// The kinds of edits.
const (
	// addLayer appends a hidden layer as wide as the last one; at the limit it becomes addNode. In the encoder of a
	// picture it appends a convolution with as many channels as the last one, a kernel of 3 and a padding of 1; at the
	// limit it becomes addChannel, as it does where a side of the last picture has at most two pixels.
	addLayer editKind = "add_layer"
	// removeLayer drops the last hidden layer, or convolution; at the limit it becomes addNode, or addChannel.
	removeLayer editKind = "remove_layer"
	// addNode widens a hidden layer, or the recurrent layers all together, where the result is within limits.
	addNode editKind = "add_node"
	// removeNode narrows a hidden layer, where more than the least width is left, or the recurrent layers, where at
	// least that is left.
	removeNode editKind = "remove_node"
	// addLatentNode and removeLatentNode do the same to the latent; both limits are exclusive.
	addLatentNode    editKind = "add_latent_node"
	removeLatentNode editKind = "remove_latent_node"
	// addChannel and removeChannel do the same to a convolution; both limits are inclusive.
	addChannel    editKind = "add_channel"
	removeChannel editKind = "remove_channel"
	// changeKernel gives a convolution a kernel of another size. A larger one gets as many zeros more below and right
	// of the picture, so that the layer's result keeps its size. A smaller one loses such zeros; if there are none, the
	// result becomes larger. A kernel larger than the picture, or a picture that becomes too large, changes nothing.
	// Where there is only one convolution it becomes addLayer.
	changeKernel editKind = "change_kernel"
	// changeActivation changes the activation of all hidden layers and encodings.
	changeActivation editKind = "activation"
)

// edit is one change of an architecture, as plain data.
type edit struct {
	Kind editKind
	// Module is "head", "memory" (the recurrent layers) or "encoder.<part>"; empty for latent and activation.
	Module string
	// Layer is the hidden layer for addNode and removeNode, or the convolution; one beyond the last means the last.
	Layer int
	// Nodes is by how much a width or a number of channels changes, also where a layer's edit becomes addNode or
	// addChannel.
	Nodes int
	// Kernel is the new length of a kernel's sides.
	Kernel int
	// Activation is the new one.
	Activation string
}

// String reads as AgileRL's mutation names: "head.add_node".
func (e edit) String() string {
	name := string(e.Kind)
	if e.Module != "" {
		name = e.Module + "." + name
	}
	switch e.Kind {
	case addNode, removeNode, addChannel, removeChannel, addLatentNode, removeLatentNode:
		if e.Module == description.MemoryModule || e.Module == "" {
			return name + fmt.Sprintf("(%d)", e.Nodes)
		}
		name += fmt.Sprintf("(layer %d, %d)", e.Layer, e.Nodes)
	case changeKernel:
		name += fmt.Sprintf("(layer %d, %d)", e.Layer, e.Kernel)
	case changeActivation:
		name += "(" + e.Activation + ")"
	}
	return name
}

// Limits bound what edits may lead to. The limits of convolutions and of recurrent layers have their defaults where
// both, the least and the most, are 0.
type Limits struct {
	// MinLayers and MaxLayers are of hidden layers of a module, default 1 and 3.
	MinLayers int `yaml:"min_hidden_layers" json:"min_hidden_layers" config:"min=0"`
	MaxLayers int `yaml:"max_hidden_layers" json:"max_hidden_layers" config:"min=0"`
	// MinNodes and MaxNodes are of widths of hidden layers, default 32 and 500.
	MinNodes int `yaml:"min_mlp_nodes" json:"min_mlp_nodes" config:"min=1"`
	MaxNodes int `yaml:"max_mlp_nodes" json:"max_mlp_nodes" config:"min=1"`
	// MinLatent and MaxLatent are of the latent, default 8 and 128.
	MinLatent int `yaml:"min_latent_dim" json:"min_latent_dim" config:"min=1"`
	MaxLatent int `yaml:"max_latent_dim" json:"max_latent_dim" config:"min=1"`
	// MinConvolutions and MaxConvolutions are of convolutions of a picture's encoder, default 1 and 6.
	MinConvolutions int `yaml:"min_convolutions" json:"min_convolutions,omitempty" config:"min=0"`
	MaxConvolutions int `yaml:"max_convolutions" json:"max_convolutions,omitempty" config:"min=0"`
	// MinChannels and MaxChannels are of channels of convolutions, default 16 and 256.
	MinChannels int `yaml:"min_channel_size" json:"min_channel_size,omitempty" config:"min=0"`
	MaxChannels int `yaml:"max_channel_size" json:"max_channel_size,omitempty" config:"min=0"`
	// MinHidden and MaxHidden are of the values of a recurrent layer, default 32 and 512.
	MinHidden int `yaml:"min_hidden_state_size" json:"min_hidden_state_size,omitempty" config:"min=0"`
	MaxHidden int `yaml:"max_hidden_state_size" json:"max_hidden_state_size,omitempty" config:"min=0"`
}

// DefaultLimits returns the defaults named in [Limits], which are AgileRL's.
func DefaultLimits() Limits {
	return Limits{MinLayers: 1, MaxLayers: 3, MinNodes: 32, MaxNodes: 500, MinLatent: 8, MaxLatent: 128,
		MinConvolutions: 1, MaxConvolutions: 6, MinChannels: 16, MaxChannels: 256, MinHidden: 32, MaxHidden: 512}
}

// filled has the defaults in the place of pairs of zeros.
func (l Limits) filled() Limits {
	d := DefaultLimits()
	for _, pair := range [][4]*int{
		{&l.MinConvolutions, &l.MaxConvolutions, &d.MinConvolutions, &d.MaxConvolutions},
		{&l.MinChannels, &l.MaxChannels, &d.MinChannels, &d.MaxChannels},
		{&l.MinHidden, &l.MaxHidden, &d.MinHidden, &d.MaxHidden},
	} {
		if *pair[0] == 0 && *pair[1] == 0 {
			*pair[0], *pair[1] = *pair[2], *pair[3]
		}
	}
	return l
}

// Validate returns an error that says which limits contradict each other.
func (l Limits) Validate() error {
	if err := l.check(); err != nil {
		return fmt.Errorf("evolution: limits of %w", err)
	}
	return nil
}

// check is Validate without the beginning of the error.
func (l Limits) check() error {
	l = l.filled()
	for _, b := range []struct {
		what                  string
		smallest, least, most int
	}{
		{"hidden layers", 0, l.MinLayers, l.MaxLayers}, {"nodes", 1, l.MinNodes, l.MaxNodes},
		{"latent", 1, l.MinLatent, l.MaxLatent}, {"convolutions", 1, l.MinConvolutions, l.MaxConvolutions},
		{"channels", 1, l.MinChannels, l.MaxChannels}, {"recurrent values", 1, l.MinHidden, l.MaxHidden},
	} {
		if b.least < b.smallest || b.most < b.least {
			return fmt.Errorf("%s are %d to %d; want at least %d, in ascending order", b.what, b.least, b.most,
				b.smallest)
		}
	}
	return nil
}
