package tensor_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// reference is an optimizer in plain arithmetic after the papers: one element a step.
type reference struct {
	tensor.OptimizerConfig
	m, v  []float64
	steps int
}

func newReference(c tensor.OptimizerConfig, n int64) *reference {
	return &reference{c, make([]float64, n), make([]float64, n), 0}
}

func (r *reference) step(p, g []float64, lr func(i int) float64) {
	r.steps++
	t, beta1, beta2 := float64(r.steps), r.Betas[0], r.Betas[1]
	for i := range p {
		rate, grad := lr(i), g[i]
		if rate < 0 {
			continue // in no group
		}
		if r.Kind == "adamw" {
			p[i] -= rate * r.WeightDecay * p[i]
		} else {
			grad += r.WeightDecay * p[i]
		}
		if r.Kind == "sgd" {
			r.m[i] = r.Momentum*r.m[i] + grad
			if r.Nesterov {
				grad += r.Momentum * r.m[i]
			} else {
				grad = r.m[i]
			}
			p[i] -= rate * grad
			continue
		}
		r.m[i] = beta1*r.m[i] + (1-beta1)*grad
		r.v[i] = beta2*r.v[i] + (1-beta2)*grad*grad
		mHat := r.m[i] / (1 - math.Pow(beta1, t))
		vHat := r.v[i] / (1 - math.Pow(beta2, t))
		p[i] -= rate * mHat / (math.Sqrt(vHat) + r.Eps)
	}
}

func newOptimizer(t testing.TB, f *tensor.Flat, cfg tensor.OptimizerConfig, groups []tensor.Group,
	clips ...tensor.Clip) *tensor.Optimizer {
	t.Helper()
	return tensortest.Opened[*tensor.Optimizer](t)(tensor.NewOptimizer(f, cfg, groups, clips))
}

func TestOptimizerRefuses(t *testing.T) {
	f := newFlat(t, parameters(t, []string{"a"}, [][]int64{{4}}))
	good, nan := []tensor.Group{{Name: "all", End: 4, LearningRate: 1e-3}}, math.NaN()
	for want, cfg := range map[string]tensor.OptimizerConfig{
		`"adan"`: {Kind: "adan"}, "betas [1 0.9]": {Betas: []float64{1, 0.9}}, "weight decay NaN": {WeightDecay: nan},
	} {
		must.Refused(tensor.NewOptimizer(f, cfg, good, nil))(t, "tensor: optimizer", want)
	}
	for want, groups := range map[string][]tensor.Group{
		"no parameter groups": nil, "[0, 5) of 4": {{Name: "x", End: 5}}, "[-1, 4)": {{Begin: -1, End: 4}},
		"p and q overlap":  {{Name: "p", End: 3}, {Name: "q", Begin: 2, End: 4}},
		"learning rate -1": {{End: 4, LearningRate: -1}},
	} {
		must.Refused(tensor.NewOptimizer(f, tensor.OptimizerConfig{}, groups, nil))(t, "tensor: optimizer", want)
	}
	must.Refused(tensor.NewOptimizer(f, tensor.OptimizerConfig{}, good, []tensor.Clip{{End: 5}}))(t,
		"tensor: optimizer", "clip 0 is [0, 5) of 4")

	// Ranges that were changed afterwards are errors too, and change nothing. The norm of a NaN is NaN.
	s := tensortest.NoGrad(t, tensor.CPU)
	o := newOptimizer(t, f, tensor.OptimizerConfig{}, good, tensor.Clip{End: 4, MaxNorm: 1})
	must.Do(t, tensor.Write(f.Grads, []float64{1, nan, 2, 3}))
	o.ClipGrad(s)
	wantNear(t, "the norm", tensortest.Float64s(t, s, o.Norms), []float64{nan}, 0)
	o.Groups[0].End, o.Clips[0].Begin = 1<<40, -1<<40
	for _, step := range []func(*tensor.Scope){o.Step, o.ClipGrad} {
		step(s)
		wantError(t, s.Err(), "segment 0", "of 4 elements")
		s.Reset()
	}
	must.Is(t, o.Steps, 0, "steps that count")
	o.Close() // and once more at the test's end
	wantPanic(t, "Step", func() { o.Step(s) })
}

// TestOptimizerBitsOfEveryPlace steps segments whose elements are all alike. Elements that are left over after the last
// whole vector must get the same bits as the others.
func TestOptimizerBitsOfEveryPlace(t *testing.T) {
	for _, cfg := range []tensor.OptimizerConfig{{}, {WeightDecay: 0.1}, {Kind: "adamw", WeightDecay: 0.1},
		{Kind: "sgd", Momentum: 0.9}} {
		for seed := range uint64(20) {
			s := scope(t)
			const n = 71 // four vectors of 16, and 7 elements
			start := numbers(seed, 9)
			f := newFlatOn(t, tensor.CPU, parameters(t, []string{"a"}, [][]int64{{n}}))
			o := newOptimizer(t, f, cfg, []tensor.Group{{Name: "a", End: n, LearningRate: 1e-2}})
			must.Do(t, tensor.Write(f.Values, slices.Repeat(float32s(start[:1]), n)))
			for _, g := range start[1:] {
				must.Do(t, tensor.Write(f.Grads, slices.Repeat([]float32{float32(g)}, n)))
				o.Step(s)
				got := tensortest.Float32s(t, s, f.Values)
				must.Same(t, got, slices.Repeat(got[:1], n), "%+v: elements", cfg)
			}
		}
	}
}
