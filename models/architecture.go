package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/spaces"
)

// Architecture is the shape of an [Evolvable] network, as plain data: an encoder for every part of the observation,
// whose outputs are put side by side, and a head that computes from them. Without a latent the head reads the
// observation itself.
type Architecture struct {
	// Parts are the parts of a row, in order of its columns.
	Parts []Part `json:"parts" yaml:"parts"`
	// Latent is the width of every part's encoding; 0 means that there are no encoders, which takes a single part.
	Latent int `json:"latent" yaml:"latent"`
	// Head are the hidden layers after the encodings.
	Head Stack `json:"head" yaml:"head"`
	// Activation follows every encoding, and hidden layers whose Stack names none.
	Activation string `json:"activation" yaml:"activation"`
}

// Part is a range of columns of a row with an encoder of its own.
type Part struct {
	// Name is a key of a Dict observation ("arm.joints" within a Dict of a Dict), or "observation" where there is one
	// part only.
	Name string `json:"name" yaml:"name"`
	// Width is the number of columns.
	Width int `json:"width" yaml:"width"`
	// Choices is empty for numbers; for indices it has the number of choices of every column, and the network reads them
	// one-hot.
	Choices []int `json:"choices,omitempty" yaml:"choices,omitempty"`
	// Encoder are the hidden layers before the encoding.
	Encoder Stack `json:"encoder" yaml:"encoder"`
}

// Stack is a chain of hidden layers.
type Stack struct {
	// Hidden are their widths.
	Hidden []int `json:"hidden" yaml:"hidden"`
	// Activations follow them; empty, or one a layer.
	Activations []string `json:"activations,omitempty" yaml:"activations,omitempty"`
}

// inputs is how many numbers the network reads of the part.
func (p Part) inputs() int {
	if len(p.Choices) == 0 {
		return p.Width
	}
	n := 0
	for _, c := range p.Choices {
		n += c
	}
	return n
}

// NewArchitecture is the usual shape for an observation space: encoder layers and latent for every part, then the head.
// A Dict has a part for every entry, in order of its columns. With a latent of 0 and one part there is only the head.
func NewArchitecture(observation spaces.Space, encoder []int, latent int, head []int, activation string) (Architecture,
	error) {
	a := Architecture{Latent: latent, Head: Stack{Hidden: slices.Clone(head)}, Activation: activation}
	if err := observation.Validate(); err != nil {
		return a, err
	}
	for _, leaf := range observation.Leaves() {
		p := Part{Name: leaf.Name, Width: leaf.Space.Width(), Encoder: Stack{Hidden: slices.Clone(encoder)}}
		if p.Name == "" {
			p.Name = "observation"
		}
		switch leaf.Space.Kind {
		case spaces.Box:
		case spaces.Discrete, spaces.MultiDiscrete:
			p.Choices = slices.Clone(leaf.Space.NVec)
		default:
			return a, fmt.Errorf("models: no encoder reads the space %v; want Box, Discrete, MultiDiscrete or a Dict of them",
				leaf.Space)
		}
		a.Parts = append(a.Parts, p)
	}
	return a, a.Validate()
}

// Clone returns a copy that shares nothing with a.
func (a Architecture) Clone() Architecture {
	a.Parts = slices.Clone(a.Parts)
	for i := range a.Parts {
		a.Parts[i].Choices = slices.Clone(a.Parts[i].Choices)
		a.Parts[i].Encoder = a.Parts[i].Encoder.clone()
	}
	a.Head = a.Head.clone()
	return a
}

func (s Stack) clone() Stack {
	return Stack{Hidden: slices.Clone(s.Hidden), Activations: slices.Clone(s.Activations)}
}

// activation is that of hidden layer i.
func (s Stack) activation(i int, usual string) string {
	if len(s.Activations) > 0 {
		return s.Activations[i]
	}
	return usual
}

// Module is a chain of linear layers within an architecture: the encoder of a part, or the head.
type Module struct {
	// Name is "encoder.<part>" or "head"; parameters are named after it, e.g. "head.0.weight", "head.out.bias".
	Name string
	// Inputs and Outputs are the widths before the first and after the last layer; Outputs is 0 for the head, whose
	// outputs are not part of the architecture.
	Inputs, Outputs int
	// Hidden and Activations are those of the layers between.
	Hidden      []int
	Activations []string
}

// Modules are the chains that the network consists of, encoders first.
func (a Architecture) Modules() []Module {
	var modules []Module
	chain := func(name string, in, out int, s Stack) {
		m := Module{Name: name, Inputs: in, Outputs: out, Hidden: slices.Clone(s.Hidden)}
		for i := range s.Hidden {
			m.Activations = append(m.Activations, s.activation(i, a.Activation))
		}
		modules = append(modules, m)
	}
	features := 0
	for _, p := range a.Parts {
		if a.Latent == 0 {
			features += p.inputs()
			continue
		}
		chain("encoder."+p.Name, p.inputs(), a.Latent, p.Encoder)
		features += a.Latent
	}
	chain("head", features, 0, a.Head)
	return modules
}

// Linear is a linear layer of a [Module].
type Linear struct {
	// Name is what its parameters are named after: "head.0" and so on for hidden layers, "head.out" for the last.
	Name string
	// Inputs and Outputs are its widths. Outputs is 0 for the last one of the head, whose outputs are not part of the
	// architecture.
	Inputs, Outputs int
}

// Layers are the module's linear layers: the hidden ones, then the last.
func (m Module) Layers() []Linear {
	var layers []Linear
	in := m.Inputs
	for i, out := range m.Hidden {
		layers = append(layers, Linear{fmt.Sprintf("%s.%d", m.Name, i), in, out})
		in = out
	}
	return append(layers, Linear{m.Name + ".out", in, m.Outputs})
}

// Layers are the linear layers of all modules in their order.
func (a Architecture) Layers() []Linear {
	var layers []Linear
	for _, m := range a.Modules() {
		layers = append(layers, m.Layers()...)
	}
	return layers
}

// columns is the width of a row.
func (a Architecture) columns() int {
	n := 0
	for _, p := range a.Parts {
		n += p.Width
	}
	return n
}

// String is a short notation: "4→[64]→64→[64 64] tanh" with the encoders' hidden layers, the latent, the head's, and
// the activation; hidden layers with another one say so, as in "4→[64 64:elu] tanh".
func (a Architecture) String() string {
	parts := make([]string, len(a.Parts))
	for i, p := range a.Parts {
		parts[i] = fmt.Sprint(p.inputs())
		if a.Latent > 0 && len(p.Encoder.Hidden) > 0 {
			parts[i] += "→" + p.Encoder.text(a.Activation)
		}
	}
	text := strings.Join(parts, " + ")
	if a.Latent > 0 {
		text += fmt.Sprintf("→%d", a.Latent)
	}
	return text + "→" + a.Head.text(a.Activation) + " " + canonical(a.Activation)
}

func (s Stack) text(usual string) string {
	widths := make([]string, len(s.Hidden))
	for i, w := range s.Hidden {
		widths[i] = fmt.Sprint(w)
		if own := canonical(s.activation(i, usual)); own != canonical(usual) {
			widths[i] += ":" + own
		}
	}
	return "[" + strings.Join(widths, " ") + "]"
}
