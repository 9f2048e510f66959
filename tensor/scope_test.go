package tensor_test

import (
	"errors"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

func TestScopeOwns(t *testing.T) {
	before := tensor.Live()
	s, other := tensor.NewScope(), tensor.NewScope()
	a := s.Zeros(2)
	for range 300 { // more than one chunk
		a = s.AddScalar(a, 1)
	}
	must.Is(t, tensor.Live()-before, 301, "live tensors")
	kept := s.Keep(a)
	must.Not(t, tensor.Valid(a) || !tensor.Valid(kept), "Keep does not replace the handle")
	wantPanic(t, "used after", func() { s.Neg(a) })
	must.Not(t, s.Keep(tensor.Tensor{}).T != nil || s.Err() != nil, "Keep of no tensor is something")
	s.Close()
	s.Close()
	wantNear(t, "kept", tensortest.Float64s(t, other, other.AddScalar(kept, 1)), []float64{301, 301}, 0)
	other.Keep(kept)
	wantError(t, other.Err(), "tensor: Keep", "[2]", "does not belong")
	other.Close()
	tensor.Free(kept, kept, tensor.Tensor{})
	wantPanic(t, "used after", func() { tensor.Shape(kept) })
	must.Is(t, tensor.Live(), before, "live tensors at the end")
}

// What a kept tensor was computed from lives on inside libtorch, though its handles are gone.
func TestScopeOfTensorThatIsKept(t *testing.T) {
	tensortest.CheckLive(t)
	s, end := tensor.NewScope(), tensortest.WithGrad(t, tensor.CPU)
	x := s.Keep(s.RequireGrad(tensor.From(s, []float32{1, 2})))
	loss := s.Keep(s.Sum(s.Square(x)))
	s.Close()
	end.Backward(loss)
	wantNear(t, "gradient", tensortest.Float64s(t, end, end.GradOf(x)), []float64{2, 4}, 0)
	tensor.Free(x, loss)
}

// TestDifferential uses released operands in every operation that it knows; the others are here.
func TestUseAfterClose(t *testing.T) {
	tensortest.CheckLive(t)
	closed, s := tensor.NewScope(), tensortest.WithGrad(t, tensor.CPU)
	a, dead := s.Ones(2, 2), closed.Ones(2, 2)
	closed.Reset()
	closed.Ones(2, 2) // the old handle does not come to mean this one
	for name, use := range map[string]func(){
		"Cat": func() { s.Cat(0, a, dead) }, "Grad": func() { s.Grad(a, false, dead) },
		"Read":  func() { _ = tensor.Read(dead, make([]float32, 4)) },
		"Shape": func() { tensor.Shape(dead) },
	} {
		wantPanic(t, "tensor: "+name+": an operand is used after its scope was closed", use)
	}
	wantPanic(t, "tensor: Neg: an operand is the zero Tensor", func() { s.Neg(tensor.Tensor{}) })
	closed.Close()
	wantPanic(t, "the scope is closed", func() { closed.Ones(1) })
	must.Do(t, s.Err())
	wantNear(t, "a after all that", tensortest.Float64s(t, s, a), []float64{1, 1, 1, 1}, 0)
}

// After an error nothing has an effect, panics on its results or replaces it, until Reset.
func TestStickyError(t *testing.T) {
	tensortest.CheckLive(t)
	s := tensortest.NoGrad(t, tensor.CPU)
	a, resident := s.Ones(2), s.Ones(2)
	bad := s.Add(a, s.Ones(3))
	first := s.Err()
	f := newFlat(t, parameters(t, []string{"w"}, [][]int64{{2}}))
	o := newOptimizer(t, f, tensor.OptimizerConfig{}, []tensor.Group{{End: 2, LearningRate: 1}},
		tensor.Clip{End: 2, MaxNorm: 1})
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
	must.Is(t, s.Keep(a).T, nil, "Keep in a failed scope")
	must.Not(t, first == nil || !errors.Is(s.Err(), first) || tensor.Live() != owned || o.Steps != 0,
		"after the error %v: %v, %d tensors (%d before), %d steps", first, s.Err(), tensor.Live(), owned, o.Steps)
	wantNear(t, "the resident tensor", tensortest.Float64s(t, tensor.NoGrad(), resident), []float64{1, 1}, 0)
	s.Reset()
	must.Not(t, s.Err() != nil || tensor.Valid(a), "after Reset: error %v, the old tensors are valid", s.Err())
	stop := errors.New("stop")
	s.Fail(stop)
	s.Close()
	must.Is(t, s.Err(), stop, "error after Close")
}
