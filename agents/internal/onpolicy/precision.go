package onpolicy

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/tensor"
)

// precisionOf returns the type in which layers compute as the settings have it, and an error if the device cannot.
func precisionOf(cfg *agents.OnPolicy, d tensor.Device) (tensor.Precision, error) {
	if !cfg.MixedPrecision {
		return tensor.Full, nil
	}
	p := tensor.BFloat16
	if cfg.MixedPrecisionDtype == "float16" {
		p = tensor.Float16
	}
	if err := p.Supported(d); err != nil {
		return p, fmt.Errorf("\"mixed_precision\" is true, but layers cannot compute in %v on %v: %w", p, d, err)
	}
	return p, nil
}

// gradientScaler multiplies losses before the backward pass, so that the small gradients of half-precision layers do
// not become 0, and divides the gradients by the same number afterwards (Micikevicius et al. 2018, section 3.2). The
// scale doubles after growthInterval good steps in a row, and halves if a gradient has become infinite or NaN. Its
// numbers are those of PyTorch's GradScaler.
type gradientScaler struct {
	scale float64
	good  int // steps in a row with finite gradients
}

const growthInterval = 2000

func newGradientScaler() *gradientScaler { return &gradientScaler{scale: 1 << 16} }

// backward differentiates loss, a scalar, into gradients.
func (g *gradientScaler) backward(s *tensor.Scope, loss, gradients tensor.Tensor) {
	s.Backward(s.MulScalar(loss, g.scale))
	s.Scale(gradients, 1/g.scale)
}

// finite reports whether gradients are finite, and sets the scale of the next loss by that. If they are not,
// Learner.Step makes no step. finite waits for the device.
func (g *gradientScaler) finite(s *tensor.Scope, gradients tensor.Tensor) bool {
	sum := s.Sum(gradients)
	if s.Err() != nil {
		return false
	}
	x, err := tensor.Item(sum)
	if s.Fail(err); err != nil {
		return false
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		g.scale, g.good = g.scale/2, 0
		return false
	}
	if g.good++; g.good == growthInterval {
		g.scale, g.good = g.scale*2, 0
	}
	return true
}
