package simulate

import (
	"fmt"
	"testing"
)

// TestSuitsIsTheSameEveryTime: sums of floating-point numbers depend on their order.
func TestSuitsIsTheSameEveryTime(t *testing.T) {
	m := Model{Landscapes: make(map[string]Landscape)}
	values := make(map[string]float64)
	for i := range 12 {
		key := fmt.Sprint("key", i)
		m.Landscapes[key] = Landscape{Optimum: 0.37 * float64(i+1), Width: 3}
		values[key] = 0.1 + 0.77*float64(i)
	}
	m = m.withDefaults(1000, false)
	want := m.suits(values, 10)
	if want < 0.01 {
		t.Fatalf("%v: this test shows little", want)
	}
	for range 1000 {
		if got := m.suits(values, 10); got != want {
			t.Fatalf("%v, then %v", want, got)
		}
	}
}
