package tensor_test

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// advantages sums γλ-weighted temporal differences forwards, from every step to where its chain ends.
func advantages(r, v, next, bootstrap, chain []float64, steps, envs int, gamma, lambda float64) []float64 {
	out := make([]float64, len(r))
	for t := range steps {
		for e := range envs {
			weight := 1.0
			for k := t; k < steps; k++ {
				i := k*envs + e
				out[t*envs+e] += weight * (r[i] - v[i] + gamma*bootstrap[i]*next[i])
				weight *= gamma * lambda * chain[i]
			}
		}
	}
	return out
}

func TestGAE(t *testing.T) { onDevices(t, testGAE) }

func testGAE(t *testing.T, d tensor.Device) {
	s := scope(t).On(d)
	const steps, envs, gamma, lambda = 7, 3, 0.9, 0.8
	n := steps * envs
	r, v, next := numbers(1, n), numbers(2, n), numbers(3, n)
	bootstrap, chain := make([]float64, n), make([]float64, n)
	for i, x := range numbers(4, n) {
		// Ends by termination (nothing follows), by truncation (the value follows, the chain ends), and none.
		bootstrap[i], chain[i] = number(x < 0.8), number(x > -0.5 && x < 0.8)
	}
	want := advantages(r, v, next, bootstrap, chain, steps, envs, gamma, lambda)
	shape := []int64{steps, envs, 1}
	single := func(x []float64) tensor.Tensor { return tensor.From(s, float32s(x), shape...) }
	double := func(x []float64) tensor.Tensor { return tensor.From(s, x, shape...) }
	wantTensor(t, "GAE", s, s.GAE(single(r), single(v), single(next), single(bootstrap), single(chain), gamma, lambda),
		shape, want, 1e-5)
	wantTensor(t, "GAE float64", s, s.GAE(double(r), double(v), double(next), double(bootstrap), double(chain), gamma,
		lambda), shape, want, 1e-13)

	// Memory that is not contiguous.
	strided := s.Transpose(s.Contiguous(s.Transpose(single(r), 0, 1)), 0, 1)
	wantTensor(t, "GAE of strided rewards", s, s.GAE(strided, single(v), single(next), single(bootstrap), single(chain),
		gamma, lambda), shape, want, 1e-5)

	bad := tensor.NoGrad().On(d)
	defer bad.Close()
	bad.GAE(single(r), single(v), single(next), bad.Ones(steps, envs), single(chain), gamma, lambda)
	wantError(t, bad.Err(), "tensor: GAE [7 3 1], [7 3 1], [7 3 1], [7 3], [7 3 1]: ")
	bad.Reset()
	none := bad.Zeros(0, 3, 1)
	bad.GAE(none, none, none, none, none, gamma, lambda)
	wantError(t, bad.Err(), "no time steps")
}

type statistics struct{ mean, variance, count tensor.Tensor }

func newStatistics(s *tensor.Scope, width int64) statistics {
	return statistics{s.Full(tensor.Float64, 0, width), s.Full(tensor.Float64, 1, width), s.Full(tensor.Float64, 1, 1)}
}

func TestScalerUpdateExact(t *testing.T) { onDevices(t, testScalerUpdateExact) }

func testScalerUpdateExact(t *testing.T, d tensor.Device) {
	// Without bessel and with a count that counts rows, the running statistics are those of all rows together.
	s := scope(t).On(d)
	st := newStatistics(s, 3)
	for _, x := range []tensor.Tensor{st.mean, st.variance, st.count} {
		s.Fill(x, 0)
	}
	var all []float64
	for batch, rows := range []int{1, 5, 1, 40} { // single rows too
		x := numbers(uint64(batch), rows*3)
		all = append(all, x...)
		s.ScalerUpdate(tensor.From(s, float32s(x), int64(rows), 3), st.mean, st.variance, st.count, false, 0)
	}
	wantMean, wantVariance := make([]float64, 3), make([]float64, 3)
	for j := range 3 {
		var column []float64
		for i := j; i < len(all); i += 3 {
			column = append(column, all[i])
		}
		n := float64(len(column))
		wantMean[j], wantVariance[j] = mean(column), variance(column)*(n-1)/n
	}
	wantNear(t, "mean", tensortest.Float64s(t, s, st.mean), wantMean, 1e-7)
	wantNear(t, "variance", tensortest.Float64s(t, s, st.variance), wantVariance, 1e-7)
	wantNear(t, "count", tensortest.Float64s(t, s, st.count), []float64{47}, 0)
}

func TestScalerUpdateSkrl(t *testing.T) { onDevices(t, testScalerUpdateSkrl) }

