package tensor_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// What the engine cannot record is done all the same, and there is nothing to replay.
func TestGraphOnCPUDeclines(t *testing.T) {
	skipWithoutEngine(t)
	common := tensortest.NoGrad(t, tensor.CPU)
	x := tensor.From(common, []float32{1, 2, 3})
	for name, passage := range map[string]func(s *tensor.Scope) tensor.Tensor{
		"gradients by libtorch": func(s *tensor.Scope) tensor.Tensor {
			w := s.RequireGrad(s.Ones(3))
			return s.Grad(s.Sum(s.Mul(w, x)), false, w)[0]
		},
		"a number read by the host": func(s *tensor.Scope) tensor.Tensor {
			y, err := tensor.Float32s(s.MulScalar(x, 1))
			s.Fail(err)
			return tensor.From(s, y)
		},
		"too much memory": func(s *tensor.Scope) tensor.Tensor {
			for range 5 {
				s.AddScalar(s.Zeros(1<<18), 1)
			}
			return s.MulScalar(x, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := newGraph(t, tensor.CPU), tensortest.WithGrad(t, tensor.CPU)
			var out tensor.Tensor
			must.Do(t, g.Capture(s, func() error { out = passage(s); return nil }))
			wantNear(t, "the result", tensortest.Float64s(t, s, out), []float64{1, 2, 3}, 0)
			must.Not(t, g.Recorded() || g.Replay() == nil, "it is recorded")
			must.Do(t, g.Capture(s, func() error { out = s.AddScalar(x, 1); return nil }))
			must.Is(t, g.Recorded(), true, "the next one is recorded")
		})
	}
	g, s := newGraph(t, tensor.CPU), tensortest.WithGrad(t, tensor.CPU)
	wrong := errors.New("wrong")
	err := g.Capture(s, func() error { s.AddScalar(x, 1); return wrong })
	must.Not(t, !errors.Is(err, wrong) || g.Recorded(), "a passage with an error is recorded: %v", err)
	other := newGraph(t, tensor.CPU)
	err = g.Capture(s, func() error { return other.Capture(s, func() error { return nil }) })
	wantError(t, err, "records already")
}

// skipWithoutEngine skips a test of what gorl's engine records.
func skipWithoutEngine(t *testing.T) {
	t.Helper()
	if os.Getenv("GORL_ENGINE") == "torch" {
		t.Skip("without gorl's engine nothing is recorded on the CPU")
	}
}

// newGraph returns a graph that ends with the test.
func newGraph(t *testing.T, d tensor.Device, generators ...*tensor.Generator) *tensor.Graph {
	t.Helper()
	return tensortest.Opened[*tensor.Graph](t)(tensor.NewGraph(d, generators...))
}

// onGraphs runs a test on every device, on a stream of its own where a device has streams.
func onGraphs(t *testing.T, test func(t *testing.T, d tensor.Device)) {
	onDevices(t, func(t *testing.T, d tensor.Device) {
		if d.IsCPU() {
			skipWithoutEngine(t)
		}
		tensortest.CheckLive(t)
		stream := tensortest.Opened[*tensor.Stream](t)(tensor.NewStream(d))
		must.Do(t, stream.Do(func() error { test(t, d); return nil }))
	})
}

// A replay does what was captured, with what its operands hold then: the same bits as without a graph, gradients and
// random numbers included. A capture on the CPU does what it records; on other devices it does nothing.
func TestGraph(t *testing.T) { onGraphs(t, testGraph) }

func testGraph(t *testing.T, d tensor.Device) {
	drawn, alone := generatorOn(t, d, 3), generatorOn(t, d, 3)
	common, s, eager := tensortest.NoGrad(t, d), tensortest.WithGrad(t, d), tensortest.WithGrad(t, d)
	x := tensor.From(common, []float32{1, 2, 3})
	var flats [2]*tensor.Flat
	var sums, weights [2]tensor.Tensor
	for i := range flats {
		p := parameters(t, []string{"w"}, [][]int64{{3}})
		flats[i], sums[i], weights[i] = newFlatOn(t, d, p), common.Zeros(3), p[0].Tensor
	}
	passage := func(s *tensor.Scope, i int, from *tensor.Generator) tensor.Tensor {
		w := weights[i]
		s.Backward(s.Sum(s.Mul(s.Square(w), x)))                           // adds 2·w·x to the gradient
		s.AddTo(sums[i], s.IndexSelect(x, 0, s.RandInt(from, 0, 3, 3)), 2) // by libtorch, but without a gradient
		return s.Add(s.Exp(s.Detach(w)), s.Rand(from, 3))
	}
	g := newGraph(t, d, drawn)
	must.Not(t, g.Replay() == nil || g.Recorded(), "an empty graph is replayed")
	var out tensor.Tensor
	f := func() error { out = passage(s, 0, drawn); return nil }
	for i := range 5 {
		for _, f := range flats {
			must.Do(t, tensor.Write(f.Values, []float32{float32(i), 0.5, -1}))
		}
		run := g.Replay
		switch {
		case i == 0:
			run = func() error { return g.WarmUp(s, f) }
		case i == 1 && d.IsCPU():
			run = func() error { return g.Capture(s, f) }
		case i == 1:
			before := tensortest.Float32s(t, common, sums[0])
			must.Do(t, g.Capture(s, f))
			must.Same(t, tensortest.Float32s(t, common, sums[0]), before, "sums after a capture")
		}
		must.Do(t, run())
		must.Is(t, g.Recorded(), i > 0, "run %d is recorded", i)
		want := passage(eager, 1, alone)
		for what, pair := range map[string][2]tensor.Tensor{"result": {out, want}, "sums": {sums[0], sums[1]},
			"gradient": {flats[0].Grads, flats[1].Grads}} {
			must.Same(t, tensortest.Float32s(t, common, pair[0]), tensortest.Float32s(t, common, pair[1]),
				"run %d: the %s", i, what)
		}
	}
	// The graph keeps the memory of its results when their scope closes: new tensors do not get it.
	s.Close()
	others := make([]tensor.Tensor, 200)
	for i := range others {
		others[i] = common.Full(tensor.Float32, float64(i), 3)
	}
	must.Do(t, g.Replay())
	for i, o := range others {
		wantNear(t, "another tensor", tensortest.Float64s(t, common, o), slices.Repeat([]float64{float64(i)}, 3), 0)
	}
	// Another capture takes the place of the first one.
	err := g.Capture(eager, func() error { out = eager.MulScalar(x, 5); return nil })
	must.Do(t, errors.Join(err, g.Replay()))
	wantNear(t, "another capture", tensortest.Float64s(t, common, out), []float64{5, 10, 15}, 0)
	must.Do(t, g.Drop())
	must.Not(t, g.Replay() == nil, "what was dropped is replayed")
	g.Close() // and once more at the test's end
}
