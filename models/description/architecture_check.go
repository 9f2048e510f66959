package description

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/gorl-dev/gorl/spaces"
)

// MaxLayerWidth is the largest width of a layer. It refuses typing errors before memory is allocated.
const MaxLayerWidth = 1 << 20

// Validate returns an error that names what makes no sense.
func (a Architecture) Validate() error {
	if len(a.Parts) == 0 {
		return errors.New("description: an architecture needs at least one part of the observation")
	}
	if _, err := ParseActivation(a.Activation); err != nil {
		return fmt.Errorf("description: architecture: %w", err)
	}
	if a.Latent < 0 || a.Latent == 0 && len(a.Parts) > 1 || a.Latent > MaxLayerWidth {
		return fmt.Errorf("description: latent is %d with %d parts; want 0 (one part only) to %d", a.Latent,
			len(a.Parts), MaxLayerWidth)
	}
	// Two parts of one name would share the names of their parameters.
	names := map[string]bool{}
	for _, p := range a.Parts {
		if err := p.validate(); err != nil {
			return err
		}
		if names[p.Name] {
			return fmt.Errorf("description: part %q: every part needs a name of its own", p.Name)
		}
		if a.Latent == 0 && len(p.Encoder.Hidden) > 0 {
			return fmt.Errorf("description: part %q has an encoder and the latent is 0; give the latent a width, or "+
				"leave the encoder out", p.Name)
		}
		if a.Latent == 0 && len(p.Picture) > 0 {
			return fmt.Errorf("description: part %q is a picture and the latent is 0; give the latent a width", p.Name)
		}
		names[p.Name] = true
	}
	if err := a.Head.validate("head"); err != nil {
		return err
	}
	if err := a.validateMemory(); err != nil {
		return err
	}
	// Whether layers fit what they read depends on every layer before them. Widths checks that for a network with one
	// output.
	if _, err := a.Network(1, "").Widths(); err != nil {
		return fmt.Errorf("description: the architecture %v: %w", a, err)
	}
	return nil
}

// validateMemory checks the recurrent layers on the features that they read.
func (a Architecture) validateMemory() error {
	r := a.Recurrent
	if r.None() {
		return nil
	}
	// features is the width of the rows that the recurrent layers read.
	features := a.Latent * len(a.Parts)
	if a.Latent == 0 {
		features = a.Parts[0].inputs()
	}
	if err := r.Validate(features); err != nil {
		return err
	}
	if r.Frames > 0 && a.Latent > 0 {
		return fmt.Errorf("description: a %s over %d frames reads the observation itself; the latent is %d, make it 0",
			r.Kind, r.Frames, a.Latent)
	}
	return nil
}

// validate checks the part by itself. The name becomes part of parameters' names, in which a slash separates the
// sections of a snapshot.
func (p Part) validate() error {
	switch {
	case p.Name == "" || strings.ContainsFunc(p.Name, func(r rune) bool { return r == '/' || !unicode.IsPrint(r) }):
		return fmt.Errorf("description: part %q: a name has printable characters other than a slash", p.Name)
	case p.Width < 1 || p.Width > MaxLayerWidth:
		return fmt.Errorf("description: part %q has %d columns; want 1 to %d", p.Name, p.Width, MaxLayerWidth)
	case len(p.Choices) > 0 && len(p.Choices) != p.Width:
		return fmt.Errorf("description: part %q has %d columns and choices for %d", p.Name, p.Width, len(p.Choices))
	case slices.ContainsFunc(p.Choices, func(n int) bool { return n < 1 || n > MaxLayerWidth }):
		return fmt.Errorf("description: part %q has choices %v; each must be 1 to %d", p.Name, p.Choices, MaxLayerWidth)
	case len(p.Picture) == 0 && (len(p.Convolutions) > 0 || p.ChannelsFirst):
		return fmt.Errorf("description: part %q has convolutions or channels, but is no picture; give the picture's "+
			"shape", p.Name)
	}
	if err := p.validatePicture(); err != nil {
		return err
	}
	return p.Encoder.validate("encoder of " + p.Name)
}

// validate checks widths and activations. what names the stack in errors.
func (s Stack) validate(what string) error {
	if len(s.Activations) > 0 && len(s.Activations) != len(s.Hidden) {
		return fmt.Errorf("description: %s: %d hidden layers and %d activations; give one a layer, or none", what,
			len(s.Hidden), len(s.Activations))
	}
	for i, w := range s.Hidden {
		if w < 1 || w > MaxLayerWidth {
			return fmt.Errorf("description: %s: layer %d has width %d; want 1 to %d", what, i, w, MaxLayerWidth)
		}
	}
	for _, name := range s.Activations {
		if _, err := ParseActivation(name); err != nil {
			return fmt.Errorf("description: %s: %w", what, err)
		}
	}
	return nil
}

// Fits returns an error unless networks of the architecture read rows of the space s. The numbers of columns must
// agree, and so must the shapes of pictures.
func (a Architecture) Fits(s spaces.Space) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if got, want := a.columns(), s.Width(); got != want {
		return fmt.Errorf("description: the architecture %v reads %d columns, %v has %d", a, got, s, want)
	}
	leaves := s.Leaves()
	for i, p := range a.Parts {
		// Parts can only be compared one by one if the space has as many leaves.
		if len(leaves) == len(a.Parts) && len(p.Picture) > 0 && !slices.Equal(p.Picture, leaves[i].Space.Shape) {
			return fmt.Errorf("description: the part %q of the architecture is a picture of shape %v, the space's has "+
				"the shape %v", p.Name, p.Picture, leaves[i].Space.Shape)
		}
	}
	return nil
}

// Equal reports whether networks of both architectures compute the same from the same weights. Notations of the same
// activation are equal.
func (a Architecture) Equal(b Architecture) bool {
	return a.Latent == b.Latent && a.Recurrent == b.Recurrent && canonical(a.Activation) == canonical(b.Activation) &&
		slices.EqualFunc(a.Parts, b.Parts, func(p, q Part) bool {
			return p.Name == q.Name && p.Width == q.Width && slices.Equal(p.Choices, q.Choices) &&
				slices.Equal(p.Picture, q.Picture) && p.ChannelsFirst == q.ChannelsFirst && p.Bytes == q.Bytes
		}) &&
		slices.EqualFunc(a.Modules(), b.Modules(), func(m, n Module) bool {
			return slices.Equal(m.Hidden, n.Hidden) &&
				slices.EqualFunc(m.Convolutions, n.Convolutions, Convolution.equal) && slices.EqualFunc(m.Activations,
				n.Activations, func(f, g string) bool { return canonical(f) == canonical(g) })
		})
}
