package description

import (
	"fmt"
	"slices"
)

// maxSide limits the sides of pictures and kernels, strides, paddings and channels. No picture has as many pixels a
// side.
const maxSide = 1 << 15

// Picture returns the shape of a Conv2d's result: channels, height and width. The step must be valid.
func (s Step) Picture() [3]int {
	// PyTorch's formula for the number of places that the kernel takes along dimension i (0 is the height).
	size := func(i int) int {
		return (s.Shape[1+i]+s.Padding[i]+s.Padding[2+i]-s.Dilation[i]*(s.Kernel[i]-1)-1)/s.Stride[i] + 1
	}
	return [3]int{s.Outputs, size(0), size(1)}
}

// KernelShape returns the shape of a Conv2d's weight: outputs, channels of a group, rows and columns.
func (s Step) KernelShape() [4]int {
	return [4]int{s.Outputs, s.Shape[0] / s.Groups, s.Kernel[0], s.Kernel[1]}
}

// convWidth checks a Conv2d's geometry and returns the width of its result. in is the width of the row.
func (s Step) convWidth(in int) (int, error) {
	within := func(list []int, n, least int) bool {
		return len(list) == n && !slices.ContainsFunc(list, func(x int) bool { return x < least || x > maxSide })
	}
	if s.Weight == "" || s.Outputs < 1 || s.Outputs > maxSide || s.Groups < 1 ||
		!within(s.Shape, 3, 1) || !within(s.Kernel, 2, 1) || !within(s.Stride, 2, 1) || !within(s.Padding, 4, 0) ||
		!within(s.Dilation, 2, 1) {
		return 0, fmt.Errorf("want the name of a weight, outputs, a shape [channels, height, width], a kernel, a "+
			"stride, a padding of 4, a dilation and groups, got %+v", s)
	}
	if int64(s.Shape[0])*int64(s.Shape[1])*int64(s.Shape[2]) != int64(in) {
		return 0, fmt.Errorf("pictures of shape %v, but the rows have %d values", s.Shape, in)
	}
	if s.Shape[0]%s.Groups != 0 || s.Outputs%s.Groups != 0 {
		return 0, fmt.Errorf("%d groups, which must divide the %d channels and the %d outputs", s.Groups, s.Shape[0],
			s.Outputs)
	}
	for i := range 2 {
		// reach is the number of pixels that a dilated kernel spans, from its first element to its last.
		if have, reach := s.Shape[1+i]+s.Padding[i]+s.Padding[2+i], s.Dilation[i]*(s.Kernel[i]-1)+1; have < reach {
			return 0, fmt.Errorf("a kernel that reaches over %d pixels of %d; the picture %v is too small for it",
				reach, have, s.Shape)
		}
	}
	weights, out := int64(1), int64(1)
	for _, n := range s.KernelShape() {
		if weights *= int64(n); weights > 1<<31-1 {
			return 0, fmt.Errorf("a kernel %v of more than 2³¹ weights", s.KernelShape())
		}
	}
	for _, n := range s.Picture() {
		if out *= int64(n); out > maxWidth {
			return 0, fmt.Errorf("a result of shape %v, which has more than %d values", s.Picture(), maxWidth)
		}
	}
	return int(out), nil
}

// checkPermute checks that Dims names each dimension of Shape once, and that Shape has in values.
func (s Step) checkPermute(in int) error {
	seen, width := make([]bool, len(s.Shape)), int64(1)
	bad := len(s.Shape) == 0 || len(s.Dims) != len(s.Shape)
	for i := 0; !bad && i < len(s.Dims); i++ {
		d := s.Dims[i]
		if bad = d < 0 || d >= len(seen) || seen[d] || s.Shape[i] < 1; !bad {
			seen[d] = true
			width *= int64(s.Shape[i])
			bad = width > maxWidth
		}
	}
	if bad || width != int64(in) {
		return fmt.Errorf("the order %v of shape %v, which must be one of all its dimensions and have the rows' %d "+
			"values", s.Dims, s.Shape, in)
	}
	return nil
}
