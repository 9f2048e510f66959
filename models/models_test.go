package models

import (
	"math"
	"os"
	"slices"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// Clipping limits what is executed, the mean and the deviation; the log-probability stays that of what was drawn.
func TestGaussianClipping(t *testing.T) {
	cfg := DefaultGaussianConfig()
	cfg.ClipActions, cfg.InitialLogStd, cfg.MaxLogStd = true, 5, 1
	g := tensortest.Opened[*Gaussian](t)(NewGaussian(spaces.NewBox(-1, 1, 1), cfg))
	gen := tensortest.Opened[*tensor.Generator](t)(tensor.NewGenerator(3, tensor.CPU))
	s := tensortest.NoGrad(t, tensor.CPU)
	out := s.Zeros(500, 1)
	a := g.Sample(s, out, gen)
	wantNear(t, "standard deviation", tensortest.Float64s(t, s, a.StdDev), []float64{math.E}, 1e-6)
	beyond := 0
	drawn, executed := tensortest.Float64s(t, s, a.Actions), tensortest.Float64s(t, s, a.Executed)
	for i := range drawn {
		if math.Abs(drawn[i]) > 1 {
			beyond++
		}
		check.Is(t, executed[i], max(-1, min(1, drawn[i])), "what is executed of %g", drawn[i])
	}
	// 71 % of draws with a standard deviation of e are beyond the limits.
	check.Not(t, beyond < 250, "only %d of 500 draws lay beyond the limits", beyond)
	alike(t, s, "log-probability", a.LogProb, g.Evaluate(s, out, a.Actions).LogProb, 1e-6)
	// skrl 2.0's log-probability is that of the clipped action.
	g.cfg.ClipBeforeLogProb = true
	a = g.Sample(s, out, gen)
	alike(t, s, "log-probability of clipped actions", a.LogProb, g.Evaluate(s, out, a.Executed).LogProb, 1e-6)
}

func TestCategoricalFormulas(t *testing.T) {
	first, second := []float64{0.65, 0.35}, []float64{0.6, 0.3, 0.1}
	var logits []float32
	for _, p := range slices.Concat(first, second) {
		logits = append(logits, float32(math.Log(p)+0.7)) // logits are not normalised
	}
	for reduction, join := range map[string]func(a, b float64) float64{
		"":     func(a, b float64) float64 { return a + b },
		"mean": func(a, b float64) float64 { return (a + b) / 2 },
		"prod": func(a, b float64) float64 { return a * b },
	} {
		c := check.Get(NewMultiCategorical(spaces.NewMultiDiscrete(2, 3), reduction))(t)
		s := tensor.NoGrad()
		out := tensor.From(s, logits, 1, 5)
		e := c.Evaluate(s, out, tensor.From(s, []float32{1, 2}, 1, 2))
		wantNear(t, reduction+" log-probability", tensortest.Float64s(t, s, e.LogProb),
			[]float64{join(math.Log(first[1]), math.Log(second[2]))}, 1e-5)
		wantNear(t, reduction+" entropy", tensortest.Float64s(t, s, e.Entropy), []float64{join(entropyOf(first),
			entropyOf(second))}, 1e-5)
		wantNear(t, "mode", tensortest.Float64s(t, s, c.Mode(s, out)), []float64{0, 0}, 0)
		a := c.Sample(s, s.Expand(out, 50, 5), tensortest.Opened[*tensor.Generator](t)(tensor.NewGenerator(5,
			tensor.CPU)))
		alike(t, s, "log-probability of samples", a.LogProb,
			c.Evaluate(s, s.Expand(out, 50, 5), a.Actions).LogProb, 1e-6)
		s.Close()
	}
}

func entropyOf(p []float64) float64 {
	h := 0.0
	for _, x := range p {
		h -= x * math.Log(x)
	}
	return h
}

// One pass over a shared trunk gives the gradient that two passes give.
func TestSharedGradient(t *testing.T) {
	mlp := func(in, out int, seed int64) *Net {
		return check.Get(NewMLP(MLPConfig{Inputs: in, Outputs: out, Hidden: []int{6}, Activation: "tanh"}, seed))(t)
	}
	dist := check.Get(NewGaussian(spaces.Unbounded(2), DefaultGaussianConfig()))(t)
	trunk := mlp(3, 5, 1)
	shared := check.Get(NewShared(trunk, mlp(5, 2, 2), mlp(5, 1, 3), dist))(t)
	p, v := shared.Policy(), shared.Value()
	defer v.Close()
	defer p.Close()
	gradient := func(both bool) []float64 {
		s := tensortest.WithGrad(t, tensor.CPU)
		in := Inputs{Observations: tensor.From(s, []float32{1, 2, -1, 0.5, 0, 3}, 2, 3)}
		actions := tensor.From(s, []float32{1, 0, -1, 2}, 2, 2)
		e, values := p.Evaluate(s, in, actions), v.Forward(s, in)
		if both {
			e, values = EvaluateBoth(s, p, v, in, in, actions)
		}
		loss := s.Add(s.Sum(e.LogProb), s.Sum(s.Square(values)))
		return tensortest.Float64s(t, s, s.Grad(loss, false, trunk.LinearWeights()[0])[0])
	}
	want := gradient(false)
	wantNear(t, "gradient", gradient(true), want, 1e-5)
	check.Not(t, slices.Max(want) == 0, "the gradient vanishes")
}

// must ends the test if its error is not nil.
var must = check.Do

// TestMain fails if a test leaves tensors alive.
func TestMain(m *testing.M) { os.Exit(tensortest.Run(m)) }
