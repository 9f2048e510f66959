package tensor_test

import (
	"runtime"
	"testing"

	"github.com/wangkuiyi/gotorch"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

func TestGotorchTensorsIn(t *testing.T) {
	s := scope(t)
	a, b := gotorch.RandN([]int64{3, 4}, false), gotorch.Full([]int64{4}, 2, false)
	x := tensortest.Float64s(t, s, a)
	want := apply(func(x float64) float64 { return 2 * x }, x)
	wantTensor(t, "Mul of gotorch's tensors", s, s.Mul(a, b), []int64{3, 4}, want, 1e-6)
	owned := s.Len()
	if _, err := tensor.View[float32](a); err != nil {
		t.Error(err)
	}
	if tensor.TypeOf(a) != tensor.Float32 || tensor.Numel(a) != 12 || s.Len() != owned {
		t.Error("facts about a gotorch tensor are wrong, or cost a tensor")
	}

	// Autograd across both.
	p := gotorch.RandN([]int64{4}, true)
	s.Backward(s.Sum(s.Mul(p, b)))
	wantNear(t, "gradient", tensortest.Float64s(t, s, p.Grad()), []float64{2, 2, 2, 2}, 0)
	loss := gotorch.Sum(s.Square(p))
	loss.Backward()
	want = apply(func(x float64) float64 { return 2 + 2*x }, tensortest.Float64s(t, s, p))
	wantNear(t, "gradient", tensortest.Float64s(t, s, p.Grad()), want, 1e-6)
}

func TestTensorsIntoGotorch(t *testing.T) {
	s := scope(t)
	a, b := tensor.From(s, []float32{1, 2, 3, 4}, 2, 2), s.Ones(2, 2)
	wantNear(t, "gotorch.Add", tensortest.Float64s(t, s, gotorch.Add(a, b, 2)), []float64{3, 4, 5, 6}, 0)
	wantNear(t, "gotorch.MM", tensortest.Float64s(t, s, gotorch.MM(a, b)), []float64{3, 3, 7, 7}, 0)
	wantNear(t, "method of gotorch", tensortest.Float64s(t, s,
		a.Sum(map[string]interface{}{"dim": 0, "keepDim": false})), []float64{4, 6}, 0)
	a.AddI(b, 1)
	wantNear(t, "in place by gotorch", tensortest.Float64s(t, s, a), []float64{2, 3, 4, 5}, 0)
	if got := gotorch.Mean(a).Item(); got != float32(3.5) {
		t.Errorf("the mean is %v, want 3.5", got)
	}
	if d := a.Dim(); d != 2 {
		t.Errorf("gotorch sees %d dimensions", d)
	}
}

// What gotorch makes of a scope's tensor is gotorch's, and lives on.
func TestGotorchResultOutlivesScope(t *testing.T) {
	tensortest.CheckLive(t)
	s := tensor.NewScope()
	sum := gotorch.Add(s.Ones(2), s.Ones(2), 1)
	s.Close()
	wantNear(t, "sum", tensortest.Float64s(t, tensor.NoGrad(), sum), []float64{2, 2}, 0)
}

// gotorch's own functions meet a released tensor as one that is undefined: they panic with libtorch's message.
func TestGotorchAfterClose(t *testing.T) {
	tensortest.CheckLive(t)
	s := tensor.NewScope()
	dead, alive := s.Ones(2, 2), gotorch.Ones([]int64{2, 2}, false)
	s.Close()
	for name, use := range map[string]func(){
		"Add":       func() { gotorch.Add(alive, dead, 1) },
		"MM":        func() { gotorch.MM(dead, alive) },
		"Mean":      func() { gotorch.Mean(dead) },
		"Transpose": func() { gotorch.Transpose(dead, 0, 1) },
		"Relu":      func() { gotorch.Relu(dead) },
		"View":      func() { gotorch.View(dead, 4) },
	} {
		t.Run(name, func(t *testing.T) { wantPanic(t, "", use) })
	}
}

// An undefined tensor, such as the gradient of what has none, is an error and no crash.
func TestUndefined(t *testing.T) {
	tensortest.CheckLive(t)
	a := gotorch.Ones([]int64{2}, true)
	none := a.Grad()
	if tensor.Numel(none) != 0 || len(tensor.Shape(none)) != 0 || tensor.RequiresGrad(none) ||
		tensor.DeviceOf(none) != tensor.CPU {
		t.Error("an undefined tensor has facts")
	}
	b := tensor.NewScope()
	defer b.Close()
	b.Add(a, none)
	wantError(t, b.Err(), "tensor: Add [2], []: ")
	b.Reset()
	b.Neg(none)
	wantError(t, b.Err(), "tensor: Neg []: ")
	b.Reset()
	b.MulScalar(none, 2)
	wantError(t, b.Err(), "tensor: MulScalar []: ")
	_, err := tensor.View[float32](none)
	wantError(t, err, "tensor: View")
	wantError(t, tensor.Read(none, make([]float32, 1)), "tensor: Read")
	_, err = tensor.Item(none)
	wantError(t, err, "tensor: Item")
	_, err = tensor.NewFlat([]tensor.Parameter{{Name: "a", Tensor: none}}, tensor.CPU)
	wantError(t, err, "tensor: NewFlat", `"a"`)
}

// Operands that nobody but gotorch's finalizers owns live until the operation has read them.
func TestGotorchFinalizers(t *testing.T) {
	tensortest.CheckLive(t)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	s := tensor.NoGrad()
	defer s.Close()
	for range 200 {
		x := s.Linear(gotorch.Full([]int64{4, 4}, 2, false), gotorch.Full([]int64{4, 4}, 3, false),
			gotorch.Full([]int64{4}, 1, false))
		if got := tensortest.Float64s(t, s, s.Sum(x)); got[0] != 16*25 {
			t.Fatalf("the sum is %v, want 400", got)
		}
		if n := tensor.Numel(gotorch.Full([]int64{4, 4}, 2, false)); n != 16 {
			t.Fatalf("%d elements, want 16", n)
		}
		s.Reset()
	}
	close(stop)
	<-done
}
