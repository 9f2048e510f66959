// Package tensortest is what tests of packages that compute on tensors share.
package tensortest

import (
	"testing"

	"github.com/gorl-dev/gorl/tensor"
)

// CheckLive fails the test if, after all that it cleans up, more tensors live than now.
func CheckLive(t testing.TB) {
	t.Helper()
	before := tensor.Live()
	t.Cleanup(func() {
		if after := tensor.Live(); after != before {
			t.Errorf("%d tensors are alive after the test, %d were before it", after, before)
		}
	})
}

// Float32s returns the elements of x, and stops the test where s has failed before.
func Float32s(t testing.TB, s *tensor.Scope, x tensor.Tensor) []float32 {
	t.Helper()
	return elements(t, s, x, tensor.Float32s)
}

// Float64s is [Float32s] in float64.
func Float64s(t testing.TB, s *tensor.Scope, x tensor.Tensor) []float64 {
	t.Helper()
	return elements(t, s, x, tensor.Float64s)
}

func elements[T any](t testing.TB, s *tensor.Scope, x tensor.Tensor, of func(tensor.Tensor) ([]T, error)) []T {
	t.Helper()
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	v, err := of(x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
