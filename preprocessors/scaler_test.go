package preprocessors_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/tensor"
)

func near(a, b, tol float64) bool { return math.Abs(a-b) <= tol*(1+math.Abs(b)) }

// However rows are cut into batches, single ones too, and learned or merged, the statistics are those of all rows and of
// the row with mean 0 and variance 1 that a scaler begins with.
func TestScalerIsExact(t *testing.T) {
	tensortest.CheckLive(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		r, err := preprocessors.NewRunningStandardScaler(2, preprocessors.DefaultScalerConfig(), tensor.CPU)
		must(t, err)
		s := tensor.NoGrad()
		var all [2][]float64
		for k := range 8 {
			n := 1 + rng.IntN(5)
			var rows []float32
			for range n {
				for j := range all {
					x := float32(rng.NormFloat64()*3 + 10*float64(j))
					rows = append(rows, x)
					all[j] = append(all[j], float64(x))
				}
			}
			x := tensor.From(s, rows, int64(n), 2)
			if k%2 == 0 {
				r.Update(s, x)
			} else {
				r.Merge(s, r.Moments(s, x))
			}
		}
		mean, variance := tensortest.Float64s(t, s, r.Mean), tensortest.Float64s(t, s, r.Variance)
		for j, xs := range all {
			n := float64(len(xs)) + 1
			m, q := 0.0, 1.0
			for _, x := range xs {
				m += x / n
			}
			q += m * m // the first row: variance 1 around 0
			for _, x := range xs {
				q += (x - m) * (x - m)
			}
			if !near(mean[j], m, 1e-6) || !near(variance[j], q/n, 1e-6) {
				t.Errorf("mean %g and variance %g, want %g and %g", mean[j], variance[j], m, q/n)
			}
		}
		if count := tensortest.Float64s(t, s, r.Count)[0]; count != float64(len(all[0])+1) {
			t.Errorf("count %g, want %d", count, len(all[0])+1)
		}
		s.Close()
		r.Close()
		r.Close()
	}
}

func TestScalerForward(t *testing.T) {
	tensortest.CheckLive(t)
	cfg := preprocessors.DefaultScalerConfig()
	r, err := preprocessors.NewRunningStandardScaler(1, cfg, tensor.CPU)
	must(t, err)
	defer r.Close()
	if r.Size() != 1 {
		t.Errorf("size %d", r.Size())
	}
	s := tensor.NoGrad()
	defer s.Close()
	s.Fill(r.Mean, 10)
	s.Fill(r.Variance, 4)
	x := tensor.From(s, []float32{10, 13, 1000, -1000}, 4, 1)
	for i, want := range []float64{0, 1.5, 5, -5} {
		if got := tensortest.Float64s(t, s, r.Forward(s, x))[i]; !near(got, want, 1e-6) {
			t.Errorf("value %d became %g, want %g", i, got, want)
		}
	}
	for i, want := range []float64{10, 13, 20, 0} {
		if got := tensortest.Float64s(t, s, r.Inverse(s, r.Forward(s, x)))[i]; !near(got, want, 1e-6) {
			t.Errorf("value %d came back as %g, want %g", i, got, want)
		}
	}
}

// One unbiased row has no variance: the statistics are lost, as skrl's are. The default survives it.
func TestScalerOneRow(t *testing.T) {
	tensortest.CheckLive(t)
	for unbiased, lost := range map[bool]bool{true: true, false: false} {
		cfg := preprocessors.DefaultScalerConfig()
		cfg.Unbiased = unbiased
		r, err := preprocessors.NewRunningStandardScaler(1, cfg, tensor.CPU)
		must(t, err)
		s := tensor.NoGrad()
		r.Update(s, tensor.From(s, []float32{3}, 1, 1))
		if v := tensortest.Float64s(t, s, r.Variance)[0]; math.IsNaN(v) != lost {
			t.Errorf("unbiased %v: the variance is %g", unbiased, v)
		}
		s.Close()
		r.Close()
	}
}

// A NaN goes through Forward into no other column. Scalers learn from no batch that holds a NaN or an infinity.
func TestScalerNaN(t *testing.T) {
	tensortest.CheckLive(t)
	standard, err := preprocessors.NewRunningStandardScaler(2, preprocessors.DefaultScalerConfig(), tensor.CPU)
	must(t, err)
	defer standard.Close()
	s := tensor.NoGrad()
	defer s.Close()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	out := tensortest.Float64s(t, s, standard.Forward(s, tensor.From(s, []float32{nan, 1, 2, 3}, 2, 2)))
	if !math.IsNaN(out[0]) || math.IsNaN(out[1]) || math.IsNaN(out[2]) {
		t.Errorf("standardised %v", out)
	}
	absolute := newMeanAbs(t, 2, preprocessors.DefaultMeanAbsConfig())
	for what, x := range map[string]struct {
		scaler     preprocessors.Scaler
		mean, seen tensor.Tensor
	}{"standard": {standard, standard.Mean, standard.Count}, "mean of absolute values": {absolute, absolute.Mean,
		absolute.Count}} {
		before := append(tensortest.Float64s(t, s, x.mean), tensortest.Float64s(t, s, x.seen)...)
		for bad, want := range map[float32]string{nan: "row 1, column 0 is NaN", inf: "row 1, column 0 is +Inf",
			-inf: "row 1, column 0 is -Inf"} {
			own := tensor.NoGrad()
			x.scaler.Update(own, tensor.From(own, []float32{0, 1, bad, 3}, 2, 2))
			if err := own.Err(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", what, err, want)
			}
			own.Close()
		}
		if after := append(tensortest.Float64s(t, s, x.mean), tensortest.Float64s(t, s,
			x.seen)...); fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("%s: %v became %v", what, before, after)
		}
		x.scaler.Update(s, tensor.From(s, []float32{0, 1, 2, 3}, 2, 2))
		if after := append(tensortest.Float64s(t, s, x.mean), tensortest.Float64s(t, s,
			x.seen)...); fmt.Sprint(before) == fmt.Sprint(after) {
			t.Errorf("%s: a good batch taught nothing", what)
		}
	}
}

