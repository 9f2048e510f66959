package description

import (
	"cmp"
	"fmt"
	"slices"
)

// Convolution is a convolution in the encoder of a picture, with square kernels.
type Convolution struct {
	// Channels is the number of kernels. Kernel is the length of their sides and Stride their step, both in pixels.
	Channels int `json:"channels" yaml:"channels"`
	Kernel   int `json:"kernel" yaml:"kernel"`
	Stride   int `json:"stride" yaml:"stride"`
	// Padding is the number of zeros on each side of the picture. Extra is the number of further zeros below and right
	// of it. An edit that enlarges the kernel adds Extra, so that the layer's result keeps its size.
	Padding int `json:"padding,omitempty" yaml:"padding,omitempty"`
	Extra   int `json:"extra,omitempty" yaml:"extra,omitempty"`
	// Activation follows the convolution. The empty string means the architecture's.
	Activation string `json:"activation,omitempty" yaml:"activation,omitempty"`
}

// DefaultConvolutions returns the convolutions that the encoder of a picture starts with: 16 kernels of 8 with stride
// 4, 32 of 4 with stride 2, 32 of 3. That is half of models.DefaultCNN. shape is the picture's (channels, height,
// width). The first kernel is at most as large as the picture. A later layer is left out if the picture has become too
// small for it.
func DefaultConvolutions(shape [3]int) []Convolution {
	var layers []Convolution
	for i, c := range []Convolution{{Channels: 16, Kernel: 8, Stride: 4}, {Channels: 32, Kernel: 4, Stride: 2},
		{Channels: 32, Kernel: 3, Stride: 1}} {
		if side := min(shape[1], shape[2]); side < c.Kernel {
			if i > 0 {
				continue
			}
			c.Kernel, c.Stride = side, min(c.Stride, side)
		}
		layers = append(layers, c)
		shape = c.Step(shape).Picture()
	}
	return layers
}

// activation returns the convolution's activation. usual is the architecture's.
func (c Convolution) activation(usual string) string { return cmp.Or(c.Activation, usual) }

// equal compares two convolutions. Notations of the same activation are equal.
func (c Convolution) equal(o Convolution) bool {
	c.Activation, o.Activation = canonical(c.Activation), canonical(o.Activation)
	return c == o
}

// Step describes the convolution of a picture of shape (channels, height, width). Inputs, the names of its arrays and
// the activation are left to the caller.
func (c Convolution) Step(shape [3]int) Step {
	after := c.Padding + c.Extra
	return Step{Op: Conv2d, Outputs: c.Channels, Shape: shape[:], Kernel: []int{c.Kernel, c.Kernel},
		Stride: []int{c.Stride, c.Stride}, Padding: []int{c.Padding, c.Padding, after, after}, Dilation: []int{1,
			1}, Groups: 1}
}

// text returns the notation of [Architecture.String], such as "32k8s4" or "64k3p1+1:elu". It leaves out defaults.
func (c Convolution) text(usual string) string {
	text := fmt.Sprintf("%dk%d", c.Channels, c.Kernel)
	if c.Stride != 1 {
		text += fmt.Sprintf("s%d", c.Stride)
	}
	if c.Padding != 0 || c.Extra != 0 {
		text += fmt.Sprintf("p%d", c.Padding)
	}
	if c.Extra != 0 {
		text += fmt.Sprintf("+%d", c.Extra)
	}
	if own := canonical(c.activation(usual)); own != canonical(usual) {
		text += ":" + own
	}
	return text
}

// channelsFirst returns the picture's shape in the order of convolutions: channels, height, width.
func (p Part) channelsFirst() [3]int {
	if p.ChannelsFirst {
		return [3]int(p.Picture)
	}
	return [3]int{p.Picture[2], p.Picture[0], p.Picture[1]}
}

// Pictures returns the shapes (channels, height, width) of the picture before the first convolution and after each.
func (p Part) Pictures() [][3]int {
	shapes := [][3]int{p.channelsFirst()}
	for i, c := range p.Convolutions {
		shapes = append(shapes, c.Step(shapes[i]).Picture())
	}
	return shapes
}

// validatePicture checks the part's picture and each convolution by itself. Whether the convolutions fit the picture is
// checked by Architecture.Validate, which needs the whole network for it.
func (p Part) validatePicture() error {
	if len(p.Picture) == 0 {
		return nil
	}
	if len(p.Picture) != 3 || len(p.Choices) > 0 || slices.ContainsFunc(p.Picture, func(n int) bool {
		return n < 1 || n > MaxLayerWidth
	}) || p.Picture[0]*p.Picture[1] > MaxLayerWidth || p.Picture[0]*p.Picture[1]*p.Picture[2] != p.Width {
		return fmt.Errorf("description: part %q has a picture of shape %v and %d columns; want three dimensions whose "+
			"product is that", p.Name, p.Picture, p.Width)
	}
	if len(p.Convolutions) == 0 {
		return fmt.Errorf("description: part %q is a picture without convolutions; give at least one", p.Name)
	}
	for i, c := range p.Convolutions {
		if c.Channels < 1 || c.Kernel < 1 || c.Stride < 1 || c.Padding < 0 || c.Extra < 0 ||
			max(c.Channels, c.Kernel, c.Stride, c.Padding, c.Extra) > MaxLayerWidth {
			return fmt.Errorf("description: part %q: convolution %d is %+v; channels, kernel and stride are 1 to %d, "+
				"and nothing is negative", p.Name, i, c, MaxLayerWidth)
		}
		if _, err := ParseActivation(c.Activation); err != nil {
			return fmt.Errorf("description: part %q: convolution %d: %w", p.Name, i, err)
		}
	}
	return nil
}
