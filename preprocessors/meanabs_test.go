package preprocessors_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/tensor"
)

func newMeanAbs(t *testing.T, size int, cfg preprocessors.MeanAbsConfig) *preprocessors.RunningMeanAbsScaler {
	t.Helper()
	r, err := preprocessors.NewRunningMeanAbsScaler(size, cfg, tensor.CPU)
	must(t, err)
	t.Cleanup(r.Close)
	return r
}

// However rows are cut into batches, and whether they are merged one batch after the other or as a sum of moments, the
// statistics are the mean of |x| of all rows.
func TestMeanAbsIsExact(t *testing.T) {
	tensortest.CheckLive(t)
	rng := rand.New(rand.NewPCG(3, 4))
	batches, parts := newMeanAbs(t, 2, preprocessors.DefaultMeanAbsConfig()), newMeanAbs(t, 2,
		preprocessors.DefaultMeanAbsConfig())
	s := tensor.NoGrad()
	defer s.Close()
	var sum [2]float64
	n := 0
	for range 8 {
		moments := parts.ZeroMoments(s)
		for range 3 {
			count := rng.IntN(5) // none, too
			var rows []float32
			for range count {
				n++
				for j := range sum {
					x := float32(rng.NormFloat64()*3 + 10*float64(j))
					rows = append(rows, x)
					sum[j] += math.Abs(float64(x))
				}
			}
			x := s.Zeros(0, 2)
			if count > 0 {
				x = tensor.From(s, rows, int64(count), 2)
			}
			batches.Update(s, x)
			s.AddTo(moments, parts.Moments(s, x), 1)
		}
		parts.Merge(s, moments)
	}
	for _, r := range []*preprocessors.RunningMeanAbsScaler{batches, parts} {
		for j, mean := range tensortest.Float64s(t, s, r.Mean) {
			if !near(mean, sum[j]/float64(n), 1e-12) {
				t.Errorf("mean %g, want %g", mean, sum[j]/float64(n))
			}
		}
		if count := tensortest.Float64s(t, s, r.Count)[0]; count != float64(n) {
			t.Errorf("count %g, want %d", count, n)
		}
	}
}

// Rows are divided by the mean of absolute values, which nothing is taken from before: 0 stays 0, also in a column that
// is far from it. A new scaler changes nothing, and a column that is always 0 is divided by min_mean.
func TestMeanAbsForward(t *testing.T) {
	tensortest.CheckLive(t)
	r := newMeanAbs(t, 3, preprocessors.DefaultMeanAbsConfig())
	s := tensor.NoGrad()
	defer s.Close()
	check := func(rows, want []float32) {
		t.Helper()
		for i, got := range tensortest.Float32s(t, s, r.Forward(s, tensor.From(s, rows, int64(len(rows)/3), 3))) {
			if !near(float64(got), float64(want[i]), 1e-6) {
				t.Errorf("value %d is %g, want %g", i, got, want[i])
			}
		}
	}
	check([]float32{10, -2, 3}, []float32{10, -2, 3})
	r.Update(s, tensor.From(s, []float32{9, -1, 0, 11, 3, 0}, 2, 3))
	check([]float32{0, 0, 0, 10, -2, 3e-4, -1000, 1, 0}, []float32{0, 0, 0, 1, -1, 3, -100, 0.5, 0})
}

// The statistics stop where they are asked to.
func TestMeanAbsFreezes(t *testing.T) {
	tensortest.CheckLive(t)
	cfg := preprocessors.DefaultMeanAbsConfig()
	cfg.FreezeAfter = 3
	r := newMeanAbs(t, 1, cfg)
	s := tensor.NoGrad()
	defer s.Close()
	for x := range 5 { // two rows each: 0, 1 and no more
		r.Update(s, s.Full(tensor.Float32, float64(x), 2, 1))
	}
	if mean, n := tensortest.Float64s(t, s, r.Mean)[0], tensortest.Float64s(t, s, r.Count)[0]; mean != 0.5 || n != 4 {
		t.Errorf("mean %g of %g rows, want 0.5 of 4", mean, n)
	}
}

func TestMeanAbsErrors(t *testing.T) {
	tensortest.CheckLive(t)
	for name, cfg := range map[string]preprocessors.MeanAbsConfig{
		"zero": {}, "infinite": {MinMean: math.Inf(1)}, "NaN": {MinMean: math.NaN()}, "freezing": {MinMean: 1,
			FreezeAfter: -1},
	} {
		if _, err := preprocessors.NewRunningMeanAbsScaler(1, cfg, tensor.CPU); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := preprocessors.NewRunningMeanAbsScaler(0, preprocessors.DefaultMeanAbsConfig(),
		tensor.CPU); err == nil {
		t.Error("a width of 0 is accepted")
	}
	r := newMeanAbs(t, 2, preprocessors.DefaultMeanAbsConfig())
	for _, width := range []int64{4, 5} {
		s := tensor.NoGrad()
		if r.Update(s, s.Ones(3, width)); s.Err() == nil {
			t.Errorf("rows of width %d are accepted", width)
		}
		s.Close()
	}
}

func ExampleNewRunningMeanAbsScaler() {
	scaler, err := preprocessors.NewRunningMeanAbsScaler(2, preprocessors.DefaultMeanAbsConfig(), tensor.CPU)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer scaler.Close()
	s := tensor.NoGrad()
	defer s.Close()
	scaler.Update(s, tensor.From(s, []float32{0.1, -30, -0.3, 10}, 2, 2)) // metres, and degrees
	scaled, err := tensor.Float32s(scaler.Forward(s, tensor.From(s, []float32{0.4, 0}, 1, 2)))
	fmt.Println(scaled, err)
	// Output: [2 0] <nil>
}
