package tensor_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wangkuiyi/gotorch"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// gotorch's tensors are operands, and gotorch computes with a scope's tensors; gradients flow through both.
func TestGotorch(t *testing.T) {
	s := scope(t)
	a, b := gotorch.Full([]int64{2, 2}, 3, false), tensor.From(s, []float32{1, 2, 3, 4}, 2, 2)
	must.Is(t, len(must.Get(tensor.Bytes(a))(t)), 16, "bytes of a gotorch tensor")
	wantTensor(t, "Mul", s, s.Mul(a, b), []int64{2, 2}, []float64{3, 6, 9, 12}, 0)
	wantNear(t, "gotorch.MM", tensortest.Float64s(t, s, gotorch.MM(a, b)), []float64{12, 18, 12, 18}, 0)
	b.AddI(a, 1)
	wantNear(t, "in place by gotorch", tensortest.Float64s(t, s, b), []float64{4, 5, 6, 7}, 0)

	p := gotorch.Full([]int64{2}, 3, true)
	f := newFlat(t, []tensor.Parameter{{Name: "p", Tensor: p}})
	s.Backward(s.Sum(s.Mul(p, a)))
	loss := gotorch.Sum(s.Square(p))
	loss.Backward()
	wantNear(t, "gradients", tensortest.Float64s(t, s, f.Grads), []float64{12, 12}, 0)
	s.Fill(f.Values, 2)
	must.Is[any](t, gotorch.Mean(p).Item(), float32(2), "gotorch's mean of a flat parameter")
}

// A result of gotorch outlives the operands' scope. gotorch meets a released tensor as an undefined one and panics. An
// undefined tensor, such as a gradient that does not exist, is an error and no crash.
func TestGotorchAfterClose(t *testing.T) {
	tensortest.CheckLive(t)
	s := tensor.NewScope()
	dead, alive := s.Ones(2, 2), gotorch.Ones([]int64{2, 2}, true)
	sum := gotorch.Add(dead, alive, 1)
	s.Close()
	b := tensortest.WithGrad(t, tensor.CPU)
	wantNear(t, "sum", tensortest.Float64s(t, b, sum), []float64{2, 2, 2, 2}, 0)
	wantPanic(t, "", func() { gotorch.MM(dead, alive) })
	none := alive.Grad()
	must.Not(t, tensor.Numel(none) != 0 || len(tensor.Shape(none)) != 0 || tensor.RequiresGrad(none),
		"an undefined tensor has facts")
	b.Add(alive, none)
	wantError(t, b.Err(), "tensor: Add [2 2], []: ")
	wantError(t, tensor.Read(none, make([]float32, 1)), "tensor: Read")
	must.Refused(tensor.NewFlat([]tensor.Parameter{{Name: "a", Tensor: none}}, tensor.CPU))(t, "NewFlat", `"a"`)
}

// Operands that nobody but gotorch's finalizers owns live until the operation has read them.
func TestGotorchFinalizers(t *testing.T) {
	tensortest.CheckLive(t)
	var stop atomic.Bool
	var collector sync.WaitGroup
	collector.Go(func() {
		for !stop.Load() {
			runtime.GC()
		}
	})
	s := tensortest.NoGrad(t, tensor.CPU)
	for range 200 {
		x := s.Linear(gotorch.Full([]int64{4, 4}, 2, false), gotorch.Full([]int64{4, 4}, 3, false),
			gotorch.Full([]int64{4}, 1, false))
		must.Is(t, tensortest.Float64s(t, s, s.Sum(x))[0], 16*25, "sum")
		must.Is(t, tensor.Numel(gotorch.Full([]int64{4, 4}, 2, false)), 16, "elements")
		s.Reset()
	}
	stop.Store(true)
	collector.Wait()
}
