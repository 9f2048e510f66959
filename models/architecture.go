package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/spaces"
)

// Architecture is the shape of an [Evolvable] network, as plain data: an encoder for every part of the observation,
// whose outputs are put side by side, recurrent layers where it has memory, and a head that computes from what comes
// before it. Without a latent there are no encoders.
type Architecture struct {
	// Parts are the parts of a row, in order of its columns.
	Parts []Part `json:"parts" yaml:"parts"`
	// Latent is the width of every part's encoding; 0 means that there are no encoders, which takes a single part.
	Latent int `json:"latent" yaml:"latent"`
	// Recurrent is a stack of recurrent layers between the encodings and the head. The zero value is none. With Frames it
	// needs a latent of 0.
	Recurrent RecurrentLayer `json:"recurrent,omitzero" yaml:"recurrent,omitempty"`
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
	// Picture is the shape of a picture as its space has it: (height, width, channels), or with ChannelsFirst (channels,
	// height, width). It is empty for other parts. A picture needs a latent.
	Picture []int `json:"picture,omitempty" yaml:"picture,omitempty"`
	// ChannelsFirst says how Picture is to be read.
	ChannelsFirst bool `json:"channels_first,omitempty" yaml:"channels_first,omitempty"`
	// Bytes says that values are whole numbers from 0 to 255. The network divides them by 255.
	Bytes bool `json:"bytes,omitempty" yaml:"bytes,omitempty"`
	// Convolutions are those of a picture, before the hidden layers of Encoder.
	Convolutions []Convolution `json:"convolutions,omitempty" yaml:"convolutions,omitempty"`
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
// A Box of three dimensions is a picture. Its encoder has [DefaultConvolutions] instead of the encoder layers, and its
// channels come first where the first dimension is at most 4 and the last one is not.
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
			p.Bytes = leaf.Space.DType == spaces.Uint8
			if len(leaf.Space.Shape) == 3 {
				p.Picture, p.Encoder = slices.Clone(leaf.Space.Shape), Stack{}
				p.ChannelsFirst = p.Picture[0] <= 4 && p.Picture[2] > 4
				p.Convolutions = DefaultConvolutions(p.channelsFirst())
			}
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
		a.Parts[i].Picture = slices.Clone(a.Parts[i].Picture)
		a.Parts[i].Convolutions = slices.Clone(a.Parts[i].Convolutions)
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

// Module is a chain of layers within an architecture: the encoder of a part, the recurrent layers, or the head.
type Module struct {
	// Name is "encoder.<part>", "memory" or "head"; parameters are named after it, e.g. "head.0.weight",
	// "head.out.bias", "encoder.camera.conv.0.weight", "memory.weight_ih_l0".
	Name string
	// Inputs and Outputs are the widths before the first and after the last layer; Outputs is 0 for the head, whose
	// outputs are not part of the architecture.
	Inputs, Outputs int
	// Convolutions come first in the encoder of a picture, every one with its activation. Pictures are the shapes
	// (channels, height, width) before the first and after each.
	Convolutions []Convolution
	Pictures     [][3]int
	// Hidden and Activations are those of the layers between.
	Hidden      []int
	Activations []string
	// Recurrent is the stack of "memory", which has no other layers.
	Recurrent RecurrentLayer
}

// memoryModule is the name of the module of recurrent layers.
const memoryModule = "memory"

// Modules are the chains that the network consists of, in order of the data: encoders, recurrent layers, the head.
func (a Architecture) Modules() []Module {
	var modules []Module
	chain := func(name string, in, out int, s Stack) *Module {
		m := Module{Name: name, Inputs: in, Outputs: out, Hidden: slices.Clone(s.Hidden)}
		for i := range s.Hidden {
			m.Activations = append(m.Activations, s.activation(i, a.Activation))
		}
		modules = append(modules, m)
		return &modules[len(modules)-1]
	}
	features := 0
	for _, p := range a.Parts {
		if a.Latent == 0 {
			features += p.inputs()
			continue
		}
		m := chain("encoder."+p.Name, p.inputs(), a.Latent, p.Encoder)
		if len(p.Picture) > 0 {
			m.Convolutions, m.Pictures = slices.Clone(p.Convolutions), p.pictures()
			for i := range m.Convolutions {
				m.Convolutions[i].Activation = p.Convolutions[i].activation(a.Activation)
			}
		}
		features += a.Latent
	}
	if r := a.Recurrent; !r.none() {
		modules = append(modules, Module{Name: memoryModule, Inputs: features, Outputs: r.HiddenSize, Recurrent: r})
		features = r.HiddenSize
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

// Layers are the module's linear layers: the hidden ones, then the last. Recurrent layers have none.
func (m Module) Layers() []Linear {
	if !m.Recurrent.none() {
		return nil
	}
	var layers []Linear
	in := m.Inputs
	if n := len(m.Pictures); n > 0 {
		in = m.Pictures[n-1][0] * m.Pictures[n-1][1] * m.Pictures[n-1][2]
	}
	for i, out := range m.Hidden {
		layers = append(layers, Linear{fmt.Sprintf("%s.%d", m.Name, i), in, out})
		in = out
	}
	return append(layers, Linear{m.Name + ".out", in, m.Outputs})
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
// the activation; hidden layers with another one say so, as in "4→[64 64:elu] tanh". Convolutions are written as
// channels, kernel, and where they are not 1 and 0 stride and padding: "84×84×3→[32k8s4 64k3p1]→64→[64] relu".
// Recurrent layers are written as in "4→gru[64]→[64] tanh".
func (a Architecture) String() string {
	parts := make([]string, len(a.Parts))
	for i, p := range a.Parts {
		parts[i] = fmt.Sprint(p.inputs())
		if len(p.Picture) > 0 {
			parts[i] = fmt.Sprintf("%d×%d×%d", p.Picture[0], p.Picture[1], p.Picture[2])
		}
		if len(p.Convolutions) > 0 {
			texts := make([]string, len(p.Convolutions))
			for j, c := range p.Convolutions {
				texts[j] = c.text(a.Activation)
			}
			parts[i] += "→[" + strings.Join(texts, " ") + "]"
		}
		if a.Latent > 0 && len(p.Encoder.Hidden) > 0 {
			parts[i] += "→" + p.Encoder.text(a.Activation)
		}
	}
	text := strings.Join(parts, " + ")
	if a.Latent > 0 {
		text += fmt.Sprintf("→%d", a.Latent)
	}
	if r := a.Recurrent; !r.none() {
		text += "→" + r.Kind + "[" + strings.TrimSpace(strings.Repeat(fmt.Sprint(r.HiddenSize)+" ", r.Layers)) + "]"
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
