package tensor_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

func generator(t testing.TB, seed int64) *tensor.Generator { return generatorOn(t, tensor.CPU, seed) }

func generatorOn(t testing.TB, d tensor.Device, seed int64) *tensor.Generator {
	t.Helper()
	g, err := tensor.NewGenerator(seed, d)
	must.Do(t, err)
	t.Cleanup(g.Close)
	return g
}

// draw takes numbers of every kind, in an amount that leaves half of a Box-Muller pair behind.
func draw(t testing.TB, d tensor.Device, g *tensor.Generator) []float64 {
	t.Helper()
	s := tensor.NoGrad().On(d)
	defer s.Close()
	p := tensor.From(s, []float32{0.1, 0.2, 0.7, 0.5, 0.5, 0}, 2, 3)
	var out []float64
	for _, a := range []tensor.Tensor{
		s.Randn(g, 3), s.Randn(g, 40), s.Rand(g, 2, 5), s.RandInt(g, -5, 5, 10), s.RandPerm(g, 9),
		s.Multinomial(g, p, 4), s.Randn(g, 1),
	} {
		out = append(out, tensortest.Float64s(t, s, a)...)
	}
	return out
}

func TestGenerator(t *testing.T) { onDevices(t, testGenerator) }

func testGenerator(t *testing.T, d tensor.Device) {
	tensortest.CheckLive(t)
	a, b := generatorOn(t, d, 7), generatorOn(t, d, 7)
	first := draw(t, d, a)
	second := draw(t, d, a)
	draw(t, d, generatorOn(t, d, 8)) // does not change the others
	if !slices.Equal(first, draw(t, d, b)) || !slices.Equal(second, draw(t, d, b)) {
		t.Error("two generators of one seed differ")
	}
	if err := a.Seed(7); err != nil || !slices.Equal(first, draw(t, d, a)) {
		t.Error("seeding again does not start again:", err)
	}
	// Negative seeds, the largest unsigned ones, are seeds of their own.
	for _, other := range [][]float64{second, draw(t, d, generatorOn(t, d, -1)), draw(t, d, generatorOn(t, d, -2))} {
		if slices.Equal(first, other) {
			t.Error("a generator repeats another one's numbers, or its own")
		}
		first = other
	}

	state, err := a.State()
	must.Do(t, err)
	want := draw(t, d, a)
	for _, g := range []*tensor.Generator{a, generatorOn(t, d, 99)} {
		if err := g.SetState(state); err != nil || !slices.Equal(draw(t, d, g), want) {
			t.Error("a generator does not continue from the state:", err)
		}
	}
	before, err := b.State()
	for _, bad := range [][]byte{nil, {1, 2, 3}, state[:len(state)-1], append(slices.Clone(state), 0)} {
		wantError(t, b.SetState(bad), "tensor: SetState")
	}
	if after, err2 := b.State(); err != nil || err2 != nil || !slices.Equal(before, after) {
		t.Errorf("a refused state changed the generator (%v, %v)", err, err2)
	}
}

func TestGeneratorClosed(t *testing.T) {
	s := scope(t)
	g := generator(t, 1)
	g.Close()
	g.Close()
	for name, use := range map[string]func(){
		"Randn":       func() { s.Randn(g, 1) },
		"Rand":        func() { s.Rand(nil, 1) },
		"RandPerm":    func() { s.RandPerm(g, 1) },
		"Multinomial": func() { s.Multinomial(g, s.Ones(2), 1) },
		"Seed":        func() { g.Seed(1) },
		"State":       func() { g.State() },
		"SetState":    func() { g.SetState([]byte{1}) },
	} {
		wantPanic(t, "tensor: "+name+": the generator is closed", use)
	}
	_, err := tensor.NewGenerator(1, tensor.CUDA(99))
	wantError(t, err, "tensor: NewGenerator")
}

// Moments and frequencies of large samples lie within five standard errors.
func TestDistributions(t *testing.T) { onDevices(t, testDistributions) }

func testDistributions(t *testing.T, d tensor.Device) {
	s := scope(t).On(d)
	g := generatorOn(t, d, 5)
	const n = 100_000
	check := func(what string, got, want, deviation float64) {
		t.Helper()
		if math.Abs(got-want) > 5*deviation/math.Sqrt(n) {
			t.Errorf("%s is %g, want about %g", what, got, want)
		}
	}
	normal := tensortest.Float64s(t, s, s.Randn(g, n))
	check("the mean of Randn", stat.Mean(normal, nil), 0, 1)
	check("the variance of Randn", stat.Variance(normal, nil), 1, math.Sqrt2)
	uniform := tensortest.Float64s(t, s, s.Rand(g, n))
	check("the mean of Rand", stat.Mean(uniform, nil), 0.5, math.Sqrt(1./12))
	if slices.Min(uniform) < 0 || slices.Max(uniform) >= 1 {
		t.Errorf("Rand lies in [%g, %g]", slices.Min(uniform), slices.Max(uniform))
	}
	// A range that is too large for the engine is libtorch's.
	for _, x := range tensortest.Float64s(t, s, s.RandInt(g, -1<<40, 1<<52, 50, 2)) {
		if x < -1<<40 || x >= 1<<52 {
			t.Errorf("RandInt of a large range gives %g", x)
		}
	}
	counts := map[float64]float64{}
	for _, x := range tensortest.Float64s(t, s, s.RandInt(g, -2, 3, n)) {
		counts[x]++
	}
	if len(counts) != 5 {
		t.Errorf("RandInt gives %d different numbers, want 5", len(counts))
	}
	for x := -2.0; x < 3; x++ {
		check("a frequency of RandInt", counts[x]/n, 0.2, 0.4)
	}
	p := []float64{0.1, 0, 0.9}
	drawn := tensortest.Float64s(t, s, s.Multinomial(g, tensor.From(s, float32s(p), 1, 3), n))
	frequency := make([]float64, 3)
	for _, x := range drawn {
		frequency[int(x)] += 1. / n
	}
	for i := range p {
		check("a frequency of Multinomial", frequency[i], p[i], math.Sqrt(p[i]*(1-p[i])))
	}
	perm := tensortest.Float64s(t, s, s.RandPerm(g, 1000))
	slices.Sort(perm)
	for i, x := range perm {
		if x != float64(i) {
			t.Fatalf("RandPerm is no permutation: %g at place %d", x, i)
		}
	}
}
