package tensor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/tensor"
)

// scope returns a recording scope that ends with the test, which must leave it without an error and nothing alive.
func scope(t testing.TB) *tensor.Scope {
	t.Helper()
	tensortest.CheckLive(t)
	s := tensor.NewScope()
	t.Cleanup(func() {
		must.Equal(t, "the scope's error", nil, s.Err())
		s.Close()
	})
	return s
}

func near(a, b, tol float64) bool {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return true
	}
	return math.Abs(a-b) <= tol*(1+math.Max(math.Abs(a), math.Abs(b)))
}

// wantNear compares element by element, with the tolerance relative above 1 and absolute below.
func wantNear(t testing.TB, what string, got, want []float64, tol float64) {
	t.Helper()
	must.Is(t, len(got), len(want), "%s: number of values", what)
	for i := range want {
		must.Not(t, !near(got[i], want[i], tol), "%s: element %d is %.9g, want %.9g", what, i, got[i], want[i])
	}
}

// wantTensor compares shape and values.
func wantTensor(t testing.TB, what string, s *tensor.Scope, got tensor.Tensor, shape []int64, want []float64,
	tol float64) {
	t.Helper()
	values := tensortest.Float64s(t, s, got)
	must.Same(t, tensor.Shape(got), shape, "%s: shape", what)
	wantNear(t, what, values, want, tol)
}

// wantPanic checks that f panics with a message that contains part.
func wantPanic(t testing.TB, part string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		r := recover()
		must.Not(t, r == nil || !strings.Contains(fmt.Sprint(r), part), "panic %v; want one that mentions %q", r, part)
	}()
	f()
}

var wantError = must.Refuse

// numbers returns n deterministic normal numbers.
func numbers(seed uint64, n int) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float64, n)
	for i := range out {
		out[i] = r.NormFloat64()
	}
	return out
}

func float32s(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

func apply(f func(float64) float64, x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = f(v)
	}
	return out
}

// onDevices runs a test on the CPU and, where there is one, on a CUDA device, whose kernels are others, or an emulated
// one.
func onDevices(t *testing.T, test func(t *testing.T, d tensor.Device)) {
	devices := []tensor.Device{tensor.CPU}
	if tensor.CUDADevices() > 0 {
		devices = append(devices, tensor.CUDA(0))
	}
	if testdevice.Everywhere() && tensor.CUDADevices() == 0 {
		devices = append(devices, testdevice.Device(t, 0))
	}
	for _, d := range devices {
		t.Run(d.String(), func(t *testing.T) { test(t, d) })
	}
}
