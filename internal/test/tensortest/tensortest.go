// Package tensortest is what tests of packages that compute on tensors share.
package tensortest

import (
	"fmt"
	"os"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tensor"
)

// Opened returns a function that returns what a constructor has made, and closes it with the test:
//
//	net := tensortest.Opened[*models.Net](t)(models.NewMLP(cfg, 1))
func Opened[T interface{ Close() }](t testing.TB) func(x T, err error) T {
	return func(x T, err error) T {
		t.Helper()
		must.Do(t, err)
		t.Cleanup(x.Close)
		return x
	}
}

// NoGrad returns a scope on a device without gradients that is closed with the test, and WithGrad one with gradients.
func NoGrad(t testing.TB, d tensor.Device) *tensor.Scope { return closed(t, tensor.NoGrad().On(d)) }

// WithGrad is described at [NoGrad].
func WithGrad(t testing.TB, d tensor.Device) *tensor.Scope { return closed(t, tensor.NewScope().On(d)) }

func closed(t testing.TB, s *tensor.Scope) *tensor.Scope {
	t.Cleanup(s.Close)
	return s
}

// Run runs the tests of a package, and fails if tensors are alive after them. TestMain calls it.
func Run(m *testing.M) (code int) {
	code = m.Run()
	if n := tensor.Live(); code == 0 && n != 0 {
		fmt.Fprintf(os.Stderr, "%d tensors are alive after the tests; -run finds the test that leaves them\n", n)
		return 1
	}
	return code
}

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
	must.Do(t, s.Err())
	v, err := of(x)
	must.Do(t, err)
	return v
}
