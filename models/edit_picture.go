package models

import "fmt"

// apply edits the convolutions of a picture's encoder.
func (p *Part) apply(e Edit, l Limits, usual string) (done Edit, changed bool, err error) {
	n := len(p.Convolutions)
	if e.Kind == ChangeKernel && n == 1 {
		e.Kind = AddLayer
	}
	switch e.Kind {
	case AddLayer:
		if last := p.pictures()[n]; n < l.MaxConvolutions && min(last[1], last[2]) > 2 {
			activation, _ := IdentityAfter(p.Convolutions[n-1].activation(usual))
			p.Convolutions = append(p.Convolutions, Convolution{Channels: last[0], Kernel: 3, Stride: 1, Padding: 1,
				Activation: activation})
			return e, true, nil
		}
		e.Kind = AddChannel
	case RemoveLayer:
		if n > l.MinConvolutions {
			p.Convolutions = p.Convolutions[:n-1]
			return e, true, nil
		}
		e.Kind = AddChannel
	case AddChannel, RemoveChannel, ChangeKernel:
	default:
		return e, false, fmt.Errorf("models: %q is no kind of edit", e.Kind)
	}
	if e.Layer < 0 {
		return e, false, nil
	}
	e.Layer = min(e.Layer, n-1)
	c := &p.Convolutions[e.Layer]
	if e.Kind == ChangeKernel {
		before := p.pictures()[e.Layer]
		if e.Kernel < 1 || e.Kernel == c.Kernel || e.Kernel > min(before[1], before[2]) {
			return e, false, nil
		}
		c.Kernel, c.Extra = e.Kernel, max(0, c.Extra+e.Kernel-c.Kernel)
		return e, true, nil
	}
	switch {
	case e.Nodes < 1:
		return e, false, nil
	case e.Kind == AddChannel && e.Nodes <= l.MaxChannels-c.Channels:
		c.Channels += e.Nodes
	case e.Kind == RemoveChannel && c.Channels-e.Nodes >= l.MinChannels:
		c.Channels -= e.Nodes
	default:
		return e, false, nil
	}
	return e, true, nil
}

// kernels are the sizes that a random edit may give the kernels of a convolution, as AgileRL has it: 1 up to a quarter
// of the shorter side of the layer's result, at most 9, without the present one; 1 where that leaves none.
func (p *Part) kernels(layer int) []int {
	after := p.pictures()[layer+1]
	var sizes []int
	for k := 1; k <= min(max(min(after[1], after[2])/4, 1), 9); k++ {
		if k != p.Convolutions[layer].Kernel {
			sizes = append(sizes, k)
		}
	}
	if len(sizes) == 0 {
		return []int{1}
	}
	return sizes
}
