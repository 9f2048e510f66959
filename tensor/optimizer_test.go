package tensor_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// reference is an optimizer in plain arithmetic after the papers: one element a step.
type reference struct {
	kind              string
	beta1, beta2, eps float64
	decay, momentum   float64
	nesterov          bool
	m, v              []float64
	steps             int
}

func newReference(c tensor.OptimizerConfig, n int64) *reference {
	return &reference{c.Kind, c.Betas[0], c.Betas[1], c.Eps, c.WeightDecay, c.Momentum, c.Nesterov,
		make([]float64, n), make([]float64, n), 0}
}

func (r *reference) step(p, g []float64, lr func(i int) float64) {
	r.steps++
	t := float64(r.steps)
	for i := range p {
		rate, grad := lr(i), g[i]
		if rate < 0 {
			continue // in no group
		}
		if r.kind == "adamw" {
			p[i] -= rate * r.decay * p[i]
		} else {
			grad += r.decay * p[i]
		}
		if r.kind == "sgd" {
			if r.momentum != 0 {
				if r.steps == 1 {
					r.m[i] = grad
				} else {
					r.m[i] = r.momentum*r.m[i] + grad
				}
				if r.nesterov {
					grad += r.momentum * r.m[i]
				} else {
					grad = r.m[i]
				}
			}
			p[i] -= rate * grad
			continue
		}
		r.m[i] = r.beta1*r.m[i] + (1-r.beta1)*grad
		r.v[i] = r.beta2*r.v[i] + (1-r.beta2)*grad*grad
		mHat := r.m[i] / (1 - math.Pow(r.beta1, t))
		vHat := r.v[i] / (1 - math.Pow(r.beta2, t))
		p[i] -= rate * mHat / (math.Sqrt(vHat) + r.eps)
	}
}

func TestOptimizers(t *testing.T) { onDevices(t, testOptimizers) }

// TestDifferential compares other ranges and more settings, on the CPU.
func testOptimizers(t *testing.T, d tensor.Device) {
	for _, cfg := range []tensor.OptimizerConfig{
		{}, {Kind: "adam", Betas: []float64{0, 0.9}, Eps: 1e-5, WeightDecay: 0.1}, {Kind: "adamw", WeightDecay: 0.1},
		{Kind: "sgd"}, {Kind: "sgd", Momentum: 0.9, WeightDecay: 0.1, Nesterov: true},
	} {
		t.Run(fmt.Sprintf("%+v", cfg), func(t *testing.T) {
			s := scope(t)
			// Sizes that are no multiples of a vector register, and a gap that belongs to no group.
			f := newFlatOn(t, d, parameters(t, []string{"a", "gap", "b"}, [][]int64{{37}, {3}, {2, 9}}))
			rates := slices.Concat(slices.Repeat([]float64{1e-2}, 37), []float64{-1, -1, -1},
				slices.Repeat([]float64{3e-3}, 18))
			o := newOptimizer(t, f, cfg, []tensor.Group{{Name: "a", End: 37, LearningRate: 1e-2},
				{Name: "b", Begin: 40, End: 58, LearningRate: 3e-3}},
				tensor.Clip{End: 37, MaxNorm: 0.5}, tensor.Clip{Begin: 37, End: 40, MaxNorm: 1e6},
				tensor.Clip{Begin: 40, End: 58})
			r := newReference(o.Config(), 58)
			want := tensortest.Float64s(t, s, f.Values)
			for step := range 12 {
				if step == 6 {
					o.Groups[1].LearningRate = 1e-2
					rates = slices.Replace(rates, 40, 58, slices.Repeat([]float64{1e-2}, 18)...)
				}
				g := numbers(uint64(step), 58)
				must.Do(t, tensor.Write(f.Grads, g))
				o.ClipGrad(s)
				norms := []float64{norm(g[:37]), norm(g[37:40]), norm(g[40:])}
				wantNear(t, "norms", tensortest.Float64s(t, s, o.Norms), norms, 1e-6)
				for i := range 37 {
					g[i] *= 0.5 / (norms[0] + 1e-6)
				}
				wantNear(t, "clipped gradients", tensortest.Float64s(t, s, f.Grads), g, 1e-6)
				o.Step(s)
				r.step(want, g, func(i int) float64 { return rates[i] })
				wantNear(t, fmt.Sprint("parameters of step ", step), tensortest.Float64s(t, s, f.Values), want, 2e-6)
			}
			if o.Steps != 12 {
				t.Errorf("%d steps counted", o.Steps)
			}
			if cfg.Kind != "sgd" {
				wantNear(t, "second moment", tensortest.Float64s(t, s, o.ExpAvgSq), r.v, 2e-6)
			}
		})
	}
}

