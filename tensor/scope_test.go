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
	if s.Len() != 301 || tensor.Live()-before != 301 {
		t.Errorf("the scope owns %d tensors, %d live; want 301", s.Len(), tensor.Live()-before)
	}
	wantNear(t, "sum", tensortest.Float64s(t, s, a), []float64{300, 300}, 0)
	s.Close()
	s.Close()
	if s.Len() != 0 || tensor.Live() != before {
		t.Errorf("after Close the scope owns %d tensors, %d live", s.Len(), tensor.Live()-before)
	}
	if tensor.Valid(a) {
		t.Error("a tensor is valid after its scope was closed")
	}
}

func TestReset(t *testing.T) {
	tensortest.CheckLive(t)
	s := tensor.NewScope()
	defer s.Close()
	old := s.Ones(2)
	s.Add(old, s.Ones(3))
	if s.Err() == nil {
		t.Fatal("shapes 2 and 3 add")
	}
	s.Reset()
	if s.Err() != nil || s.Len() != 0 {
		t.Errorf("after Reset: error %v, %d tensors", s.Err(), s.Len())
	}
	a := s.Ones(2)
	wantNear(t, "after Reset", tensortest.Float64s(t, s, s.Add(a, a)), []float64{2, 2}, 0)
	// The handle from before the Reset does not come to mean a tensor from after it.
	wantPanic(t, "used after its scope was closed", func() { s.Add(old, a) })
}

func TestUseAfterClose(t *testing.T) {
	tensortest.CheckLive(t)
	closed := tensor.NewScope()
	dead := closed.Ones(2, 2)
	closed.Close()
	s := tensor.NewScope()
	defer s.Close()
	a := s.Ones(2, 2)
	flags := s.GtScalar(a, 0)
	index := tensor.From(s, []int64{0})
	statistics := s.Full(tensor.Float64, 1, 2)
	const message = "used after its scope was closed"
	for name, use := range map[string]func(){
		"Neg": func() { s.Neg(dead) }, "Add": func() { s.Add(a, dead) }, "AddScalar": func() { s.AddScalar(dead, 1) },
		"Clamp": func() { s.Clamp(dead, 0, 1) }, "Where": func() { s.Where(flags, a, dead) },
		"Sum": func() { s.Sum(dead) }, "Softmax": func() { s.Softmax(dead, 0) }, "Cat": func() { s.Cat(0, a, dead) },
		"Narrow": func() { s.Narrow(dead, 0, 0, 1) }, "Select": func() { s.Select(dead, 0, 0) },
		"IndexSelect": func() { s.IndexSelect(dead, 0, index) }, "Gather": func() { s.Gather(a, 0, dead) },
		"Reshape": func() { s.Reshape(dead, 4) }, "Expand": func() { s.Expand(dead, 2, 2) },
		"Transpose": func() { s.Transpose(dead, 0, 1) },
		"Linear":    func() { s.Linear(a, dead, tensor.Tensor{}) },
		"MLP": func() {
			s.MLP(a, &tensor.Layers{Weights: []tensor.Tensor{dead}, Biases: make([]tensor.Tensor, 1),
				Activations: make([]tensor.Activation, 1)})
		},
		"GaussianLogProb": func() { s.GaussianLogProb(a, a, dead) }, "GAE": func() { s.GAE(a, a, a, a, dead, 1, 1) },
		"ScalerUpdate":  func() { s.ScalerUpdate(a, statistics, statistics, dead, false, 0) },
		"ScalerForward": func() { s.ScalerForward(dead, statistics, statistics, 1, 1) },
		"ScalerInverse": func() { s.ScalerInverse(dead, statistics, statistics, 1) },
		"Copy":          func() { s.Copy(a, dead) }, "AddTo": func() { s.AddTo(dead, a, 1) },
		"Scale": func() { s.Scale(dead, 1) },
		"Fill":  func() { s.Fill(dead, 1) }, "IndexCopy": func() { s.IndexCopy(a, index, dead) },
		"Backward": func() { s.Backward(dead) }, "Grad": func() { s.Grad(a, false, dead) },
		"RequireGrad": func() { s.RequireGrad(dead) },
		"GradOf":      func() { s.GradOf(dead) }, "To": func() { s.To(dead, tensor.Float32, tensor.CPU) },
		"Keep": func() { s.Keep(dead) }, "Adopt": func() { s.Adopt(dead) },
		"Read":  func() { _ = tensor.Read(dead, make([]float32, 4)) },
		"Write": func() { _ = tensor.Write(dead, make([]float32, 4)) },
		"Item":  func() { _, _ = tensor.Item(dead) }, "View": func() { _, _ = tensor.View[float32](dead) },
		"Shape": func() { tensor.Shape(dead) }, "Numel": func() { tensor.Numel(dead) },
		"TypeOf":       func() { tensor.TypeOf(dead) },
		"RequiresGrad": func() { tensor.RequiresGrad(dead) }, "DeviceOf": func() { tensor.DeviceOf(dead) },
	} {
		wantPanic(t, "tensor: "+name+": an operand is "+message, use)
	}
	wantPanic(t, "tensor: Neg: an operand is the zero Tensor", func() { s.Neg(tensor.Tensor{}) })
	wantPanic(t, "the scope is closed", func() { closed.Neg(a) })
	wantPanic(t, "the scope is closed", func() { closed.Ones(1) })
	if err := s.Err(); err != nil {
		t.Errorf("panics left the error %v", err)
	}
	wantNear(t, "a after all that", tensortest.Float64s(t, s, a), []float64{1, 1, 1, 1}, 0)
}

