package tensor_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

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

func testOptimizers(t *testing.T, d tensor.Device) {
	for _, cfg := range []tensor.OptimizerConfig{
		{},
		{Kind: "adam", Betas: []float64{0.7, 0.95}, Eps: 1e-5},
		{Kind: "adam", Betas: []float64{0, 0.9}},
		{Kind: "adam", Betas: []float64{0.9, 0}},
		{Kind: "adam", WeightDecay: 0.1},
		{Kind: "adamw", WeightDecay: 0.1},
		{Kind: "adamw", WeightDecay: 0.1, Eps: 1e-3},
		{Kind: "sgd"},
		{Kind: "sgd", Momentum: 0.9},
		{Kind: "sgd", Momentum: 0.9, WeightDecay: 0.1},
		{Kind: "sgd", Momentum: 0.9, WeightDecay: 0.1, Nesterov: true},
	} {
		t.Run(fmt.Sprintf("%+v", cfg), func(t *testing.T) {
			s := scope(t)
			// Sizes that are no multiples of a vector register, and a gap that belongs to no group.
			f := newFlatOn(t, d, parameters(t, []string{"a", "gap", "b"}, [][]int64{{37}, {3}, {2, 9}}))
			o, err := tensor.NewOptimizer(f, cfg, []tensor.Group{
				{Name: "a", Begin: 0, End: 37, LearningRate: 1e-2},
				{Name: "b", Begin: 40, End: 58, LearningRate: 3e-3},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			full := o.Config()
			r := &reference{full.Kind, full.Betas[0], full.Betas[1], full.Eps, full.WeightDecay, full.Momentum,
				full.Nesterov, make([]float64, 58), make([]float64, 58), 0}
			want := tensortest.Float64s(t, s, f.Values)
			for step := range 12 {
				if step == 6 {
					o.Groups[1].LearningRate = 1e-2
				}
				g := float32s(numbers(uint64(step), 58))
				if err := tensor.Write(f.Grads, g); err != nil {
					t.Fatal(err)
				}
				o.Step(s)
				r.step(want, tensortest.Float64s(t, s, f.Grads), func(i int) float64 {
					switch {
					case i < 37:
						return 1e-2
					case i < 40:
						return -1
					case step < 6:
						return 3e-3
					}
					return 1e-2
				})
				wantNear(t, fmt.Sprintf("parameters after step %d", step+1), tensortest.Float64s(t, s, f.Values), want,
					2e-6)
			}
			if o.Steps != 12 {
				t.Errorf("%d steps counted", o.Steps)
			}
			if full.Kind == "sgd" && full.Momentum == 0 {
				return
			}
			wantNear(t, "first moment", tensortest.Float64s(t, s, o.ExpAvg), r.m, 2e-6)
			wantNear(t, "second moment", tensortest.Float64s(t, s, o.ExpAvgSq), r.v, 2e-6)
		})
	}
}

func TestOptimizerDefaults(t *testing.T) {
	tensortest.CheckLive(t)
	f := newFlat(t, parameters(t, []string{"a"}, [][]int64{{2}}))
	o, err := tensor.NewOptimizer(f, tensor.OptimizerConfig{}, []tensor.Group{{End: 2, LearningRate: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (tensor.OptimizerConfig{Kind: "adam", Betas: []float64{0.9, 0.999},
		Eps: 1e-8}); !reflect.DeepEqual(o.Config(), want) {
		t.Errorf("the defaults are %+v", o.Config())
	}
	o.Close()
	o.Close()
	s := tensor.NoGrad()
	defer s.Close()
	wantPanic(t, "Step", func() { o.Step(s) })
}

func TestClipGrad(t *testing.T) { onDevices(t, testClipGrad) }

func testClipGrad(t *testing.T, d tensor.Device) {
	s := scope(t)
	f := newFlatOn(t, d, parameters(t, []string{"a", "b", "c"}, [][]int64{{37}, {3}, {2, 9}}))
	o, err := tensor.NewOptimizer(f, tensor.OptimizerConfig{}, []tensor.Group{{End: 58, LearningRate: 1e-3}},
		[]tensor.Clip{
			{Begin: 0, End: 37, MaxNorm: 0.5},
			{Begin: 37, End: 40, MaxNorm: 1e6},
			{Begin: 40, End: 58, MaxNorm: 0},
		})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	g := numbers(1, 58)
	if err := tensor.Write(f.Grads, g); err != nil {
		t.Fatal(err)
	}
	o.ClipGrad(s)
	norms := []float64{norm(g[:37]), norm(g[37:40]), norm(g[40:])}
	wantNear(t, "norms", tensortest.Float64s(t, s, o.Norms), norms, 1e-6)
	for i := range 37 {
		g[i] *= 0.5 / (norms[0] + 1e-6)
	}
	wantNear(t, "gradients", tensortest.Float64s(t, s, f.Grads), g, 1e-6)

	// No clips: nothing happens.
	o.Clips = nil
	o.ClipGrad(s)
	wantNear(t, "gradients", tensortest.Float64s(t, s, f.Grads), g, 1e-6)
}

func TestClipGradNotFinite(t *testing.T) {
	s := scope(t)
	f := newFlat(t, parameters(t, []string{"a"}, [][]int64{{3}}))
	o, err := tensor.NewOptimizer(f, tensor.OptimizerConfig{}, []tensor.Group{{End: 3}},
		[]tensor.Clip{{End: 3, MaxNorm: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := tensor.Write(f.Grads, []float64{1, math.NaN(), 2}); err != nil {
		t.Fatal(err)
	}
	o.ClipGrad(s)
	if got := tensortest.Float64s(t, s, o.Norms)[0]; !math.IsNaN(got) {
		t.Errorf("the norm of a NaN is %g; it must be seen", got)
	}
}

func TestOptimizerRefuses(t *testing.T) {
	tensortest.CheckLive(t)
	f := newFlat(t, parameters(t, []string{"a"}, [][]int64{{4}}))
	good := []tensor.Group{{Name: "all", End: 4, LearningRate: 1e-3}}
	nan := math.NaN()
	tests := map[string]struct {
		cfg    tensor.OptimizerConfig
		groups []tensor.Group
		clips  []tensor.Clip
		parts  []string
	}{
		"kind":         {tensor.OptimizerConfig{Kind: "adan"}, good, nil, []string{`"adan"`, "adamw"}},
		"beta":         {tensor.OptimizerConfig{Betas: []float64{1, 0.9}}, good, nil, []string{"betas [1 0.9]"}},
		"one beta":     {tensor.OptimizerConfig{Betas: []float64{0.9}}, good, nil, []string{"want two numbers"}},
		"beta NaN":     {tensor.OptimizerConfig{Betas: []float64{0.9, nan}}, good, nil, []string{"NaN"}},
		"eps":          {tensor.OptimizerConfig{Eps: -1}, good, nil, []string{"eps -1"}},
		"weight decay": {tensor.OptimizerConfig{WeightDecay: nan}, good, nil, []string{"weight decay NaN"}},
		"no groups":    {tensor.OptimizerConfig{}, nil, nil, []string{"no parameter groups"}},
		"group too long": {tensor.OptimizerConfig{}, []tensor.Group{{Name: "x", End: 5}}, nil,
			[]string{"(x)", "[0, 5) of 4"}},
		"group negative": {tensor.OptimizerConfig{}, []tensor.Group{{Begin: -1, End: 4}}, nil, []string{"[-1, 4)"}},
		"empty group":    {tensor.OptimizerConfig{}, []tensor.Group{{Begin: 2, End: 2}}, nil, []string{"[2, 2)"}},
		"overlap": {tensor.OptimizerConfig{}, []tensor.Group{{Name: "p", End: 3},
			{Name: "q", Begin: 2, End: 4}}, nil, []string{"p and q overlap"}},
		"learning rate": {tensor.OptimizerConfig{}, []tensor.Group{{Name: "p", End: 4, LearningRate: nan}}, nil,
			[]string{"p", "learning rate NaN"}},
		"negative rate": {tensor.OptimizerConfig{}, []tensor.Group{{Name: "p", End: 4, LearningRate: -1}}, nil,
			[]string{"learning rate -1"}},
		"clip too long": {tensor.OptimizerConfig{}, good, []tensor.Clip{{End: 5}}, []string{"clip 0", "[0, 5) of 4"}},
		"clip of no norm": {tensor.OptimizerConfig{}, good, []tensor.Clip{{End: 4, MaxNorm: nan}},
			[]string{"clip 0", "NaN"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := tensor.NewOptimizer(f, test.cfg, test.groups, test.clips)
			wantError(t, err, append(test.parts, "tensor: optimizer")...)
		})
	}

	// Ranges that were changed afterwards are errors too, and change nothing.
	o, err := tensor.NewOptimizer(f, tensor.OptimizerConfig{}, good, []tensor.Clip{{End: 4, MaxNorm: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for _, run := range []func(s *tensor.Scope){
		func(s *tensor.Scope) { o.Groups[0].End = 1 << 40; o.Step(s); o.Groups[0].End = 4 },
		func(s *tensor.Scope) { o.Clips[0].Begin = -1 << 40; o.ClipGrad(s); o.Clips[0].Begin = 0 },
	} {
		s := tensor.NoGrad()
		run(s)
		wantError(t, s.Err(), "segment 0", "of 4 elements")
		s.Close()
	}
	if o.Steps != 0 {
		t.Errorf("a step that failed is counted: %d", o.Steps)
	}
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
			o, err := tensor.NewOptimizer(f, cfg, []tensor.Group{{Name: "a", End: n, LearningRate: 1e-2}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := tensor.Write(f.Values, slices.Repeat(float32s(start[:1]), n)); err != nil {
				t.Fatal(err)
			}
			for _, g := range start[1:] {
				if err := tensor.Write(f.Grads, slices.Repeat([]float32{float32(g)}, n)); err != nil {
					t.Fatal(err)
				}
				o.Step(s)
				got := tensortest.Float32s(t, s, f.Values)
				if i := slices.IndexFunc(got, func(x float32) bool { return x != got[0] }); i >= 0 {
					t.Errorf("%+v: element %d is %v, element 0 is %v", cfg, i, got[i], got[0])
					break
				}
			}
			o.Close()
		}
	}
}
