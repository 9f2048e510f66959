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
	return tensortest.Opened[*tensor.Generator](t)(tensor.NewGenerator(seed, d))
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
	must.Same(t, append(draw(t, d, b), draw(t, d, b)...), append(slices.Clone(first), second...), "of the same seed")
	must.Do(t, a.Seed(7))
	must.Same(t, draw(t, d, a), first, "seeded again")
	// Negative seeds, the largest unsigned ones, are seeds of their own.
	for _, other := range [][]float64{second, draw(t, d, generatorOn(t, d, -1)), draw(t, d, generatorOn(t, d, -2))} {
		must.Not(t, slices.Equal(first, other), "a generator repeats another one's numbers, or its own")
		first = other
	}

	state, want := must.Get(a.State())(t), draw(t, d, a)
	for _, g := range []*tensor.Generator{a, generatorOn(t, d, 99)} {
		must.Do(t, g.SetState(state))
		must.Same(t, draw(t, d, g), want, "continued from the state")
	}
	before := must.Get(b.State())(t)
	for _, bad := range [][]byte{nil, {1, 2, 3}, state[:len(state)-1], append(slices.Clone(state), 0)} {
		wantError(t, b.SetState(bad), "tensor: SetState")
	}
	must.Same(t, must.Get(b.State())(t), before, "state after a refused one")
	b.Close()
	b.Close()
	wantPanic(t, "tensor: RandPerm: the generator is closed", func() { scope(t).RandPerm(b, 1) })
	wantPanic(t, "tensor: State: the generator is closed", func() { _, _ = b.State() })
	must.Refused(tensor.NewGenerator(1, tensor.CUDA(99)))(t, "tensor: NewGenerator")
}

// Moments and frequencies of large samples lie within five standard errors.
func TestDistributions(t *testing.T) { onDevices(t, testDistributions) }

func testDistributions(t *testing.T, d tensor.Device) {
	s := scope(t).On(d)
	g := generatorOn(t, d, 5)
	const n = 100_000
	check := func(what string, got, want, deviation float64) {
		t.Helper()
		must.Near(t, got, want, 5*deviation/math.Sqrt(n), "%s", what)
	}
	normal := tensortest.Float64s(t, s, s.Randn(g, n))
	check("the mean of Randn", stat.Mean(normal, nil), 0, 1)
	check("the variance of Randn", stat.Variance(normal, nil), 1, math.Sqrt2)
	uniform := tensortest.Float64s(t, s, s.Rand(g, n))
	check("the mean of Rand", stat.Mean(uniform, nil), 0.5, math.Sqrt(1./12))
	must.Not(t, slices.Min(uniform) < 0 || slices.Max(uniform) >= 1, "Rand leaves [0, 1)")
	// A range that is too large for the engine is libtorch's.
	large := tensortest.Float64s(t, s, s.RandInt(g, -1<<40, 1<<52, 50, 2))
	must.Not(t, slices.Min(large) < -1<<40 || slices.Max(large) >= 1<<52, "RandInt of a large range gives %g", large)
	counts := map[float64]float64{}
	for _, x := range tensortest.Float64s(t, s, s.RandInt(g, -2, 3, n)) {
		counts[x]++
	}
	must.Is(t, len(counts), 5, "different numbers of RandInt")
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
	must.Same(t, perm, tensortest.Float64s(t, s, s.Arange(1000)), "sorted permutation")
}