func TestErrors(t *testing.T) {
	tensortest.CheckLive(t)
	tests := map[string]struct {
		run   func(s *tensor.Scope)
		parts []string
	}{
		"Add": {func(s *tensor.Scope) { s.Add(s.Ones(2, 3), s.Ones(4)) }, []string{"tensor: Add [2 3], [4]: "}},
		"MatMul": {func(s *tensor.Scope) { s.MatMul(s.Ones(2, 3), s.Ones(2, 3)) },
			[]string{"tensor: MatMul [2 3], [2 3]: "}},
		"Linear": {func(s *tensor.Scope) { s.Linear(s.Ones(2, 3), s.Ones(4, 5), s.Ones(4)) },
			[]string{"tensor: Linear [2 3], [4 5], [4]: "}},
		"Where": {func(s *tensor.Scope) { s.Where(s.GtScalar(s.Ones(2), 0), s.Ones(3), s.Ones(3)) },
			[]string{"tensor: Where [2], [3], [3]: "}},
		"Sum":     {func(s *tensor.Scope) { s.Sum(s.Ones(2), 5) }, []string{"tensor: Sum [2]: "}},
		"Mean":    {func(s *tensor.Scope) { s.Mean(s.Arange(3)) }, []string{"tensor: Mean [3]: "}},
		"Softmax": {func(s *tensor.Scope) { s.Softmax(s.Ones(2), 1) }, []string{"tensor: Softmax [2]: "}},
		"Cat": {func(s *tensor.Scope) { s.Cat(0, s.Ones(2, 2), s.Ones(2, 3)) },
			[]string{"tensor: Cat [2 2], [2 3]: "}},
		"empty Cat": {func(s *tensor.Scope) { s.Cat(0) }, []string{"tensor: Cat: "}},
		"Stack":     {func(s *tensor.Scope) { s.Stack(0, s.Ones(2), s.Ones(3)) }, []string{"tensor: Stack [2], [3]: "}},
		"Narrow":    {func(s *tensor.Scope) { s.Narrow(s.Ones(2), 0, 1, 2) }, []string{"tensor: Narrow [2]: "}},
		"Select":    {func(s *tensor.Scope) { s.Select(s.Ones(2), 0, 2) }, []string{"tensor: Select [2]: "}},
		"IndexSelect": {func(s *tensor.Scope) { s.IndexSelect(s.Ones(2), 0, tensor.From(s, []int64{2})) },
			[]string{"tensor: IndexSelect [2], [1]: "}},
		"IndexSelect negative": {func(s *tensor.Scope) { s.IndexSelect(s.Ones(2, 2), 0, tensor.From(s, []int64{-1})) },
			[]string{"tensor: IndexSelect [2 2], [1]: "}},
		"IndexSelect by floats": {func(s *tensor.Scope) { s.IndexSelect(s.Ones(2), 0, s.Ones(1)) },
			[]string{"tensor: IndexSelect [2], [1]: "}},
		"Gather": {func(s *tensor.Scope) { s.Gather(s.Ones(2, 2), 1, tensor.From(s, []int64{0, 2}, 2, 1)) },
			[]string{"tensor: Gather [2 2], [2 1]: "}},
		"IndexCopy": {func(s *tensor.Scope) { s.IndexCopy(s.Ones(2, 2), tensor.From(s, []int64{2}), s.Ones(1, 2)) },
			[]string{"tensor: IndexCopy [2 2], [1], [1 2]: "}},
		"Reshape": {func(s *tensor.Scope) { s.Reshape(s.Ones(6), 4, -1) }, []string{"tensor: Reshape [6]: "}},
		"Expand":  {func(s *tensor.Scope) { s.Expand(s.Ones(2), 3) }, []string{"tensor: Expand [2]: "}},
		"Transpose": {func(s *tensor.Scope) { s.Transpose(s.Ones(2), 0, 1) },
			[]string{"tensor: Transpose [2]: "}},
		"Copy": {func(s *tensor.Scope) { s.Copy(s.Ones(2), s.Ones(3)) },
			[]string{"tensor: Copy [2], [3]: "}},
		"AddTo": {func(s *tensor.Scope) { s.AddTo(s.Ones(2), s.Ones(3), 1) },
			[]string{"tensor: AddTo [2], [3]: "}},
		"GaussianLogProb": {func(s *tensor.Scope) { s.GaussianLogProb(s.Ones(2), s.Ones(3), s.Ones(3)) },
			[]string{"tensor: GaussianLogProb [2], [3], [3]: "}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := tensor.NewScope()
			defer s.Close()
			test.run(s)
			wantError(t, s.Err(), test.parts...)
		})
	}
}

