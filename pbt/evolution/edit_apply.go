package evolution

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/models/description"
)

// apply returns the edited architecture and the edit that was done, which differs from e if a limit turns one edit into
// another. If nothing changes, changed is false and next equals a. The edit must fit the architecture.
func (e edit) apply(a description.Architecture, l Limits) (next description.Architecture, done edit, changed bool) {
	next, done, l = a.Clone(), e, l.filled()
	picture := pictureOf(&next, e.Module)
	switch nodes := e.Kind == addNode || e.Kind == removeNode; {
	case e.Kind == addLatentNode || e.Kind == removeLatentNode:
		changed = a.Latent > 0 && e.resize(&next.Latent, l.MinLatent+1, l.MaxLatent-1)
	case e.Kind == changeActivation:
		changed = e.activate(&next)
	case e.Module == description.MemoryModule:
		changed = e.resize(&next.Recurrent.HiddenSize, l.MinHidden, l.MaxHidden)
	case picture != nil && !nodes:
		if done, changed = e.applyToPicture(picture, l, a.Activation); changed && next.Validate() != nil {
			return a, e, false // pictures between the layers have become too large
		}
	default:
		done, changed = e.applyToStack(stackOf(&next, e.Module), l, a.Activation)
	}
	return next, done, changed
}

// fits reports whether the architecture has what the edit changes: its module, convolutions in it for edits of channels
// and kernels, or a latent. Recurrent layers only have edits of nodes.
func (e edit) fits(a description.Architecture) bool {
	switch e.Kind {
	case changeActivation:
		return true
	case addLatentNode, removeLatentNode:
		return a.Latent > 0
	case addChannel, removeChannel, changeKernel:
		return pictureOf(&a, e.Module) != nil
	case addNode, removeNode:
		return stackOf(&a, e.Module) != nil || e.Module == description.MemoryModule && !a.Recurrent.None()
	case addLayer, removeLayer:
		return stackOf(&a, e.Module) != nil
	}
	return false
}

// partOf returns the part of the encoder, nil if the module is no encoder of a.
func partOf(a *description.Architecture, module string) *description.Part {
	name, ok := strings.CutPrefix(module, "encoder.")
	i := slices.IndexFunc(a.Parts, func(p description.Part) bool { return ok && p.Name == name })
	if i < 0 {
		return nil
	}
	return &a.Parts[i]
}

// pictureOf returns the part of the encoder, nil unless the part is a picture.
func pictureOf(a *description.Architecture, module string) *description.Part {
	if p := partOf(a, module); p != nil && len(p.Picture) > 0 {
		return p
	}
	return nil
}

// stackOf returns the hidden layers of the module, nil if a does not have the module.
func stackOf(a *description.Architecture, module string) *description.Stack {
	if module == "head" {
		return &a.Head
	}
	if p := partOf(a, module); p != nil && a.Latent > 0 {
		return &p.Encoder
	}
	return nil
}

// resize adds e.Nodes to a width, or subtracts them for an edit that removes. It changes nothing and returns false
// outside least and most.
func (e edit) resize(width *int, least, most int) bool {
	grows := e.Kind == addNode || e.Kind == addLatentNode || e.Kind == addChannel
	switch {
	case e.Nodes < 1:
		return false
	case grows && e.Nodes <= most-*width:
		*width += e.Nodes
	case !grows && *width-e.Nodes >= least:
		*width -= e.Nodes
	default:
		return false
	}
	return true
}

// activate gives all hidden layers, convolutions and encodings the activation of the edit.
func (e edit) activate(a *description.Architecture) (changed bool) {
	to, _ := description.ParseActivation(e.Activation)
	if now, err := description.ParseActivation(a.Activation); err == nil && now == to {
		return false
	}
	a.Activation, a.Head.Activations = e.Activation, nil
	for i := range a.Parts {
		p := &a.Parts[i]
		p.Encoder.Activations = nil
		for j := range p.Convolutions {
			p.Convolutions[j].Activation = ""
		}
	}
	return true
}

// applyToStack edits hidden layers. usual is the architecture's activation.
func (e edit) applyToStack(s *description.Stack, l Limits, usual string) (done edit, changed bool) {
	n := len(s.Hidden)
	nameAll := func() { // the activation of each layer
		if len(s.Activations) == 0 {
			s.Activations = slices.Repeat([]string{usual}, n)
		}
	}
	switch e.Kind {
	case addLayer:
		if n < l.MaxLayers && n > 0 {
			nameAll()
			activation, _ := identityAfter(s.Activations[n-1])
			s.Hidden, s.Activations = append(s.Hidden, s.Hidden[n-1]), append(s.Activations, activation)
			return e, true
		}
		e.Kind = addNode
	case removeLayer:
		if n > max(l.MinLayers, 1) {
			nameAll()
			s.Hidden, s.Activations = s.Hidden[:n-1], s.Activations[:n-1]
			return e, true
		}
		e.Kind = addNode
	}
	if n == 0 || e.Nodes < 1 || e.Layer < 0 {
		return e, false
	}
	e.Layer = min(e.Layer, n-1)
	return e, e.resize(&s.Hidden[e.Layer], l.MinNodes+1, l.MaxNodes)
}

