package onpolicy

import (
	"math"
	"slices"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/tensor"
)

// TestGradientScaler differentiates losses whose gradients are finite, infinite and finite again.
func TestGradientScaler(t *testing.T) {
	s := tensortest.WithGrad(t, tensor.CPU)
	w := s.RequireGrad(tensor.From(s, []float32{2, -1}))
	flat := tensortest.Opened[*tensor.Flat](t)(tensor.NewFlat([]tensor.Parameter{{Name: "w", Tensor: w}}, tensor.CPU))
	g := newGradientScaler()
	backward := func(factor float64) bool {
		flat.ZeroGrad(s)
		g.backward(s, s.MulScalar(s.Sum(s.Square(w)), factor), flat.Grads)
		return g.finite(s, flat.Grads)
	}
	if !backward(0.5) {
		t.Fatal("a finite gradient is called infinite")
	}
	got, err := tensor.Float32s(flat.Grads)
	if err != nil || got[0] != 2 || got[1] != -1 {
		t.Errorf("gradients %v (%v), want the unscaled ones, 2 and -1", got, err)
	}
	if backward(1e36) || g.scale != 1<<15 || g.good != 0 {
		t.Errorf("after an overflow: scale %g, %d good steps; want %d and 0", g.scale, g.good, 1<<15)
	}
	g.good = growthInterval - 1
	if !backward(0.5) || g.scale != 1<<16 || g.good != 0 {
		t.Errorf("after %d good steps: scale %g; want %d", growthInterval, g.scale, 1<<16)
	}
	if math.IsNaN(g.scale) || s.Err() != nil {
		t.Error(g.scale, s.Err())
	}
}

// TestStepLeavesOut makes a step with an infinite gradient: parameters and moments stay as they are.
func TestStepLeavesOut(t *testing.T) {
	s := tensortest.WithGrad(t, tensor.CPU)
	w := s.RequireGrad(tensor.From(s, []float32{2}))
	flat := tensortest.Opened[*tensor.Flat](t)(tensor.NewFlat([]tensor.Parameter{{Name: "w", Tensor: w}}, tensor.CPU))
	o := tensortest.Opened[*tensor.Optimizer](t)(tensor.NewOptimizer(flat, tensor.OptimizerConfig{Kind: "adam"},
		[]tensor.Group{{Begin: 0, End: 1, LearningRate: 0.1}}, nil))
	c := &Learner{Core: &Core{Flat: flat}, Rates: &Rates{Optimizer: o}, gradients: newGradientScaler()}
	value := func() float32 {
		x := check.Get(tensor.Float32s(flat.Values))(t)
		return x[0]
	}
	c.Differentiate(s, s.MulScalar(s.Sum(w), 1e38))
	if c.Step(s) || value() != 2 || o.Steps != 0 {
		t.Errorf("a step with an infinite gradient: the parameter is %g after %d steps; want 2 after none", value(),
			o.Steps)
	}
	c.Differentiate(s, s.Sum(w))
	if !c.Step(s) || !(value() < 2) || o.Steps != 1 {
		t.Errorf("a step with a finite gradient: the parameter is %g after %d steps; want less than 2 after 1",
			value(), o.Steps)
	}
}

// TestPortionsKeepPrecision computes a layer on rows that are kept as bytes, in portions: it computes in the agent's
// precision, as it does on all rows at once.
func TestPortionsKeepPrecision(t *testing.T) {
	if err := tensor.BFloat16.Supported(tensor.CPU); err != nil {
		t.Skip(err)
	}
	s := tensor.NoGrad().Layers(tensor.BFloat16)
	defer s.Close()
	// which bfloat16 rounds to 1
	x, w := s.Full(tensor.Float32, 1.001, 3*portion, 8), s.Full(tensor.Float32, 1.003, 1, 8)
	want := s.Linear(x, w, tensor.Tensor{})
	got := s.Zeros(3*portion, 1)
	c := &Core{Precision: tensor.BFloat16}
	c.Portions(s, true, 3*portion, func(s *tensor.Scope, rows memory.Span) {
		s.Copy(s.Narrow(got, 0, rows.Start, rows.Len), s.Linear(s.Narrow(x, 0, rows.Start, rows.Len), w,
			tensor.Tensor{}))
	})
	a, err := tensor.Float32s(got)
	if err != nil {
		t.Fatal(s.Err(), err)
	}
	b, err := tensor.Float32s(want)
	if err != nil || !slices.Equal(a, b) || b[0] != 8 {
		t.Errorf("in portions %v, at once %v (%v); want 8 in both", a[0], b[0], err)
	}
}

// must ends the test if its error is not nil.
var must = check.Do
