package tensor_test

import (
	"errors"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

func TestScopeOwns(t *testing.T) {
	before := tensor.Live()
	s := tensor.NewScope()
	a := s.Zeros(2)
	for range 300 { // more than one chunk
		a = s.AddScalar(a, 1)
	}
	if tensor.Live()-before != 301 {
		t.Errorf("%d tensors live; want 301", tensor.Live()-before)
	}
	wantNear(t, "sum", tensortest.Float64s(t, s, a), []float64{300, 300}, 0)
	s.Close()
	s.Close()
	if tensor.Live() != before {
		t.Errorf("%d tensors live after Close", tensor.Live()-before)
	}
	if tensor.Valid(a) {
		t.Error("a tensor is valid after its scope was closed")
	}
}

func TestKeepFree(t *testing.T) {
	before := tensor.Live()
	s, other := tensor.NewScope(), tensor.NewScope()
	a := s.Ones(2)
	kept := s.Keep(a)
	if tensor.Valid(a) || !tensor.Valid(kept) {
		t.Errorf("after Keep: old handle valid %v, new %v", tensor.Valid(a), tensor.Valid(kept))
	}
	wantPanic(t, "used after", func() { s.Neg(a) })
	if s.Keep(tensor.Tensor{}).T != nil || s.Err() != nil {
		t.Error("Keep of no tensor is something")
	}
	s.Close()
	wantNear(t, "kept", tensortest.Float64s(t, other, other.AddScalar(kept, 1)), []float64{2, 2}, 0)
	other.Keep(kept)
	wantError(t, other.Err(), "tensor: Keep", "[2]", "does not belong")
	other.Close()
	tensor.Free(kept, kept, tensor.Tensor{})
	wantPanic(t, "used after", func() { tensor.Shape(kept) })
	if tensor.Live() != before {
		t.Errorf("%d tensors live at the end", tensor.Live()-before)
	}
}

func TestScopeOfTensorThatIsKept(t *testing.T) {
	// What a kept tensor was computed from lives on inside libtorch, though its handles are gone.
	tensortest.CheckLive(t)
	s := tensor.NewScope()
	x := s.Keep(s.RequireGrad(tensor.From(s, []float32{1, 2})))
	loss := s.Keep(s.Sum(s.Square(x)))
	s.Close()
	end := tensor.NewScope()
	defer end.Close()
	end.Backward(loss)
	wantNear(t, "gradient", tensortest.Float64s(t, end, end.GradOf(x)), []float64{2, 4}, 0)
	tensor.Free(x, loss)
}

// TestDifferential uses released operands in every operation that it knows; the others are here.
func TestUseAfterClose(t *testing.T) {
	tensortest.CheckLive(t)
	closed, s := tensor.NewScope(), tensor.NewScope()
	defer s.Close()
	a, dead := s.Ones(2, 2), closed.Ones(2, 2)
	closed.Reset()
	closed.Ones(2, 2) // the old handle does not come to mean this one
	for name, use := range map[string]func(){
		"Cat": func() { s.Cat(0, a, dead) }, "Copy": func() { s.Copy(a, dead) },
		"Backward": func() { s.Backward(dead) }, "Grad": func() { s.Grad(a, false, dead) },
		"RequireGrad": func() { s.RequireGrad(dead) }, "GradOf": func() { s.GradOf(dead) },
		"To":    func() { s.To(dead, tensor.Float32, tensor.CPU) },
		"Keep":  func() { s.Keep(dead) },
		"Read":  func() { _ = tensor.Read(dead, make([]float32, 4)) },
		"Write": func() { _ = tensor.Write(dead, make([]float32, 4)) },
		"Item":  func() { _, _ = tensor.Item(dead) }, "Bytes": func() { _, _ = tensor.Bytes(dead) },
		"Shape": func() { tensor.Shape(dead) }, "Numel": func() { tensor.Numel(dead) },
		"TypeOf":       func() { tensor.TypeOf(dead) },
		"RequiresGrad": func() { tensor.RequiresGrad(dead) }, "DeviceOf": func() { tensor.DeviceOf(dead) },
	} {
		wantPanic(t, "tensor: "+name+": an operand is used after its scope was closed", use)
	}
	wantPanic(t, "tensor: Neg: an operand is the zero Tensor", func() { s.Neg(tensor.Tensor{}) })
	closed.Close()
	wantPanic(t, "the scope is closed", func() { closed.Neg(a) })
	wantPanic(t, "the scope is closed", func() { closed.Ones(1) })
	if err := s.Err(); err != nil {
		t.Errorf("panics left the error %v", err)
	}
	wantNear(t, "a after all that", tensortest.Float64s(t, s, a), []float64{1, 1, 1, 1}, 0)
}

// After an error nothing has an effect, panics on its results or replaces it, until Reset.
func TestStickyError(t *testing.T) {
	tensortest.CheckLive(t)
	s := tensor.NewScope()
	defer s.Close()
	a, resident := s.Ones(2), s.Ones(2)
	bad := s.Add(a, s.Ones(3))
	first := s.Err()
	f := newFlat(t, parameters(t, []string{"w"}, [][]int64{{2}}))
	o, err := tensor.NewOptimizer(f, tensor.OptimizerConfig{}, []tensor.Group{{End: 2, LearningRate: 1}},
		[]tensor.Clip{{End: 2, MaxNorm: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	owned := tensor.Live()
	c := s.Mul(s.Clamp(s.Exp(bad), 0, 1), s.Where(bad, bad, s.MLP(bad, nil)))
	s.Copy(resident, c)
	s.Fill(resident, 9)
	s.IndexCopy(resident, c, c)
	s.Backward(s.RequireGrad(c))
	s.Grad(s.GradOf(c), true, c, c)
	s.GAE(c, c, c, c, c, 1, 1)
	s.ScalerUpdate(c, c, c, c, true, 0)
	s.Multinomial(generator(t, 1), s.To(c, tensor.Bool, tensor.CPU), 1)
	s.Cat(0, s.Sum(c), s.Gather(c, 0, c), tensor.From(s, []float32{1}, 7), s.Arange(2))
	o.ClipGrad(s)
	o.Step(s)
	f.ZeroGrad(s)
	s.Fail(errors.New("later"))
	if kept := s.Keep(a); kept.T != nil {
		t.Error("Keep hands out tensors of a failed scope")
	}
	if first == nil || !errors.Is(s.Err(), first) || tensor.Live() != owned || o.Steps != 0 {
		t.Errorf("after the error %v: %v, %d tensors (%d before), %d steps", first, s.Err(), tensor.Live(), owned,
			o.Steps)
	}
	wantNear(t, "the resident tensor", tensortest.Float64s(t, tensor.NoGrad(), resident), []float64{1, 1}, 0)
	s.Reset()
	if s.Err() != nil || tensor.Valid(a) {
		t.Errorf("after Reset: error %v, the old tensors are valid %v", s.Err(), tensor.Valid(a))
	}
	stop := errors.New("stop")
	s.Fail(stop)
	s.Close()
	if !errors.Is(s.Err(), stop) {
		t.Error("Close forgets the error")
	}
}
