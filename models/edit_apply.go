package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/tensor"
)

// Apply returns the edited architecture and what was really done, which differs from e where a limit turns one edit
// into another. Where nothing changes, changed is false and the architecture is the same. Edits of a module that the
// architecture does not have are errors.
func (a Architecture) Apply(e Edit, l Limits) (next Architecture, done Edit, changed bool, err error) {
	next, l = a.Clone(), l.filled()
	switch e.Kind {
	case AddLatentNode, RemoveLatentNode:
		switch {
		case a.Latent == 0 || e.Nodes < 1:
		case e.Kind == AddLatentNode && e.Nodes < l.MaxLatent-a.Latent:
			next.Latent, changed = a.Latent+e.Nodes, true
		case e.Kind == RemoveLatentNode && a.Latent-e.Nodes > l.MinLatent:
			next.Latent, changed = a.Latent-e.Nodes, true
		}
		return next, e, changed, nil
	case SetActivation:
		if _, err := tensor.ParseActivation(e.Activation); err != nil {
			return a, e, false, fmt.Errorf("models: edit %v: %w", e, err)
		}
		if canonical(e.Activation) == canonical(a.Activation) {
			return next, e, false, nil
		}
		next.Activation = e.Activation
		next.Head.Activations = nil
		for i := range next.Parts {
			next.Parts[i].Encoder.Activations = nil
			for j := range next.Parts[i].Convolutions {
				next.Parts[i].Convolutions[j].Activation = ""
			}
		}
		return next, e, true, nil
	}
	if !a.Has(e) {
		return a, e, false, fmt.Errorf("models: edit %v: the architecture %v has no module %q for it", e, a, e.Module)
	}
	switch p := next.picture(e.Module); {
	case e.Module == memoryModule:
		changed = next.Recurrent.apply(e, l)
		return next, e, changed, nil
	case p != nil && e.Kind != AddNode && e.Kind != RemoveNode:
		if done, changed, err = p.apply(e, l, a.Activation); changed && next.Validate() != nil {
			return a, e, false, nil // pictures between the layers have become too large
		}
		return next, done, changed, err
	}
	done, changed, err = next.stack(e.Module).apply(e, l, a.Activation)
	return next, done, changed, err
}

// Has reports whether the architecture has what the edit is about: its module, convolutions in it for edits of
// channels and kernels, or a latent. Recurrent layers only have edits of nodes.
func (a Architecture) Has(e Edit) bool {
	switch e.Kind {
	case SetActivation:
		return true
	case AddLatentNode, RemoveLatentNode:
		return a.Latent > 0
	case AddChannel, RemoveChannel, ChangeKernel:
		return a.picture(e.Module) != nil
	}
	if e.Module == memoryModule {
		return !a.Recurrent.none() && (e.Kind == AddNode || e.Kind == RemoveNode)
	}
	return a.stack(e.Module) != nil
}

// picture is the part whose encoder the module is, within a, nil where that is no picture's.
func (a *Architecture) picture(module string) *Part {
	name, ok := strings.CutPrefix(module, "encoder.")
	for i := range a.Parts {
		if p := &a.Parts[i]; ok && p.Name == name && len(p.Picture) > 0 {
			return p
		}
	}
	return nil
}

// apply changes the width of all layers of the stack, and says whether limits allow it.
func (l *RecurrentLayer) apply(e Edit, limits Limits) bool {
	switch {
	case e.Nodes < 1:
		return false
	case e.Kind == AddNode && e.Nodes <= limits.MaxHidden-l.HiddenSize:
		l.HiddenSize += e.Nodes
	case e.Kind == RemoveNode && l.HiddenSize-e.Nodes >= limits.MinHidden:
		l.HiddenSize -= e.Nodes
	default:
		return false
	}
	return true
}

// stack is the module's, within a.
func (a *Architecture) stack(module string) *Stack {
	if module == "head" {
		return &a.Head
	}
	if name, ok := strings.CutPrefix(module, "encoder."); ok && a.Latent > 0 {
		for i := range a.Parts {
			if a.Parts[i].Name == name {
				return &a.Parts[i].Encoder
			}
		}
	}
	return nil
}

func (s *Stack) apply(e Edit, l Limits, usual string) (done Edit, changed bool, err error) {
	n := len(s.Hidden)
	switch e.Kind {
	case AddLayer:
		if n < l.MaxLayers && n > 0 {
			s.fill(usual)
			activation, _ := IdentityAfter(s.Activations[n-1])
			s.Hidden, s.Activations = append(s.Hidden, s.Hidden[n-1]), append(s.Activations, activation)
			return e, true, nil
		}
		e.Kind = AddNode
	case RemoveLayer:
		if n > max(l.MinLayers, 1) {
			s.fill(usual)
			s.Hidden, s.Activations = s.Hidden[:n-1], s.Activations[:n-1]
			return e, true, nil
		}
		e.Kind = AddNode
	case AddNode, RemoveNode:
	default:
		return e, false, fmt.Errorf("models: %q is no kind of edit", e.Kind)
	}
	if n == 0 || e.Nodes < 1 || e.Layer < 0 {
		return e, false, nil
	}
	e.Layer = min(e.Layer, n-1)
	switch width := &s.Hidden[e.Layer]; {
	case e.Kind == AddNode && e.Nodes <= l.MaxNodes-*width:
		*width += e.Nodes
	case e.Kind == RemoveNode && *width-e.Nodes > l.MinNodes:
		*width -= e.Nodes
	default:
		return e, false, nil
	}
	return e, true, nil
}

// fill names every layer's activation.
func (s *Stack) fill(usual string) {
	if len(s.Activations) == 0 {
		s.Activations = slices.Repeat([]string{usual}, len(s.Hidden))
	}
}

// IdentityAfter says how a layer put after one with the activation before begins as the identity: with identity
// weights, every bias equal to shift, and the activation returned, its outputs are its inputs plus shift. That is so
// because outputs of before are at least −shift, and elu and relu are the identity above zero. Only leaky_relu has no
// least value: it goes below −1 where its own input is below −100, and there the layer damps what it passes on.
func IdentityAfter(before string) (activation string, shift float64) {
	f, _ := tensor.ParseActivation(before)
	switch f {
	case tensor.Identity, tensor.Relu:
		return before, 0
	case tensor.LeakyRelu:
		return before, 1
	case tensor.Sigmoid, tensor.Softplus:
		return "elu", 0
	case tensor.Gelu: // at least −0.17
		return "elu", 0.25
	case tensor.Silu: // at least −0.28
		return "elu", 0.5
	case tensor.Selu: // at least −1.76
		return "elu", 2
	}
	return "elu", 1 // elu, tanh and softsign are at least −1
}