func newOptimizer(t testing.TB, f *tensor.Flat, cfg tensor.OptimizerConfig, groups []tensor.Group,
	clips ...tensor.Clip) *tensor.Optimizer {
	t.Helper()
	o, err := tensor.NewOptimizer(f, cfg, groups, clips)
	must.Do(t, err)
	t.Cleanup(func() { o.Close(); o.Close() })
	return o
}

func TestOptimizerRefuses(t *testing.T) {
	f := newFlat(t, parameters(t, []string{"a"}, [][]int64{{4}}))
	good, nan := []tensor.Group{{Name: "all", End: 4, LearningRate: 1e-3}}, math.NaN()
	for _, test := range []struct {
		want   string
		cfg    tensor.OptimizerConfig
		groups []tensor.Group
		clip   tensor.Clip
	}{
		{`"adan"`, tensor.OptimizerConfig{Kind: "adan"}, good, tensor.Clip{}},
		{"betas [1 0.9]", tensor.OptimizerConfig{Betas: []float64{1, 0.9}}, good, tensor.Clip{}},
		{"want two numbers", tensor.OptimizerConfig{Betas: []float64{0.9}}, good, tensor.Clip{}},
		{"NaN", tensor.OptimizerConfig{Betas: []float64{0.9, nan}}, good, tensor.Clip{}},
		{"eps -1", tensor.OptimizerConfig{Eps: -1}, good, tensor.Clip{}},
		{"weight decay NaN", tensor.OptimizerConfig{WeightDecay: nan}, good, tensor.Clip{}},
		{"no parameter groups", tensor.OptimizerConfig{}, nil, tensor.Clip{}},
		{"[0, 5) of 4", tensor.OptimizerConfig{}, []tensor.Group{{Name: "x", End: 5}}, tensor.Clip{}},
		{"[-1, 4)", tensor.OptimizerConfig{}, []tensor.Group{{Begin: -1, End: 4}}, tensor.Clip{}},
		{"[2, 2)", tensor.OptimizerConfig{}, []tensor.Group{{Begin: 2, End: 2}}, tensor.Clip{}},
		{"p and q overlap", tensor.OptimizerConfig{},
			[]tensor.Group{{Name: "p", End: 3}, {Name: "q", Begin: 2, End: 4}},
			tensor.Clip{}},
		{"learning rate NaN", tensor.OptimizerConfig{}, []tensor.Group{{End: 4, LearningRate: nan}}, tensor.Clip{}},
		{"learning rate -1", tensor.OptimizerConfig{}, []tensor.Group{{End: 4, LearningRate: -1}}, tensor.Clip{}},
		{"clip 0 is [0, 5) of 4", tensor.OptimizerConfig{}, good, tensor.Clip{End: 5}},
		{"NaN", tensor.OptimizerConfig{}, good, tensor.Clip{End: 4, MaxNorm: nan}},
	} {
		clips := []tensor.Clip{test.clip}
		if test.clip.End == 0 {
			clips = nil
		}
		_, err := tensor.NewOptimizer(f, test.cfg, test.groups, clips)
		wantError(t, err, "tensor: optimizer", test.want)
	}

	// Ranges that were changed afterwards are errors too, and change nothing. The norm of a NaN is NaN.
	s := tensortest.NoGrad(t, tensor.CPU)
	o := newOptimizer(t, f, tensor.OptimizerConfig{}, good, tensor.Clip{End: 4, MaxNorm: 1})
	if full := o.Config(); full.Kind != "adam" || !slices.Equal(full.Betas, []float64{0.9, 0.999}) || full.Eps != 1e-8 {
		t.Errorf("the defaults are %+v", full)
	}
	must.Do(t, tensor.Write(f.Grads, []float64{1, nan, 2, 3}))
	o.ClipGrad(s)
	wantNear(t, "the norm", tensortest.Float64s(t, s, o.Norms), []float64{nan}, 0)
	o.Groups[0].End = 1 << 40
	o.Step(s)
	wantError(t, s.Err(), "segment 0", "of 4 elements")
	s.Reset()
	o.Clips[0].Begin = -1 << 40
	o.ClipGrad(s)
	wantError(t, s.Err(), "segment 0", "of 4 elements")
	if o.Steps != 0 {
		t.Errorf("a step that failed is counted: %d", o.Steps)
	}
	s.Reset()
	o.Close()
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
				if i := slices.IndexFunc(got, func(x float32) bool { return x != got[0] }); i >= 0 {
					t.Errorf("%+v: element %d is %v, element 0 is %v", cfg, i, got[i], got[0])
					break
				}
			}
		}
	}
}