func TestStickyError(t *testing.T) {
	tensortest.CheckLive(t)
	s := tensor.NewScope()
	defer s.Close()
	a := s.Ones(2)
	resident := s.Ones(2)
	bad := s.Add(a, s.Ones(3))
	first := s.Err()
	wantError(t, first, "Add")
	owned := s.Len()

	// Nothing after the error has an effect, nor panics on its results, nor replaces it.
	f := newFlat(t, parameters(t, []string{"w"}, [][]int64{{2}}))
	o, err := tensor.NewOptimizer(f, tensor.OptimizerConfig{}, []tensor.Group{{End: 2, LearningRate: 1}},
		[]tensor.Clip{{End: 2, MaxNorm: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	g := generator(t, 1)
	b := s.Exp(bad)
	c := s.Mul(s.Clamp(b, 0, 1), s.Where(b, b, s.MLP(b, nil)))
	s.Copy(resident, c)
	s.Fill(resident, 9)
	s.Scale(resident, 9)
	s.AddTo(resident, c, 1)
	s.IndexCopy(resident, c, c)
	s.Backward(c)
	s.RequireGrad(c)
	s.GradOf(c)
	s.Grad(c, true, c, c)
	s.Cat(0, c, c)
	s.GAE(c, c, c, c, c, 1, 1)
	s.ScalerUpdate(c, c, c, c, true, 0)
	s.ScalerForward(c, c, c, 1, 1)
	s.ScalerInverse(c, c, c, 1)
	s.Randn(g, 2)
	s.Multinomial(g, c, 1)
	s.As(s.To(c, tensor.Bool, tensor.CPU), tensor.Bool)
	s.Sum(s.Softmax(s.Narrow(s.Select(s.IndexSelect(s.Gather(c, 0, c), 0, c), 0, 0), 0, 0, 0), 0))
	s.Linear(s.Reshape(s.Expand(s.Transpose(c, 0, 0))), c, c)
	s.GaussianLogProb(s.Activate(tensor.Relu, c), c, c)
	s.Add(tensor.From(s, []float32{1}, 7), s.Arange(2))
	s.AddScalar(c, 1)
	o.ClipGrad(s)
	o.Step(s)
	f.ZeroGrad(s)
	s.Fail(errors.New("later"))
	if kept := s.Keep(a); kept.T != nil {
		t.Error("Keep hands out tensors of a failed scope")
	}
	if !errors.Is(s.Err(), first) || s.Len() != owned || o.Steps != 0 {
		t.Errorf("after the error: %v, %d tensors (%d before), %d steps", s.Err(), s.Len(), owned, o.Steps)
	}
	if x, err := tensor.Float64s(resident); err != nil || x[0] != 1 {
		t.Errorf("the resident tensor changed to %v, %v", x, err)
	}
	s.Close()
	if !errors.Is(s.Err(), first) {
		t.Error("Close forgets the error")
	}
}

func TestFail(t *testing.T) {
	tensortest.CheckLive(t)
	s := tensor.NewScope()
	defer s.Close()
	stop := errors.New("stop")
	s.Fail(stop)
	if a := s.Ones(2); a.T != nil || !errors.Is(s.Err(), stop) || s.Len() != 0 {
		t.Errorf("after Fail: %v, error %v, %d tensors", a, s.Err(), s.Len())
	}
}

func TestKeepAdoptFree(t *testing.T) {
	before := tensor.Live()
	s := tensor.NewScope()
	a := s.Ones(2)
	kept := s.Keep(a)
	if tensor.Valid(a) || !tensor.Valid(kept) || s.Len() != 0 {
		t.Errorf("after Keep: old handle valid %v, new %v, the scope owns %d", tensor.Valid(a), tensor.Valid(kept),
			s.Len())
	}
	wantPanic(t, "used after", func() { s.Neg(a) })
	if s.Keep(tensor.Tensor{}).T != nil || s.Err() != nil {
		t.Error("Keep of no tensor is something")
	}
	s.Close()
	if tensor.Live() != before+1 {
		t.Errorf("%d tensors live, want the kept one", tensor.Live()-before)
	}

	other := tensor.NewScope()
	wantNear(t, "kept", tensortest.Float64s(t, other, other.AddScalar(kept, 1)), []float64{2, 2}, 0)
	adopted := other.Adopt(kept)
	if tensor.Valid(kept) || !tensor.Valid(adopted) {
		t.Errorf("after Adopt: old handle valid %v, new %v", tensor.Valid(kept), tensor.Valid(adopted))
	}
	tensor.Free(kept) // already released: nothing
	again := other.Keep(adopted)
	other.Keep(again)
	wantError(t, other.Err(), "tensor: Keep", "[2]", "does not belong")
	other.Close()

	wantNear(t, "kept again", tensortest.Float64s(t, tensor.NoGrad(), again), []float64{1, 1}, 0)
	tensor.Free(again, again, tensor.Tensor{})
	wantPanic(t, "used after", func() { tensor.Shape(again) })
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

func TestInPlace(t *testing.T) {
	s := scope(t)
	a := s.Zeros(2, 3)
	s.Copy(a, tensor.From(s, []int64{1, 2, 3}))
	wantNear(t, "Copy", tensortest.Float64s(t, s, a), []float64{1, 2, 3, 1, 2, 3}, 0)
	s.AddTo(a, s.Ones(3), -0.5)
	wantNear(t, "AddTo", tensortest.Float64s(t, s, a), []float64{.5, 1.5, 2.5, .5, 1.5, 2.5}, 0)
	s.Scale(a, 2)
	wantNear(t, "Scale", tensortest.Float64s(t, s, a), []float64{1, 3, 5, 1, 3, 5}, 0)
	s.IndexCopy(a, tensor.From(s, []int64{1}), tensor.From(s, []float32{7, 8, 9}, 1, 3))
	wantNear(t, "IndexCopy", tensortest.Float64s(t, s, a), []float64{1, 3, 5, 7, 8, 9}, 0)
	s.Fill(a, 4)
	wantNear(t, "Fill", tensortest.Float64s(t, s, a), []float64{4, 4, 4, 4, 4, 4}, 0)
	// Parameters can be changed in place too.
	p := s.RequireGrad(s.Ones(2))
	s.Fill(p, 3)
	s.Backward(s.Sum(s.Square(p)))
	wantNear(t, "gradient", tensortest.Float64s(t, s, s.GradOf(p)), []float64{6, 6}, 0)
}

func TestOn(t *testing.T) {
	s := tensor.NewScope()
	defer s.Close()
	if s.Device() != tensor.CPU || s.On(tensor.CUDA(0)).Device() != tensor.CUDA(0) {
		t.Error("On does not set the scope's device")
	}
}
