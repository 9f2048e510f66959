package compare

import "testing"

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{4}, 4}, {[]float64{3, 1, 9}, 3}, {[]float64{5, 1, 4, 2}, 2}, {[]float64{3, 9, 1, 7, 5}, 5}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("the median of %v is %g, want %g", c.values, got, c.want)
		}
	}
}
