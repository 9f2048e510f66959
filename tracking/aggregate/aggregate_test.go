package aggregate_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tracking/aggregate"
)

var statistics = map[string]aggregate.Statistic{"mean": aggregate.Mean, "iqm": aggregate.IQM}

func ExampleOf() {
	returns := []float64{212, 236, 241, 228, 92} // of five seeds
	e := aggregate.Of(returns, aggregate.IQM)
	fmt.Printf("%.1f, 95 %% from %.1f to %.1f\n", e.Value, e.Low, e.High)
	// Output: 225.3, 95 % from 137.3 to 239.3
}

// Estimates and curves are those of NumPy and SciPy (testdata/golden.py).
func TestGolden(t *testing.T) {
	text := must.Read(t, "testdata/golden.json")
	var golden struct {
		Cases     []map[string][]float64
		X, Y      [][]float64
		Mean, IQM [][]float64
	}
	must.Do(t, json.Unmarshal(text, &golden))
	near := cmpopts.EquateApprox(1e-12, 1e-12)
	for name, statistic := range statistics {
		for _, c := range golden.Cases {
			e := aggregate.Of(c["values"], statistic)
			must.Equal(t, fmt.Sprint(name, " of ", c["values"]), c[name], []float64{e.Value, e.Low, e.High}, near)
		}
		c := aggregate.Curves(golden.X, golden.Y, statistic)
		want := map[string][][]float64{"mean": golden.Mean, "iqm": golden.IQM}[name]
		must.Equal(t, name, want, [][]float64{c.X, c.Y, c.Low, c.High}, near)
	}
}

// A curve ends with the run that ends first, has at most 500 points, and has gaps where a run has NaN.
func TestCurves(t *testing.T) {
	x, y := make([][]float64, 2), make([][]float64, 2)
	for i, n := range []int{3000, 2001} {
		for k := range n {
			x[i], y[i] = append(x[i], float64(k)), append(y[i], float64(k*(1+2*i)))
		}
	}
	for k := range 10 {
		y[1][1000+k] = math.NaN()
	}
	c := aggregate.Curves(x, y, aggregate.Mean)
	gaps := 0
	for k, at := range c.X {
		if math.IsNaN(c.Y[k]) {
			gaps++
		} else if math.Abs(c.Y[k]-2*at) > 1e-9 || c.Low[k] != at && math.Abs(c.Low[k]-at) > 1e-9 {
			t.Fatalf("at %v it is %v, from %v to %v", at, c.Y[k], c.Low[k], c.High[k])
		}
	}
	if n := len(c.X); n != 500 || c.X[0] != 0 || c.X[n-1] != 2000 || gaps == 0 || gaps > 3 {
		t.Errorf("%d points from %v to %v, %d gaps", n, c.X[0], c.X[n-1], gaps)
	}
	beyond := []float64{5000, 6000}
	c = aggregate.Curves([][]float64{x[0], beyond}, [][]float64{y[0], beyond}, aggregate.Mean)
	must.Equal(t, "points without a common range", 0, len(c.X))
	if e := aggregate.Of([]float64{3}, aggregate.IQM); e.Value != 3 || !math.IsNaN(e.Low) {
		t.Errorf("one seed gives %+v", e)
	}
}
