package models

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

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
	Kind EditKind `json:"kind"`
	// Module is "head" or "encoder.<part>"; empty for latent and activation.
	Module string `json:"module,omitempty"`
	// Layer is the hidden layer for AddNode and RemoveNode; one beyond the last means the last.
	Layer int `json:"layer,omitempty"`
	// Nodes is by how much a width changes, also where a layer's edit becomes AddNode.
	Nodes int `json:"nodes,omitempty"`
	// Activation is the new one.
	Activation string `json:"activation,omitempty"`
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
	}{{"hidden layers", 0, l.MinLayers, l.MaxLayers}, {"nodes", 1, l.MinNodes, l.MaxNodes}, {"latent", 1, l.MinLatent, l.MaxLatent}} {
		if b.minimum < b.least || b.maxim < b.minimum {
			return fmt.Errorf("models: limits of %s are %d to %d; want at least %d, in ascending order", b.what, b.minimum, b.maxim, b.least)
		}
	}
	return nil
}

// Apply returns the edited architecture and what was really done, which differs from e where a limit turns one edit
// into another. Where nothing changes, changed is false and the architecture is the same. Edits of a module that the
// architecture does not have are errors.
func (a Architecture) Apply(e Edit, l Limits) (next Architecture, done Edit, changed bool, err error) {
	next, done = a.Clone(), e
	switch e.Kind {
	case AddLatentNode, RemoveLatentNode:
		width := a.Latent + e.Nodes
		if e.Kind == RemoveLatentNode {
			width = a.Latent - e.Nodes
		}
		if a.Latent == 0 || e.Nodes < 1 || width <= l.MinLatent && e.Kind == RemoveLatentNode || width >= l.MaxLatent && e.Kind == AddLatentNode {
			return next, done, false, nil
		}
		next.Latent = width
		return next, done, true, nil
	case SetActivation:
		if e.Activation == a.Activation {
			return next, done, false, nil
		}
		next.Activation = e.Activation
		next.Head.Activations = nil
		for i := range next.Parts {
			next.Parts[i].Encoder.Activations = nil
		}
		return next, done, true, next.Validate()
	}
	stack := next.stack(e.Module)
	if stack == nil {
		return a, done, false, fmt.Errorf("models: edit %v: the architecture %v has no module %q", e, a, e.Module)
	}
	done, changed, err = stack.apply(e, l, a.Activation)
	return next, done, changed, err
}

// stack is the module's, within a.
func (a *Architecture) stack(module string) *Stack {
	if module == "head" {
		return &a.Head
	}
	if name, ok := strings.CutPrefix(module, "encoder."); ok && a.Latent > 0 {
		for i := range a.Parts {
			if a.Parts[i].Name == name {
				return &a.Parts[i].Encoder
			}
		}
	}
	return nil
}

func (s *Stack) apply(e Edit, l Limits, usual string) (done Edit, changed bool, err error) {
	n := len(s.Hidden)
	switch e.Kind {
	case AddLayer:
		if n < l.MaxLayers && n > 0 {
			s.fill(usual)
			s.Hidden = append(s.Hidden, s.Hidden[n-1])
			s.Activations = append(s.Activations, inserted(s.Activations[n-1]))
			return Edit{Kind: AddLayer, Module: e.Module, Layer: n}, true, nil
		}
		e.Kind = AddNode
	case RemoveLayer:
		if n > max(l.MinLayers, 1) {
			s.fill(usual)
			s.Hidden, s.Activations = s.Hidden[:n-1], s.Activations[:n-1]
			return Edit{Kind: RemoveLayer, Module: e.Module, Layer: n - 1}, true, nil
		}
		e.Kind = AddNode
	case AddNode, RemoveNode:
	default:
		return e, false, fmt.Errorf("models: %q is no kind of edit", e.Kind)
	}
	if n == 0 || e.Nodes < 1 || e.Layer < 0 {
		return e, false, nil
	}
	e.Layer = min(e.Layer, n-1)
	width := s.Hidden[e.Layer] + e.Nodes
	if e.Kind == RemoveNode {
		width = s.Hidden[e.Layer] - e.Nodes
	}
	if e.Kind == AddNode && width > l.MaxNodes || e.Kind == RemoveNode && width <= l.MinNodes {
		return e, false, nil
	}
	s.Hidden[e.Layer] = width
	return e, true, nil
}

// fill names every layer's activation.
func (s *Stack) fill(usual string) {
	if len(s.Activations) == 0 {
		s.Activations = slices.Repeat([]string{usual}, len(s.Hidden))
	}
}

// inserted is the activation of a layer put after one with the given activation, such that it can begin as the identity:
// the same where that can be, otherwise elu, which is the identity on what lies above zero.
func inserted(before string) string {
	switch strings.ToLower(before) {
	case "relu", "leaky_relu", "identity", "none", "":
		return before
	}
	return "elu"
}

// Random draws an edit as AgileRL does: with probability newLayer one of the head's layer edits, otherwise one of all
// node edits, each uniformly; widths change by 16, 32 or 64, the latent by 8, 16 or 32.
func (a Architecture) Random(rng *rand.Rand, newLayer float64) Edit {
	var e Edit
	if rng.Float64() < newLayer {
		e = Edit{Kind: []EditKind{AddLayer, RemoveLayer}[rng.IntN(2)], Module: "head"}
	} else {
		var choices []Edit
		if a.Latent > 0 {
			choices = append(choices, Edit{Kind: AddLatentNode}, Edit{Kind: RemoveLatentNode})
			for _, p := range a.Parts {
				if len(p.Encoder.Hidden) > 0 {
					choices = append(choices, Edit{Kind: AddNode, Module: "encoder." + p.Name}, Edit{Kind: RemoveNode, Module: "encoder." + p.Name})
				}
			}
		}
		choices = append(choices, Edit{Kind: AddNode, Module: "head"}, Edit{Kind: RemoveNode, Module: "head"})
		e = choices[rng.IntN(len(choices))]
	}
	size := rng.IntN(3) // always two draws, so that what an edit becomes never shifts later draws
	place := rng.Float64()
	e.Nodes = []int{16, 32, 64}[size]
	if stack := a.stack(e.Module); stack != nil {
		e.Layer = int(place * float64(len(stack.Hidden)))
	} else {
		e.Nodes = []int{8, 16, 32}[size]
	}
	return e
}
