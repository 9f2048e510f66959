package models

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
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
	// Name is a key of a Dict observation, or "observation" where there is one part only.
	Name string `json:"name" yaml:"name"`
	// Width is the number of columns.
	Width int `json:"width" yaml:"width"`
	// Choices is nil for numbers; for indices it has the number of choices of every column, and the network reads them
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
	if p.Choices == nil {
		return p.Width
	}
	n := 0
	for _, c := range p.Choices {
		n += c
	}
	return n
}

// NewArchitecture is the usual shape for an observation space: encoder layers and latent for every part, then the head.
// With a latent of 0 and one part there is only the head.
func NewArchitecture(observation spaces.Space, encoder []int, latent int, head []int, activation string) (Architecture, error) {
	a := Architecture{Latent: latent, Head: Stack{Hidden: slices.Clone(head)}, Activation: activation}
	part, err := partOf("observation", observation)
	if err != nil {
		return a, err
	}
	part.Encoder.Hidden = slices.Clone(encoder)
	a.Parts = []Part{part}
	return a, a.Validate()
}

func partOf(name string, s spaces.Space) (Part, error) {
	p := Part{Name: name, Width: s.Width()}
	switch s.Kind {
	case spaces.Box:
	case spaces.Discrete, spaces.MultiDiscrete:
		p.Choices = slices.Clone(s.NVec)
	default:
		return p, fmt.Errorf("models: no encoder reads the space %v; want Box, Discrete or MultiDiscrete", s)
	}
	return p, nil
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

// Validate says what makes no sense.
func (a Architecture) Validate() error {
	if len(a.Parts) == 0 {
		return errors.New("models: an architecture needs at least one part of the observation")
	}
	if _, err := tensor.ParseActivation(a.Activation); err != nil {
		return fmt.Errorf("models: architecture: %w", err)
	}
	if a.Latent < 0 || a.Latent == 0 && len(a.Parts) > 1 {
		return fmt.Errorf("models: latent is %d with %d parts; several parts need a positive one", a.Latent, len(a.Parts))
	}
	names := map[string]bool{}
	for _, p := range a.Parts {
		switch {
		case p.Name == "" || names[p.Name]:
			return fmt.Errorf("models: part %q: every part needs a name of its own", p.Name)
		case p.Width < 1:
			return fmt.Errorf("models: part %q has %d columns; it needs at least one", p.Name, p.Width)
		case p.Choices != nil && len(p.Choices) != p.Width:
			return fmt.Errorf("models: part %q has %d columns and choices for %d", p.Name, p.Width, len(p.Choices))
		case slices.ContainsFunc(p.Choices, func(n int) bool { return n < 1 }):
			return fmt.Errorf("models: part %q has choices %v; each must be positive", p.Name, p.Choices)
		case a.Latent == 0 && len(p.Encoder.Hidden) > 0:
			return fmt.Errorf("models: part %q has an encoder and the latent is 0; give the latent a width, or leave the encoder out", p.Name)
		}
		names[p.Name] = true
		if err := p.Encoder.validate("encoder of " + p.Name); err != nil {
			return err
		}
	}
	return a.Head.validate("head")
}

func (s Stack) validate(what string) error {
	if len(s.Activations) > 0 && len(s.Activations) != len(s.Hidden) {
		return fmt.Errorf("models: %s: %d hidden layers and %d activations; give one a layer, or none", what, len(s.Hidden), len(s.Activations))
	}
	for i, w := range s.Hidden {
		if w < 1 {
			return fmt.Errorf("models: %s: layer %d has width %d; it must be positive", what, i, w)
		}
	}
	for _, name := range s.Activations {
		if _, err := tensor.ParseActivation(name); err != nil {
			return fmt.Errorf("models: %s: %w", what, err)
		}
	}
	return nil
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

// String is a short notation: "4→[64]→64→[64 64]" with the encoders' hidden layers, the latent and the head's.
func (a Architecture) String() string {
	text := ""
	for i, p := range a.Parts {
		if i > 0 {
			text += " + "
		}
		text += fmt.Sprint(p.inputs())
		if a.Latent > 0 && len(p.Encoder.Hidden) > 0 {
			text += "→" + fmt.Sprint(p.Encoder.Hidden)
		}
	}
	if a.Latent > 0 {
		text += fmt.Sprintf("→%d", a.Latent)
	}
	return text + "→" + fmt.Sprint(a.Head.Hidden)
}