// applyToPicture edits the convolutions of a picture's encoder.
func (e edit) applyToPicture(p *description.Part, l Limits, usual string) (done edit, changed bool) {
	n := len(p.Convolutions)
	if e.Kind == changeKernel && n == 1 {
		e.Kind = addLayer
	}
	switch e.Kind {
	case addLayer:
		if last := p.Pictures()[n]; n < l.MaxConvolutions && min(last[1], last[2]) > 2 {
			activation, _ := identityAfter(cmp.Or(p.Convolutions[n-1].Activation, usual))
			p.Convolutions = append(p.Convolutions, description.Convolution{Channels: last[0], Kernel: 3, Stride: 1,
				Padding: 1, Activation: activation})
			return e, true
		}
		e.Kind = addChannel
	case removeLayer:
		if n > l.MinConvolutions {
			p.Convolutions = p.Convolutions[:n-1]
			return e, true
		}
		e.Kind = addChannel
	}
	if e.Layer < 0 {
		return e, false
	}
	e.Layer = min(e.Layer, n-1)
	c := &p.Convolutions[e.Layer]
	if e.Kind != changeKernel {
		return e, e.resize(&c.Channels, l.MinChannels, l.MaxChannels)
	}
	before := p.Pictures()[e.Layer]
	if e.Kernel < 1 || e.Kernel == c.Kernel || e.Kernel > min(before[1], before[2]) {
		return e, false
	}
	c.Kernel, c.Extra = e.Kernel, max(0, c.Extra+e.Kernel-c.Kernel)
	return e, true
}

// identityAfter returns how a layer after one with the activation before starts as the identity: with identity weights,
// every bias equal to shift, and the activation returned, its outputs are its inputs plus shift. The outputs of before
// are at least −shift, and elu and relu are the identity above zero. Only leaky_relu has no least value: it is below −1
// if its own input is below −100, and the layer damps what it passes on there.
func identityAfter(before string) (activation string, shift float64) {
	switch f, _ := description.ParseActivation(before); f {
	case "identity", "relu":
		return before, 0
	case "leaky_relu":
		return before, 1
	default:
		return "elu", shifts[f]
	}
}

// shifts are those of other activations, whose least values are 0, −0.17, −0.28, −1, and −1.76 of selu.
var shifts = map[string]float64{"sigmoid": 0, "softplus": 0, "gelu": 0.25, "silu": 0.5, "elu": 1, "tanh": 1,
	"softsign": 1, "selu": 2}

// randomEdit draws an edit as AgileRL does, for the policies of one or several agents: with probability newLayer one of
// the head's layer edits, otherwise one of all node edits, each uniformly. It returns the index of the policy that the
// edit is for. One with more edits of nodes is drawn more often. Widths change by 16, 32 or 64, the latent and channels
// by 8, 16 or 32. Edits of channels and kernels, and of the nodes of recurrent layers, count as node edits. Kernels
// change in the second to fourth convolution, to 1 up to a quarter of the shorter side of its result, at most 9.
func randomEdit(policies []description.Architecture, rng *rand.Rand, newLayer float64) (which int, e edit) {
	if rng.Float64() < newLayer {
		n := rng.IntN(2 * len(policies))
		which, e = n/2, edit{Kind: []editKind{addLayer, removeLayer}[n%2], Module: "head"}
	} else {
		var choices []edit
		var of []int
		for i, a := range policies {
			own := nodeEdits(a)
			choices, of = append(choices, own...), append(of, slices.Repeat([]int{i}, len(own))...)
		}
		n := rng.IntN(len(choices))
		which, e = of[n], choices[n]
	}
	a := policies[which]
	size := rng.IntN(3) // always two draws, so that what an edit becomes never shifts later draws
	place := rng.Float64()
	e.Nodes = []int{16, 32, 64}[size]
	p := pictureOf(&a, e.Module)
	switch {
	case e.Kind == changeKernel && len(p.Convolutions) > 1:
		e.Layer = 1 + int(place*float64(min(4, len(p.Convolutions))-1))
		sizes := kernelSizes(p, e.Layer)
		e.Kernel, e.Nodes = sizes[rng.IntN(len(sizes))], 0
	case e.Kind == addChannel || e.Kind == removeChannel || e.Kind == changeKernel:
		e.Layer = int(place * float64(len(p.Convolutions)))
		e.Nodes = []int{8, 16, 32}[size]
	case e.Module == description.MemoryModule:
	case e.Module == "":
		e.Nodes = []int{8, 16, 32}[size]
	default:
		e.Layer = int(place * float64(len(stackOf(&a, e.Module).Hidden)))
	}
	return which, e
}

// nodeEdits lists the edits that randomEdit draws from, apart from those of layers. Another order would change what a
// seed draws.
func nodeEdits(a description.Architecture) (choices []edit) {
	both := func(grow, shrink editKind, module string) {
		choices = append(choices, edit{Kind: grow, Module: module}, edit{Kind: shrink, Module: module})
	}
	if a.Latent > 0 {
		both(addLatentNode, removeLatentNode, "")
		for _, p := range a.Parts {
			module := "encoder." + p.Name
			if len(p.Picture) > 0 {
				both(addChannel, removeChannel, module)
				choices = append(choices, edit{Kind: changeKernel, Module: module})
			}
			if len(p.Encoder.Hidden) > 0 {
				both(addNode, removeNode, module)
			}
		}
	}
	if !a.Recurrent.None() {
		both(addNode, removeNode, description.MemoryModule)
	}
	both(addNode, removeNode, "head")
	return choices
}

// kernelSizes lists what randomEdit may give the kernels of a convolution, as AgileRL has it: 1 up to a quarter of the
// shorter side of the layer's result, at most 9, without the present size. It is 1 if that leaves none.
func kernelSizes(p *description.Part, layer int) []int {
	after := p.Pictures()[layer+1]
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