func TestScalerFreezes(t *testing.T) {
	tensortest.CheckLive(t)
	cfg := preprocessors.DefaultScalerConfig()
	cfg.FreezeAfter = 3
	r, err := preprocessors.NewRunningStandardScaler(1, cfg, tensor.CPU)
	must(t, err)
	defer r.Close()
	s := tensor.NoGrad()
	defer s.Close()
	for range 5 {
		r.Update(s, s.Ones(2, 1))
	}
	if n := tensortest.Float64s(t, s, r.Count)[0]; n != 5 { // 1, 3, 5, and no more
		t.Errorf("count %g, want 5", n)
	}
}

func TestScalerErrors(t *testing.T) {
	tensortest.CheckLive(t)
	good := preprocessors.DefaultScalerConfig()
	for name, c := range map[string]struct {
		size int
		cfg  func(c *preprocessors.ScalerConfig)
	}{
		"size":     {0, func(*preprocessors.ScalerConfig) {}},
		"zero":     {1, func(c *preprocessors.ScalerConfig) { *c = preprocessors.ScalerConfig{} }},
		"epsilon":  {1, func(c *preprocessors.ScalerConfig) { c.Epsilon = math.Inf(1) }},
		"clip":     {1, func(c *preprocessors.ScalerConfig) { c.ClipThreshold = math.NaN() }},
		"freezing": {1, func(c *preprocessors.ScalerConfig) { c.FreezeAfter = -1 }},
	} {
		cfg := good
		c.cfg(&cfg)
		if _, err := preprocessors.NewRunningStandardScaler(c.size, cfg, tensor.CPU); err == nil ||
			!strings.HasPrefix(err.Error(), "preprocessors: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	r, err := preprocessors.NewRunningStandardScaler(2, good, tensor.CPU)
	must(t, err)
	defer r.Close()
	s := tensor.NoGrad()
	defer s.Close()
	if r.Update(s, s.Ones(3, 5)); s.Err() == nil {
		t.Error("rows of another width are accepted")
	}
	var none *preprocessors.RunningStandardScaler
	s.Reset()
	x := s.Ones(1, 1)
	none.Update(s, x)
	if none.Forward(s, x) != x || none.Inverse(s, x) != x || s.Err() != nil {
		t.Error("a nil scaler is not the identity")
	}
	none.Close()
}

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
	scaler.Update(s, s.Unsqueeze(heights, 1))
	mean, err := tensor.Item(scaler.Mean)
	fmt.Printf("%.1f %v\n", mean, err)
	// Output: 99.9 <nil>
}

// ForwardColumns is what Forward makes of these columns, and its gradient is 1 / (√variance + epsilon) within the
// limits.
func TestScalerForwardColumns(t *testing.T) {
	tensortest.CheckLive(t)
	cfg := preprocessors.DefaultScalerConfig()
	cfg.ClipThreshold = 2
	r, err := preprocessors.NewRunningStandardScaler(3, cfg, tensor.CPU)
	must(t, err)
	defer r.Close()
	s := tensor.NewScope()
	defer s.Close()
	r.Update(s, tensor.From(s, []float32{1, 2, 3, 4, 5, 9, 0, 1, -7}, 3, 3))
	rows := tensor.From(s, []float32{0.5, 1, 2, -1, 3, 1000}, 2, 3)
	columns := s.RequireGrad(s.Contiguous(s.Detach(s.Narrow(rows, 1, 1, 2))))
	got := r.ForwardColumns(s, columns, 1)
	want := tensortest.Float32s(t, s, s.Contiguous(s.Narrow(r.Forward(s, rows), 1, 1, 2)))
	variance := tensortest.Float64s(t, s, r.Variance)
	grad := tensortest.Float32s(t, s, s.Grad(s.Sum(got), false, columns)[0])
	for i, x := range tensortest.Float32s(t, s, got) {
		slope := 1 / (math.Sqrt(variance[1+i%2]) + cfg.Epsilon)
		if want[i] == 2 {
			slope = 0
		}
		if !near(float64(x), float64(want[i]), 1e-6) || !near(float64(grad[i]), slope, 1e-6) {
			t.Errorf("value %d is %g with slope %g, want %g with %g", i, x, grad[i], want[i], slope)
		}
	}
	if want[3] != 2 {
		t.Errorf("the largest value is %g, want the limit 2", want[3])
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
