package testdevice_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/tensor"
)

// graph returns an empty graph of device 0 that ends with the test.
func graph(t *testing.T, generators ...*tensor.Generator) *tensor.Graph {
	t.Helper()
	g, err := tensor.NewGraph(testdevice.Device(t, 0), generators...)
	must.Do(t, err)
	t.Cleanup(g.Close)
	return g
}

// generator returns a generator of device i that ends with the test.
func generator(t *testing.T, i int) *tensor.Generator {
	t.Helper()
	g, err := tensor.NewGenerator(5, testdevice.Device(t, i))
	must.Do(t, err)
	t.Cleanup(g.Close)
	return g
}

// What CUDA refuses in a capture is refused, and nothing of that capture is left: memory of before is as it was,
// nothing is recorded, and the device goes on.
func TestCaptureRefuses(t *testing.T) {
	x, other, unknown := on(t, 0), on(t, 1), generator(t, 0)
	kept := x.Ones(4)
	for name, test := range map[string]struct {
		mistake func(s *tensor.Scope) error
		word    string
	}{
		"read": {func(*tensor.Scope) error { _, _ = tensor.Float32s(kept); return nil }, "read by the host"},
		"write": {func(*tensor.Scope) error { return tensor.Write(kept, []float32{1, 2, 3, 4}) },
			"copy from the host"},
		"unknown generator": {func(s *tensor.Scope) error { s.Rand(unknown, 2); return nil }, "generator"},
		"other device": {func(*tensor.Scope) error { other.Exp(other.Ones(2)); return other.Err() },
			"another device"},
		"error of f": {func(*tensor.Scope) error { return errors.New("an error of f") }, "an error of f"},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := graph(t), on(t, 0)
			err := g.Capture(s, func() error {
				s.Fill(kept, 7)
				return test.mistake(s)
			})
			must.Refuse(t, err, test.word)
			if err := g.Replay(); err == nil {
				t.Error("it can be replayed")
			}
			s.Reset()
			other.Reset()
			if got := tensortest.Float32s(t, s, s.MulScalar(kept, 2)); !slices.Equal(got, []float32{2, 2, 2, 2}) {
				t.Errorf("afterwards the memory has %v", got)
			}
		})
	}
}

// Results hold nothing before the first replay. What is freed in a capture stays the graph's: others may not use it,
// the graph may, and when it is dropped it is free. Fresh memory is NaN. A graph that reads freed memory is refused.
func TestCaptureMemory(t *testing.T) {
	g, s := graph(t), on(t, 0)
	// One tensor is much larger than what libtorch's threads still hold of earlier tests, and free in the meantime.
	const n = 300_000
	kept := s.Ones(n)
	var out, alias tensor.Tensor
	before := testdevice.Count(0).LiveBytes
	must.Do(t, g.Capture(s, func() error {
		own := tensor.NoGrad().On(s.Device())
		defer own.Close()
		inner := own.AddScalar(kept, 1)
		alias = testdevice.Alias(t, inner)
		out = s.MulScalar(inner, 3)
		return own.Err()
	}))
	if x := tensortest.Float32s(t, s, testdevice.Fresh(t, 0, 100)); !math.IsNaN(float64(x[99])) {
		t.Errorf("fresh memory has %g", x[99])
	}
	result := func() float32 { return tensortest.Float32s(t, s, out)[0] }
	if x := result(); !math.IsNaN(float64(x)) {
		t.Errorf("before a replay the result is %g", x)
	}
	for i := range 2 {
		must.Refused(tensor.Float32s(alias))(t, "stale pointer")
		s.Fill(kept, float64(i))
		must.Do(t, g.Replay())
		if x := result(); x != float32(3*(i+1)) {
			t.Errorf("replay %d gives %g", i, x)
		}
	}
	early := tensor.NoGrad().On(testdevice.Device(t, 0))
	x, over := early.Ones(10), graph(t)
	must.Do(t, over.Capture(s, func() error { s.Exp(x); return nil }))
	early.Close()
	must.Refuse(t, over.Replay(), "stale pointer")
	must.Do(t, g.Drop())
	if x := result(); x != 6 {
		t.Errorf("after the graph the result is %g", x)
	}
	if bytes := testdevice.Count(0).LiveBytes - before; bytes < n*4/2 || bytes > n*4*3/2 {
		t.Errorf("%d bytes are in use; the result has %d", bytes, n*4)
	}
}
