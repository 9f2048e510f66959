package onpolicy

import (
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// TestGradientScaler makes steps down gradients that are finite, infinite and finite again: the finite ones are those
// of the loss without its scale. The scale halves after an infinite gradient, which makes no step, and doubles after
// many good steps.
func TestGradientScaler(t *testing.T) {
	s := tensortest.WithGrad(t, tensor.CPU)
	w := s.RequireGrad(tensor.From(s, []float32{2, -1}))
	flat := tensortest.Opened[*tensor.Flat](t)(tensor.NewFlat([]tensor.Parameter{{Name: "w", Tensor: w}}, tensor.CPU))
	o := tensortest.Opened[*tensor.Optimizer](t)(tensor.NewOptimizer(flat, tensor.OptimizerConfig{Kind: "sgd"},
		[]tensor.Group{{Begin: 0, End: 2, LearningRate: 0.5}}, nil))
	g := newGradientScaler()
	c := &Learner{Core: &Core{Flat: flat}, Rates: &Rates{Optimizer: o}, gradients: g}
	for i, x := range []struct {
		factor  float64
		good    int // before
		stepped bool
		w       []float32 // after
		scale   float64
		after   int
	}{
		{0.5, 0, true, []float32{1, -0.5}, 1 << 16, 1},
		{1e36, 1, false, []float32{1, -0.5}, 1 << 15, 0},
		{0.5, growthInterval - 1, true, []float32{0.5, -0.25}, 1 << 16, 0},
	} {
		g.good = x.good
		c.Differentiate(s, s.MulScalar(s.Sum(s.Square(w)), x.factor))
		stepped := c.Step(s)
		check.Same(t, tensortest.Float32s(t, s, flat.Values), x.w, "parameters after step %d", i)
		check.Not(t, stepped != x.stepped || g.scale != x.scale || g.good != x.after,
			"step %d: %v, scale %g, %d good steps; want %+v", i, stepped, g.scale, g.good, x)
	}
	check.Is(t, o.Steps, 2, "steps that are counted")
}
