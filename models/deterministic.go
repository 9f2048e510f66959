package models

import (
	"fmt"

	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// Deterministic takes the network's outputs as actions (skrl: DeterministicMixin). It has no probabilities. PPO and AMP
// compare the probabilities of old and new policies, so they cannot train it. It can act.
type Deterministic struct {
	// width is A, the width of an action row.
	width int
	// clip limits actions to the space.
	clip bool
	limits
}

// NewDeterministic returns the distribution for a Box action space. With clip, actions are limited to the space, which
// must be bounded.
func NewDeterministic(action spaces.Space, clip bool) (*Deterministic, error) {
	if action.Kind != spaces.Box {
		return nil, fmt.Errorf("models: a Deterministic policy needs a Box action space, got %v", action)
	}
	d := &Deterministic{width: action.Width(), clip: clip}
	if !clip {
		return d, nil
	}
	if err := clippable(action); err != nil {
		return nil, err
	}
	s := tensor.NoGrad()
	d.limits = newLimits(s, action)
	return d, s.Err()
}

// Outputs implements [Distribution].
func (d *Deterministic) Outputs() int { return d.width }

// ActionWidth implements [Distribution].
func (d *Deterministic) ActionWidth() int { return d.width }

// Parameters implements [Distribution]. A Deterministic has none.
func (d *Deterministic) Parameters() []tensor.Parameter { return nil }

// Mode implements [Distribution]: the outputs, clipped if clip is set.
func (d *Deterministic) Mode(s *tensor.Scope, out tensor.Tensor) tensor.Tensor {
	if !d.clip || s.Err() != nil {
		return out
	}
	return d.apply(s, out)
}

// Sample implements [Distribution]. It returns the actions of Mode with a log-probability of zero.
func (d *Deterministic) Sample(s *tensor.Scope, out tensor.Tensor, _ *tensor.Generator) Action {
	a := d.Mode(s, out)
	if s.Err() != nil {
		return Action{}
	}
	return Action{Actions: a, Executed: a, LogProb: s.Zeros(tensor.Size(a, 0), 1)}
}

// Evaluate implements [Distribution]. It always fails the scope, because there are no probabilities.
func (d *Deterministic) Evaluate(s *tensor.Scope, _, _ tensor.Tensor) Evaluation {
	s.Fail(fmt.Errorf("models: a Deterministic policy has no probabilities to learn from; use a Gaussian or " +
		"MultivariateGaussian one"))
	return Evaluation{}
}

// Close implements [Distribution].
func (d *Deterministic) Close() { d.release() }

// limits are the bounds of an action space as tensors. The tensors follow the device of the actions: a policy is built
// on the CPU and may be moved to a GPU afterwards.
type limits struct {
	// low and high are (A).
	low, high tensor.Tensor
	// scope owns low and high. It is nil if there are no limits.
	scope *tensor.Scope
}

// clippable returns an error unless the action space has finite limits in every dimension.
func clippable(action spaces.Space) error {
	if !action.Bounded() {
		return fmt.Errorf("models: clip_actions needs limits in every dimension; the action space %v has none "+
			"somewhere", action)
	}
	return nil
}

// newLimits returns the limits of a bounded space. s must live as long as the limits; release closes it.
func newLimits(s *tensor.Scope, action spaces.Space) limits {
	return limits{tensor.From(s, action.Low), tensor.From(s, action.High), s}
}

// apply clips x (n, A) to the limits. It first moves the limits to x's device if they are on another one.
func (l *limits) apply(s *tensor.Scope, x tensor.Tensor) tensor.Tensor {
	if s.Err() != nil {
		return tensor.Tensor{}
	}
	if d := tensor.DeviceOf(x); d != tensor.DeviceOf(l.low) {
		l.low, l.high = l.scope.To(l.low, tensor.Float32, d), l.scope.To(l.high, tensor.Float32, d)
	}
	return s.Min(s.Max(x, l.low), l.high)
}

// release frees the limits. It may be called twice, and for a zero value.
func (l *limits) release() {
	if l.scope != nil {
		l.scope.Close()
	}
}

// clipped is a network whose outputs are limited to an action space: a Deterministic [Spec] with clip_actions that is
// built as a network. It forwards the optional interfaces [Recurrent] and [Linears] of the network within.
type clipped struct {
	Network
	limits limits
}

// newClipped takes over net: it closes net if it fails.
func newClipped(net Network, action spaces.Space) (Network, error) {
	s := tensor.NoGrad()
	c := &clipped{net, newLimits(s, action)}
	if err := s.Err(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Forward implements [Network].
func (c *clipped) Forward(s *tensor.Scope, in Inputs) tensor.Tensor {
	return c.limits.apply(s, c.Network.Forward(s, in))
}

// HiddenSize implements [Recurrent].
func (c *clipped) HiddenSize() int { return HiddenSize(c.Network) }

// ForwardHidden implements [Recurrent].
func (c *clipped) ForwardHidden(s *tensor.Scope, in Inputs) (out, hidden tensor.Tensor) {
	out, hidden = ForwardHidden(s, c.Network, in)
	return c.limits.apply(s, out), hidden
}

// LinearWeights implements [Linears].
func (c *clipped) LinearWeights() []tensor.Tensor {
	if l, ok := c.Network.(Linears); ok {
		return l.LinearWeights()
	}
	return nil
}

// Close implements [Network].
func (c *clipped) Close() {
	c.Network.Close()
	c.limits.release()
}
