package models

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models/description"
)

// maxSide limits kernels, strides, paddings and dilations, in pixels. Larger ones are typing errors.
const maxSide = 1 << 10

// parseConv reads [out, kernel, stride, padding, bias] or a mapping with PyTorch's names. Kernel, stride, padding and
// dilation are one number or two, for rows and columns.
func parseConv(path string, args any) (Layer, error) {
	k := struct {
		Out     any    `yaml:"out_channels"`
		Kernel  any    `yaml:"kernel_size"`
		Stride  any    `yaml:"stride"`
		Padding any    `yaml:"padding"`
		Bias    bool   `yaml:"bias"`
		In      any    `yaml:"in_channels"`
		Dilate  any    `yaml:"dilation"`
		Groups  int    `yaml:"groups" config:"min=1"`
		Mode    string `yaml:"padding_mode" config:"oneof=zeros"`
	}{Stride: 1, Padding: 0, Bias: true, Dilate: 1, Groups: 1, Mode: "zeros"}
	if err := mergeLayer(path, args, &k, 2, "out_channels", "kernel_size", "stride", "padding", "bias"); err != nil {
		return Layer{}, err
	}
	l := Layer{NoBias: !k.Bias, Conv: &Conv{}}
	var err error
	if l.Out, err = sizeText(path+".out_channels", k.Out); err != nil {
		return l, err
	}
	if k.In != nil {
		if l.In, err = sizeText(path+".in_channels", k.In); err != nil {
			return l, err
		}
	}
	// Either text stands for 0 below.
	switch text, _ := k.Padding.(string); strings.ToLower(text) {
	case "same":
		l.Conv.Same, k.Padding = true, 0
	case "valid":
		k.Padding = 0
	}
	for _, x := range []struct {
		name  string
		from  any
		to    *[2]int
		least int
	}{{"kernel_size", k.Kernel, &l.Conv.Kernel, 1}, {"stride", k.Stride, &l.Conv.Stride, 1},
		{"padding", k.Padding, &l.Conv.Padding, 0}, {"dilation", k.Dilate, &l.Conv.Dilation, 1}} {
		if *x.to, err = pair(path+"."+x.name, x.from, x.least); err != nil {
			return l, err
		}
	}
	l.Conv.Groups = k.Groups
	return l, l.Conv.validate(path)
}

// pair reads one number for both rows and columns, or a list of two. Each must lie between least and maxSide.
func pair(path string, value any, least int) (p [2]int, err error) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value, value}
	}
	ok = len(list) == 2
	for i := 0; ok && i < 2; i++ {
		p[i], ok = config.Whole(list[i])
		ok = ok && p[i] >= least && p[i] <= maxSide
	}
	if !ok {
		return p, fmt.Errorf("models: %s: want a whole number from %d to %d, or two for rows and columns, got %v", path,
			least, maxSide, value)
	}
	return p, nil
}

// validate checks what does not depend on the picture. [Conv]s that a program makes have not passed parseConv.
func (c *Conv) validate(path string) error {
	for i := range 2 {
		if c.Kernel[i] < 1 || c.Stride[i] < 0 || c.Dilation[i] < 0 || c.Padding[i] < 0 || c.Groups < 0 {
			return fmt.Errorf("models: %s: %+v: kernels have at least one row and column, and nothing is negative",
				path, *c)
		}
		if c.Same && (c.Stride[i] > 1 || c.Padding[i] > 0) {
			return fmt.Errorf("models: %s: padding \"same\" with strides %v and a padding %v; it needs strides of 1, "+
				"and chooses the padding itself", path, c.Stride, c.Padding)
		}
	}
	return nil
}

// step describes the convolution of pictures of the shape (channels, height, width), with out kernels. It has no names
// yet.
func (c *Conv) step(shape []int, out int) description.Step {
	s := description.Step{Op: description.Conv2d, Outputs: out, Shape: shape, Kernel: []int{c.Kernel[0], c.Kernel[1]},
		Groups: max(c.Groups, 1), Padding: make([]int, 4)}
	for i := range 2 {
		dilation := max(c.Dilation[i], 1)
		s.Stride, s.Dilation = append(s.Stride, max(c.Stride[i], 1)), append(s.Dilation, dilation)
		s.Padding[i], s.Padding[2+i] = c.Padding[i], c.Padding[i]
		// An odd number of zeros has the surplus zero at the bottom and at the right, as in PyTorch.
		if c.Same {
			total := dilation * (c.Kernel[i] - 1)
			s.Padding[i], s.Padding[2+i] = total/2, total-total/2
		}
	}
	return s
}

// conv adds a convolution to the run. out is the number of kernels and in the expected number of channels, 0 if none is
// given. name begins its parameters' names. input is the run's input expression, which errors quote in their advice.
func (a *assembler) conv(path, name, input string, l Layer, out, in int) error {
	switch n := len(a.now.shape); {
	case n != 3:
		return fmt.Errorf("models: %s: a convolution reads pictures of shape (channels, height, width); its input has "+
			"the shape %s", path, shapeText(a.now.dims()))
	// Cameras give (height, width, channels). A convolution would compute nonsense from it without failing, so a shape
	// that looks like it is refused. Any permute() tells that the order is meant.
	case !a.now.laid && a.now.shape[2] <= 4 && a.now.shape[0] > a.now.shape[2]:
		return fmt.Errorf("models: %s: the picture has the shape %s, which looks like (height, width, channels), and "+
			"a convolution reads (channels, height, width); write the input as permute(%s, (0, 3, 1, 2)), or "+
			"permute(%s, (0, 1, 2, 3)) if its channels do come first", path, shapeText(a.now.shape), input, input)
	case in > 0 && in != a.now.shape[0]:
		return fmt.Errorf("models: %s.in_channels: it is %d, but the layer's input has the shape %s; leave it out",
			path, in, shapeText(a.now.shape))
	}
	s := l.Conv.step(a.now.shape, out)
	s.Weight = name + ".weight"
	if !a.open {
		s.Inputs = []int{a.now.at}
	}
	if !l.NoBias {
		s.Bias = name + ".bias"
	}
	// Widths of a network of this step alone checks the geometry before the step is added.
	probe := description.Network{Inputs: int(a.now.width), Steps: []description.Step{s}}
	probe.Steps[0].Inputs = nil
	if _, err := probe.Widths(); err != nil {
		return fmt.Errorf("models: %s: %w", path, err)
	}
	shape := s.Picture()
	a.now.at = a.Add(s)
	a.now.shape, a.now.laid, a.open = shape[:], true, true
	a.now.width = int64(shape[0]) * int64(shape[1]) * int64(shape[2])
	a.next++
	return nil
}

// flat returns an error if the next layer, which reads rows, would read a picture.
func (a *assembler) flat(path string) error {
	if !a.now.picture() {
		return nil
	}
	return fmt.Errorf("models: %s: its input is a picture of shape %s; put a layer flatten before it", path,
		shapeText(a.now.shape))
}
