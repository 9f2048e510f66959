package description

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/spaces"
)

// Architecture is the shape of a network that evolution can edit, as plain data. Each part of the observation has an
// encoder. The encodings are concatenated, pass through recurrent layers if there are any, and end in a head.
// [Architecture.Network] describes what a network of the architecture computes.
type Architecture struct {
	// Parts are the parts of a row, in the order of its columns.
	Parts []Part `json:"parts" yaml:"parts"`
	// Latent is the width of each part's encoding. 0 means no encoders, which requires a single part.
	Latent int `json:"latent" yaml:"latent"`
	// Recurrent is a stack of recurrent layers between the encodings and the head. The zero value is none. With Frames
	// it requires a latent of 0.
	Recurrent RecurrentLayer `json:"recurrent,omitzero" yaml:"recurrent,omitempty"`
	// Head are the hidden layers after the encodings.
	Head Stack `json:"head" yaml:"head"`
	// Activation follows every encoding, and each hidden layer whose Stack names none.
	Activation string `json:"activation" yaml:"activation"`
}

// Part is a range of columns of a row with an encoder of its own.
type Part struct {
	// Name is a key of a Dict observation ("arm.joints" for a Dict within a Dict). It is "observation" if there is only
	// one part.
	Name string `json:"name" yaml:"name"`
	// Width is the number of columns.
	Width int `json:"width" yaml:"width"`
	// Choices is the number of choices of each column of indices, which the network reads one-hot. It is empty for
	// numbers.
	Choices []int `json:"choices,omitempty" yaml:"choices,omitempty"`
	// Picture is the shape of a picture: (height, width, channels), or with ChannelsFirst (channels, height, width). It
	// is empty for other parts. A picture requires a latent.
	Picture []int `json:"picture,omitempty" yaml:"picture,omitempty"`
	// ChannelsFirst says that the channels come first in Picture.
	ChannelsFirst bool `json:"channels_first,omitempty" yaml:"channels_first,omitempty"`
	// Bytes says that values are whole numbers from 0 to 255. The network divides them by 255.
	Bytes bool `json:"bytes,omitempty" yaml:"bytes,omitempty"`
	// Convolutions are the first layers of a picture's encoder. They come before the hidden layers of Encoder.
	Convolutions []Convolution `json:"convolutions,omitempty" yaml:"convolutions,omitempty"`
	// Encoder are the hidden layers before the encoding.
	Encoder Stack `json:"encoder" yaml:"encoder"`
}

// Stack is a chain of hidden layers.
type Stack struct {
	// Hidden are the widths of the layers.
	Hidden []int `json:"hidden" yaml:"hidden"`
	// Activations follow the layers: one for each layer. Empty means the architecture's activation after all of them.
	Activations []string `json:"activations,omitempty" yaml:"activations,omitempty"`
}

// inputs returns the number of values that the network reads of the part: its columns, or with Choices the width of
// their one-hot encoding.
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

// NewArchitecture returns the usual shape for an observation space: encoder layers and latent for each part, then the
// head. A Dict has a part for each entry, in the order of its columns. With a latent of 0 and one part there is only
// the head. A Box of three dimensions is a picture: it has [DefaultConvolutions] instead of the encoder layers. Its
// channels come first if the first dimension is at most 4 and the last one is larger.
func NewArchitecture(observation spaces.Space, encoder []int, latent int, head []int, activation string) (Architecture,
	error) {
	a := Architecture{Latent: latent, Head: Stack{Hidden: slices.Clone(head)}, Activation: activation}
	if err := observation.Validate(); err != nil {
		return a, err
	}
	for _, leaf := range observation.Leaves() {
		// If the space has no entries, its only leaf has no name.
		p := Part{Name: cmp.Or(leaf.Name, "observation"), Width: leaf.Space.Width(),
			Encoder: Stack{Hidden: slices.Clone(encoder)}}
		switch leaf.Space.Kind {
		case spaces.Box:
			p.Bytes = leaf.Space.DType == spaces.Uint8
			if len(leaf.Space.Shape) == 3 {
				p.Picture, p.Encoder = slices.Clone(leaf.Space.Shape), Stack{}
				// Pictures have 1 to 4 channels (grey, RGB, RGBA), and more pixels than that along a side.
				p.ChannelsFirst = p.Picture[0] <= 4 && p.Picture[2] > 4
				p.Convolutions = DefaultConvolutions(p.channelsFirst())
			}
		case spaces.Discrete, spaces.MultiDiscrete:
			p.Choices = slices.Clone(leaf.Space.NVec)
		default:
			return a, fmt.Errorf("description: no encoder reads the space %v; want Box, Discrete, MultiDiscrete or a "+
				"Dict of them", leaf.Space)
		}
		a.Parts = append(a.Parts, p)
	}
	return a, a.Validate()
}

// Clone returns a copy that shares nothing with a.
func (a Architecture) Clone() Architecture {
	a.Parts = slices.Clone(a.Parts)
	for i := range a.Parts {
		p := &a.Parts[i]
		p.Choices, p.Picture = slices.Clone(p.Choices), slices.Clone(p.Picture)
		p.Convolutions, p.Encoder = slices.Clone(p.Convolutions), p.Encoder.clone()
	}
	a.Head = a.Head.clone()
	return a
}

// clone returns a copy that shares no slices with s.
func (s Stack) clone() Stack {
	return Stack{Hidden: slices.Clone(s.Hidden), Activations: slices.Clone(s.Activations)}
}

// activation returns the activation of hidden layer i. usual is the architecture's.
func (s Stack) activation(i int, usual string) string {
	if len(s.Activations) > 0 {
		return s.Activations[i]
	}
	return usual
}

// columns returns the width of a row: the sum of the parts' columns.
func (a Architecture) columns() int {
	n := 0
	for _, p := range a.Parts {
		n += p.Width
	}
	return n
}

// Values returns the architecture as a tree of plain values with the names of its JSON form. Snapshots store the tree.
func (a Architecture) Values() map[string]any { return tree(a) }

// ArchitectureOf reads what [Architecture.Values] returned, also after a round trip through a file. Unknown names are
// errors, and so are values that Validate refuses.
func ArchitectureOf(v any) (Architecture, error) {
	var a Architecture
	if err := decode(v, &a); err != nil {
		return a, fmt.Errorf("description: an architecture in a snapshot: %w", err)
	}
	return a, a.Validate()
}

// String returns a short notation: "4→[64]→64→[64 64] tanh" has the encoders' hidden layers, the latent, the head's
// hidden layers and the activation. A hidden layer with another activation names it: "4→[64 64:elu] tanh".
// Convolutions have channels, kernel, and stride and padding unless these are 1 and 0:
// "84×84×3→[32k8s4 64k3p1]→64→[64] relu". Recurrent layers look like "4→gru[64]→[64] tanh".
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
	if r := a.Recurrent; !r.None() {
		text += "→" + r.Kind + "[" + strings.TrimSpace(strings.Repeat(fmt.Sprint(r.HiddenSize)+" ", r.Layers)) + "]"
	}
	return text + "→" + a.Head.text(a.Activation) + " " + canonical(a.Activation)
}

// text returns the widths in brackets, such as "[64 64:elu]". It names only activations that differ from usual.
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
