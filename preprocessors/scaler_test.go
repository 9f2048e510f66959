package preprocessors_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/tensor"
)

// newScaler makes a scaler that is closed with the test.
func newScaler(t *testing.T, size int, cfg preprocessors.ScalerConfig) *preprocessors.RunningStandardScaler {
	t.Helper()
	return tensortest.Opened[*preprocessors.RunningStandardScaler](t)(preprocessors.NewRunningStandardScaler(size, cfg,
		tensor.CPU))
}

func newMeanAbs(t *testing.T, size int, cfg preprocessors.MeanAbsConfig) *preprocessors.RunningMeanAbsScaler {
	t.Helper()
	return tensortest.Opened[*preprocessors.RunningMeanAbsScaler](t)(preprocessors.NewRunningMeanAbsScaler(size, cfg,
		tensor.CPU))
}

func near(a, b, tol float64) bool { return math.Abs(a-b) <= tol*(1+math.Abs(b)) }

func ExampleNewRunningStandardScaler() {
	scaler, err := preprocessors.NewRunningStandardScaler(1, preprocessors.DefaultScalerConfig(), tensor.CPU)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer scaler.Close()
	s := tensor.NoGrad()
	defer s.Close()
	heights := s.AddScalar(s.MulScalar(s.As(s.Arange(1001), tensor.Float32), 0.01), 95)
	scaler.Learn(s, s.Unsqueeze(heights, 1))
	mean, err := tensor.Item(scaler.Mean)
	fmt.Printf("%.1f %v\n", mean, err)
	// Output: 99.9 <nil>
}

// Forward standardises and limits, and Inverse brings back. One row of an unbiased scaler has no variance: its
// statistics are lost, as skrl's are. The default survives one row.
func TestScalerForward(t *testing.T) {
	cfg := preprocessors.DefaultScalerConfig()
	r, s := newScaler(t, 1, cfg), tensortest.NoGrad(t, tensor.CPU)
	s.Fill(r.Mean, 10)
	s.Fill(r.Variance, 4)
	y := r.Forward(s, tensor.From(s, []float32{10, 13, 1000, -1000}, 4, 1))
	back := tensortest.Float64s(t, s, r.Inverse(s, y))
	for i, got := range tensortest.Float64s(t, s, y) {
		want := []float64{0, 1.5, 5, -5}[i]
		if inverse := 10 + 2*want; !near(got, want, 1e-6) || !near(back[i], inverse, 1e-6) {
			t.Errorf("value %d became %g and came back as %g, want %g and %g", i, got, back[i], want, inverse)
		}
	}
	cfg.Unbiased = true
	for unbiased, r := range map[bool]*preprocessors.RunningStandardScaler{false: r, true: newScaler(t, 1, cfg)} {
		r.Learn(s, s.Ones(1, 1))
		if v := tensortest.Float64s(t, s, r.Variance)[0]; math.IsNaN(v) != unbiased {
			t.Errorf("unbiased %v: the variance after one row is %g", unbiased, v)
		}
	}
}

// A scaler refuses a batch of another width, and learns nothing from it. With freeze_after it stops at the first batch
// beyond that number of rows.
func TestScalersLearn(t *testing.T) {
	standard, absolute := preprocessors.DefaultScalerConfig(), preprocessors.DefaultMeanAbsConfig()
	standard.FreezeAfter, absolute.FreezeAfter = 3, 3
	a, b := newScaler(t, 2, standard), newMeanAbs(t, 2, absolute)
	s := tensortest.NoGrad(t, tensor.CPU)
	for name, test := range map[string]struct {
		scaler      preprocessors.Scaler
		mean, count tensor.Tensor
		rows        float64 // counted in the end
	}{"standard": {a, a.Mean, a.Count, 5}, "mean of absolute values": {b, b.Mean, b.Count, 4}} {
		state := func() string {
			return fmt.Sprint(tensortest.Float64s(t, s, test.mean), tensortest.Float64s(t, s, test.count))
		}
		before := state()
		for _, width := range []int64{4, 5} { // the scaler's is 2
			own := tensor.NoGrad()
			if test.scaler.Learn(own, own.Ones(3, width)); own.Err() == nil {
				t.Errorf("%s: rows of width %d are accepted", name, width)
			}
			own.Close()
		}
		if after := state(); before != after {
			t.Errorf("%s: %s became %s", name, before, after)
		}
		for range 5 {
			test.scaler.Learn(s, tensor.From(s, []float32{0, 1, 2, 3}, 2, 2))
		}
		if n := tensortest.Float64s(t, s, test.count)[0]; n != test.rows || state() == before {
			t.Errorf("%s: %g rows are counted, want %g", name, n, test.rows)
		}
	}
}

func TestScalersRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		size int
		a    preprocessors.ScalerConfig
		b    preprocessors.MeanAbsConfig
	}{
		"size": {0, preprocessors.DefaultScalerConfig(), preprocessors.DefaultMeanAbsConfig()},
		"NaN": {1, preprocessors.ScalerConfig{Epsilon: 1, ClipThreshold: math.NaN()},
			preprocessors.MeanAbsConfig{MinMean: math.NaN()}},
	} {
		_, first := preprocessors.NewRunningStandardScaler(c.size, c.a, tensor.CPU)
		_, second := preprocessors.NewRunningMeanAbsScaler(c.size, c.b, tensor.CPU)
		check.RefuseAs(t, name, first, "preprocessors: ")
		check.RefuseAs(t, name, second, "preprocessors: ")
	}
}

// However rows are cut into batches, and whether they are learned or merged as a sum of moments, the statistics are
// those of all rows. A standard scaler also counts the row with mean 0 and variance 1 that it begins with.
func TestScalersAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	standard := newScaler(t, 2, preprocessors.DefaultScalerConfig())
	absolute := newMeanAbs(t, 2, preprocessors.DefaultMeanAbsConfig())
	s := tensortest.NoGrad(t, tensor.CPU)
	var all [2][]float64
	for k := range 40 {
		n := 1 + rng.Int64N(5)
		var rows []float32
		for i := range 2 * n {
			x := float32(rng.NormFloat64()*3 + 10*float64(i%2))
			rows, all[i%2] = append(rows, x), append(all[i%2], float64(x))
		}
		x := tensor.From(s, rows, n, 2)
		for _, r := range []preprocessors.Scaler{standard, absolute} {
			if k%2 == 0 {
				r.Learn(s, x)
				continue
			}
			moments := r.ZeroMoments(s)
			for i := range n {
				s.AddTo(moments, r.Moments(s, s.Narrow(x, 0, i, 1)), 1)
			}
			r.Merge(s, moments)
			r.Merge(s, r.ZeroMoments(s)) // no rows change nothing
		}
	}
	read := func(x tensor.Tensor) []float64 { return tensortest.Float64s(t, s, x) }
	for j, xs := range all {
		n := float64(len(xs))
		sum, size, squares := 0.0, 0.0, 1.0
		for _, x := range xs {
			sum, size, squares = sum+x, size+math.Abs(x), squares+x*x
		}
		mean := sum / (n + 1)
		if got := read(absolute.Mean)[j]; !near(got, size/n, 1e-12) || read(absolute.Count)[0] != n {
			t.Errorf("mean of absolute values %g, want %g", got, size/n)
		}
		m, v, c := read(standard.Mean)[j], read(standard.Variance)[j], read(standard.Count)[0]
		if !near(m, mean, 1e-6) || !near(v, squares/(n+1)-mean*mean, 1e-5) || c != n+1 {
			t.Errorf("mean %g and variance %g of %g rows, want %g and %g", m, v, c, mean, squares/(n+1)-mean*mean)
		}
	}
}

// TestMain fails if a test leaves tensors alive.
func TestMain(m *testing.M) { os.Exit(tensortest.Run(m)) }
