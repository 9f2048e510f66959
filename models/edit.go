package models

import "fmt"

// EditKind is a way to change an architecture. The kinds are AgileRL's.
type EditKind string

// The kinds of edits.
const (
	// AddLayer appends a hidden layer as wide as the last one; at the limit it becomes AddNode.
	AddLayer EditKind = "add_layer"
	// RemoveLayer drops the last hidden layer; at the limit it becomes AddNode.
	RemoveLayer EditKind = "remove_layer"
	// AddNode widens a hidden layer, where the result is within limits.
	AddNode EditKind = "add_node"
	// RemoveNode narrows a hidden layer, where more than the least width is left.
	RemoveNode EditKind = "remove_node"
	// AddLatentNode and RemoveLatentNode do the same to the latent; both limits are exclusive.
	AddLatentNode    EditKind = "add_latent_node"
	RemoveLatentNode EditKind = "remove_latent_node"
	// SetActivation changes the activation of all hidden layers and encodings.
	SetActivation EditKind = "activation"
)

// Edit is one change of an architecture, as plain data.
type Edit struct {
	Kind EditKind `json:"kind" yaml:"kind"`
	// Module is "head" or "encoder.<part>"; empty for latent and activation.
	Module string `json:"module,omitempty" yaml:"module,omitempty"`
	// Layer is the hidden layer for AddNode and RemoveNode; one beyond the last means the last.
	Layer int `json:"layer,omitempty" yaml:"layer,omitempty"`
	// Nodes is by how much a width changes, also where a layer's edit becomes AddNode.
	Nodes int `json:"nodes,omitempty" yaml:"nodes,omitempty"`
	// Activation is the new one.
	Activation string `json:"activation,omitempty" yaml:"activation,omitempty"`
}

// String reads as AgileRL's mutation names: "head.add_node".
func (e Edit) String() string {
	name := string(e.Kind)
	if e.Module != "" {
		name = e.Module + "." + name
	}
	switch e.Kind {
	case AddNode, RemoveNode:
		name += fmt.Sprintf("(layer %d, %d)", e.Layer, e.Nodes)
	case AddLatentNode, RemoveLatentNode:
		name += fmt.Sprintf("(%d)", e.Nodes)
	case SetActivation:
		name += "(" + e.Activation + ")"
	}
	return name
}

// Limits bound what edits may lead to.
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
}

// DefaultLimits returns the defaults named in [Limits], which are AgileRL's.
func DefaultLimits() Limits {
	return Limits{MinLayers: 1, MaxLayers: 3, MinNodes: 32, MaxNodes: 500, MinLatent: 8, MaxLatent: 128}
}

// Validate says which limits contradict each other.
func (l Limits) Validate() error {
	for _, b := range []struct {
		what           string
		least          int
		minimum, maxim int
	}{{"hidden layers", 0, l.MinLayers, l.MaxLayers}, {"nodes", 1, l.MinNodes, l.MaxNodes}, {"latent", 1, l.MinLatent,
		l.MaxLatent}} {
		if b.minimum < b.least || b.maxim < b.minimum {
			return fmt.Errorf("models: limits of %s are %d to %d; want at least %d, in ascending order", b.what, b.minimum,
				b.maxim, b.least)
		}
	}
	return nil
}
