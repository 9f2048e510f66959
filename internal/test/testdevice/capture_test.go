package testdevice_test

import (
	"errors"
	"math"
	"slices"
	"strings"
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
	host := tensortest.NoGrad(t, tensor.CPU)
	x, other, unknown := on(t, 0), on(t, 1), generator(t, 0)
	kept := x.Ones(4)
	inner := graph(t)
	for name, test := range map[string]struct {
		mistake func(s *tensor.Scope) error
		word    string
	}{
		"item": {func(s *tensor.Scope) error { _, err := tensor.Item(s.Sum(kept)); return err },
			"read by the host"},
		"unnoticed read": {func(*tensor.Scope) error { _, _ = tensor.Float32s(kept); return nil },
			"read by the host"},
		"write": {func(*tensor.Scope) error { return tensor.Write(kept, []float32{1, 2, 3, 4}) },
			"copy from the host"},
		"move": {func(s *tensor.Scope) error {
			s.To(host.Ones(2), tensor.Float32,
				s.Device())
			return nil
		}, "copy from the host"},
		"unknown generator": {func(s *tensor.Scope) error { s.Rand(unknown, 2); return nil }, "generator"},
		"other device": {func(*tensor.Scope) error { other.Exp(other.Ones(2)); return other.Err() },
			"another device"},
		"capture within": {func(s *tensor.Scope) error {
			return inner.Capture(s, func() error { return nil })
		}, "capture within a capture"},
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

// A capture counts what it records, and a replay is one launch. Operations on other threads meanwhile are none of its
// own.
func TestCaptureCounts(t *testing.T) {
	g, s := graph(t), on(t, 0)
	kept, w := s.Ones(4), s.RequireGrad(s.Ones(4))
	beside := make(chan float32)
	capture := testdevice.During(0, func() {
		err := g.Capture(s, func() error {
			s.Copy(kept, s.Exp(kept))
			s.Backward(s.Mean(s.Mul(w, kept))) // on a thread of the device's own
			go func() {
				other := tensor.NoGrad().On(testdevice.Device(t, 0))
				defer other.Close()
				sum, _ := tensor.Item(other.Sum(other.Ones(5)))
				beside <- float32(sum)
			}()
			if sum := <-beside; sum != 5 {
				t.Errorf("another thread computes %g", sum)
			}
			return nil
		})
		must.Do(t, err)
	})
	if capture.Captured < 6 || capture.Launches != 2 || capture.Reads != 1 || capture.Replays != 0 {
		t.Errorf("a capture is %+v", capture)
	}
	replay := testdevice.During(0, func() {
		must.Do(t, g.Replay())
	})
	if replay.Launches != 1 || replay.Replays != 1 || replay.Captured != 0 || replay.Reads != 0 {
		t.Errorf("a replay is %+v", replay)
	}
	if got := tensortest.Float32s(t, s, s.GradOf(w)); math.Abs(float64(got[0])-math.E/4) > 1e-6 {
		t.Errorf("the gradient is %v", got)
	}
}

// Results hold nothing before the first replay. What is freed in a capture, or afterwards, stays the graph's: others
// may not use it, the graph may, and when it is dropped it is free.
func TestCaptureMemory(t *testing.T) {
	g, s := graph(t), on(t, 0)
	// One tensor is much larger than what libtorch's threads still hold of earlier tests, and free in the meantime.
	const n = 300_000
	kept := s.Ones(n)
	var inner, out, alias tensor.Tensor
	before := testdevice.Count(0).LiveBytes
	err := g.Capture(s, func() error {
		own := tensor.NoGrad().On(s.Device())
		defer own.Close()
		inner = own.AddScalar(kept, 1)
		alias = testdevice.Alias(t, inner)
		out = s.MulScalar(inner, 3)
		return own.Err()
	})
	must.Do(t, err)
	if got := tensortest.Float32s(t, s, out); !math.IsNaN(float64(got[0])) {
		t.Errorf("before a replay the result is %g", got[0])
	}
	refusedRead := func(when string) {
		t.Helper()
		if _, err := tensor.Float32s(alias); err == nil || !strings.Contains(err.Error(), "stale pointer") {
			t.Errorf("%s: what was freed in the capture can be read: %v", when, err)
		}
	}
	refusedRead("after the capture")
	for i := range 2 {
		s.Fill(kept, float64(i))
		must.Do(t, g.Replay())
		if got := tensortest.Float32s(t, s, out); got[0] != float32(3*(i+1)) {
			t.Errorf("replay %d gives %g", i, got[0])
		}
	}
	refusedRead("after a replay")
	early := tensor.NoGrad().On(testdevice.Device(t, 0))
	x, over := early.Ones(10), graph(t)
	must.Do(t, over.Capture(s, func() error { s.Exp(x); return nil }))
	early.Close()
	must.Refuse(t, over.Replay(), "stale pointer")
	must.Do(t, g.Drop())
	if got := tensortest.Float32s(t, s, out); got[0] != 6 {
		t.Errorf("after the graph the result is %g", got[0])
	}
	if bytes := testdevice.Count(0).LiveBytes - before; bytes < n*4/2 || bytes > n*4*3/2 {
		t.Errorf("%d bytes are in use; the result has %d", bytes, n*4)
	}
}