func testScalerUpdateSkrl(t *testing.T, d tensor.Device) {
	// skrl's merge, by its formula, over batches of different shapes.
	s := scope(t).On(d)
	st := newStatistics(s, 2)
	m, v, c := []float64{0, 0}, []float64{1, 1}, 1.0
	for batch, shape := range [][]int64{{4, 2}, {3, 5, 2}, {2, 2}} {
		o := randomOperand(uint64(batch), shape...)
		n := float64(len(o.x) / 2)
		for j := range 2 {
			var column []float64
			for i := j; i < len(o.x); i += 2 {
				column = append(column, o.x[i])
			}
			delta := mean(column) - m[j]
			v[j] = (v[j]*c + variance(column)*n + delta*delta*c*n/(c+n)) / (c + n)
			m[j] += delta * n / (c + n)
		}
		c += n
		s.ScalerUpdate(tensor.From(s, o.x, shape...), st.mean, st.variance, st.count, true, 0)
	}
	wantNear(t, "mean", tensortest.Float64s(t, s, st.mean), m, 1e-6)
	wantNear(t, "variance", tensortest.Float64s(t, s, st.variance), v, 1e-6)
	wantNear(t, "count", tensortest.Float64s(t, s, st.count), []float64{c}, 0)

	// The example of skrl: {1, 3} on a fresh scaler.
	st = newStatistics(s, 1)
	x := tensor.From(s, []float32{1, 3}, 2, 1)
	s.ScalerUpdate(x, st.mean, st.variance, st.count, true, 0)
	wantNear(t, "mean", tensortest.Float64s(t, s, st.mean), []float64{4. / 3}, 1e-12)
	wantNear(t, "variance", tensortest.Float64s(t, s, st.variance), []float64{2.5555555555}, 1e-9)
	wantNear(t, "forward", tensortest.Float64s(t, s, s.ScalerForward(x, st.mean, st.variance, 1e-8, 5)),
		[]float64{-0.208514, 1.042572}, 1e-6)
	wantNear(t, "inverse", tensortest.Float64s(t, s, s.ScalerInverse(tensor.From(s, []float32{10, -0.5}, 2, 1), st.mean,
		st.variance, 5)), []float64{9.326385, 0.534028}, 1e-6)
}

func TestScalerForward(t *testing.T) { onDevices(t, testScalerForward) }

func testScalerForward(t *testing.T, d tensor.Device) {
	s := scope(t).On(d)
	m, v := []float64{1, -2, 0}, []float64{4, 0.25, 0}
	tm, tv := tensor.From(s, m), tensor.From(s, v)
	o := randomOperand(1, 2, 4, 3)
	o.x[0], o.x[1] = 1000, -1000
	const eps, clip = 1e-2, 2.5
	want, inverse := make([]float64, 24), make([]float64, 24)
	for i, x := range o.x {
		want[i] = math.Max(-clip, math.Min(clip, (x-m[i%3])/(math.Sqrt(v[i%3])+eps)))
		inverse[i] = math.Sqrt(v[i%3])*math.Max(-clip, math.Min(clip, x)) + m[i%3]
	}
	x := tensor.From(s, float32s(o.x), o.shape...)
	forward := s.ScalerForward(x, tm, tv, eps, clip)
	wantTensor(t, "forward", s, forward, o.shape, want, 1e-5)
	if tensor.TypeOf(forward) != tensor.Float32 {
		t.Errorf("forward is %v", tensor.TypeOf(forward))
	}
	wantTensor(t, "inverse", s, s.ScalerInverse(x, tm, tv, clip), o.shape, inverse, 1e-5)
	// Strided memory goes another way to the same numbers.
	strided := s.Transpose(s.Contiguous(s.Transpose(x, 0, 1)), 0, 1)
	wantTensor(t, "forward of strided memory", s, s.ScalerForward(strided, tm, tv, eps, clip), o.shape, want, 1e-5)
	// float64 rows are read as float32.
	wantTensor(t, "forward of float64", s, s.As(s.ScalerForward(tensor.From(s, o.x, o.shape...), tm, tv, eps, clip),
		tensor.Float32), o.shape, want, 1e-5)

	nan := s.ScalerForward(tensor.From(s, []float32{float32(math.NaN()), 1, 2}, 1, 3), tm, tv, eps, clip)
	if got := tensortest.Float64s(t, s, nan); !math.IsNaN(got[0]) || math.IsNaN(got[1]) {
		t.Errorf("a NaN became %v; it must stay one, alone", got)
	}
}

func TestScalerRefuses(t *testing.T) {
	s := scope(t)
	st := newStatistics(s, 3)
	single := s.Zeros(3)
	tests := map[string]struct {
		run   func(b *tensor.Scope)
		parts []string
	}{
		"no rows": {func(b *tensor.Scope) {
			b.ScalerUpdate(b.Zeros(0, 3), st.mean, st.variance, st.count,
				false, 0)
		}, []string{"ScalerUpdate [0 3]", "no rows"}},
		"width": {func(b *tensor.Scope) {
			b.ScalerUpdate(b.Zeros(3, 2), st.mean, st.variance, st.count,
				false, 0)
		}, []string{"ScalerUpdate [3 2], [3]", "width"}},
		"float32 statistics": {func(b *tensor.Scope) {
			b.ScalerUpdate(b.Zeros(2, 3), single, single, st.count, false,
				0)
		}, []string{"float64"}},
		"variance too short": {func(b *tensor.Scope) {
			b.ScalerForward(b.Zeros(2, 3), st.mean,
				b.Full(tensor.Float64, 1, 1), 1e-8, 5)
		}, []string{"ScalerForward",
			"the mean has 3 elements, the variance 1"}},
		"empty statistics": {func(b *tensor.Scope) {
			none := b.Full(tensor.Float64, 0, 0)
			b.ScalerForward(b.Zeros(2, 0), none, none, 1e-8, 5)
		}, []string{"empty"}},
		"forward width": {func(b *tensor.Scope) { b.ScalerForward(b.Zeros(2, 4), st.mean, st.variance, 1e-8, 5) },
			[]string{"ScalerForward [2 4], [3], [3]"}},
		"inverse width": {func(b *tensor.Scope) { b.ScalerInverse(b.Zeros(2, 4), st.mean, st.variance, 5) },
			[]string{"ScalerInverse [2 4], [3], [3]"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := tensor.NoGrad()
			defer b.Close()
			test.run(b)
			wantError(t, b.Err(), append(test.parts, "tensor: ")...)
		})
	}
	wantNear(t, "mean after refusals", tensortest.Float64s(t, s, st.mean), []float64{0, 0, 0}, 0)
	wantNear(t, "count after refusals", tensortest.Float64s(t, s, st.count), []float64{1}, 0)
}
