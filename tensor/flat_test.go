package tensor_test

import (
	"errors"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// parameters returns kept float32 parameters of the given shapes with numbers of their own, released with the test.
func parameters(t testing.TB, names []string, shapes [][]int64) []tensor.Parameter {
	t.Helper()
	s := tensor.NoGrad()
	defer s.Close()
	var out []tensor.Parameter
	for i, shape := range shapes {
		o := randomOperand(uint64(100+i), shape...)
		p := s.Keep(tensor.From(s, float32s(o.x), shape...))
		t.Cleanup(func() { tensor.Free(p) })
		out = append(out, tensor.Parameter{Name: names[i], Tensor: p})
	}
	must.Do(t, s.Err())
	return out
}

func newFlat(t testing.TB, params []tensor.Parameter) *tensor.Flat {
	return newFlatOn(t, tensor.CPU, params)
}

func newFlatOn(t testing.TB, d tensor.Device, params []tensor.Parameter) *tensor.Flat {
	t.Helper()
	return tensortest.Opened[*tensor.Flat](t)(tensor.NewFlat(params, d))
}

func TestFlat(t *testing.T) { onDevices(t, testFlat) }

func testFlat(t *testing.T, d tensor.Device) {
	s := scope(t).On(d)
	params := parameters(t, []string{"policy/w", "policy/b", "value/w"}, [][]int64{{2, 3}, {2}, {1, 3}})
	before := tensortest.Float64s(t, s, s.Cat(0, s.Reshape(params[0].Tensor, -1), params[1].Tensor,
		s.Reshape(params[2].Tensor, -1)))
	f := newFlatOn(t, d, params)
	must.Match(t, []tensor.Entry{
		{Name: "policy/w", Shape: []int64{2, 3}, Offset: 0, Size: 6},
		{Name: "policy/b", Shape: []int64{2}, Offset: 6, Size: 2},
		{Name: "value/w", Shape: []int64{1, 3}, Offset: 8, Size: 3},
	}, f.Entries(), "entries")
	wantNear(t, "flat values", tensortest.Float64s(t, s, f.Values), before, 0)
	wantNear(t, "flat gradients", tensortest.Float64s(t, s, f.Grads), make([]float64, 11), 0)

	// The parameters' own handles read and write the flat memory.
	s.Fill(f.Values, 0.5)
	wantTensor(t, "parameter", s, params[0].Tensor, []int64{2, 3}, []float64{.5, .5, .5, .5, .5, .5}, 0)
	must.Do(t, tensor.Write(params[1].Tensor, []float32{7, 8}))
	wantNear(t, "flat values", tensortest.Float64s(t, s, f.Values)[6:8], []float64{7, 8}, 0)

	// Gradients land in the flat tensor and add up there.
	x := tensor.From(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	for round := 1.0; round <= 2; round++ {
		y := s.Linear(x, params[0].Tensor, params[1].Tensor)
		s.Backward(s.Add(s.Sum(y), s.MulScalar(s.Sum(params[2].Tensor), 3)))
		want := apply(func(x float64) float64 { return x * round }, []float64{5, 7, 9, 5, 7, 9, 2, 2, 3, 3, 3})
		wantNear(t, "flat gradients", tensortest.Float64s(t, s, f.Grads), want, 0)
	}
	f.ZeroGrad(s)
	wantNear(t, "zeroed gradients", tensortest.Float64s(t, s, f.Grads), make([]float64, 11), 0)
	wantNear(t, "gradient of a parameter", tensortest.Float64s(t, s, s.GradOf(params[1].Tensor)), []float64{0, 0}, 0)

	begin, end, err := f.Segment("policy/")
	must.Not(t, err != nil || begin != 0 || end != 8, "the policy is [%d, %d), %v", begin, end, err)
	_, _, err = f.Segment("critic")
	wantError(t, err, "tensor:", "critic")
	scattered := newFlat(t, parameters(t, []string{"a/1", "b", "a/2"}, [][]int64{{1}, {2}, {3}}))
	_, _, err = scattered.Segment("a/")
	wantError(t, err, "a/", "together")
	f.Close()
	f.Close()
	wantTensor(t, "a parameter after its flat was closed", s, params[1].Tensor, []int64{2}, []float64{7, 8}, 0)
	wantPanic(t, "closed", func() { f.ZeroGrad(s) })
}

// A parameter that two networks share is stored once, under each of its handles. A fixed one has no gradient.
func TestFlatSharedAndFixed(t *testing.T) {
	s := scope(t)
	p := parameters(t, []string{"policy/trunk", "policy/head", "fixed"}, [][]int64{{2, 2}, {1, 2}, {2}})
	p[2].Fixed = true
	again := s.Contiguous(p[0].Tensor) // another handle of the same tensor
	f := newFlat(t, append(p, tensor.Parameter{Name: "value/trunk", Tensor: p[0].Tensor},
		tensor.Parameter{Name: "target/trunk", Tensor: again}))
	must.Not(t, f.Len() != 8 || len(f.Entries()) != 3, "%d elements in %v", f.Len(), f.Entries())
	s.Backward(s.Sum(s.Mul(s.Add(p[0].Tensor, again), p[2].Tensor)))
	fixed := tensortest.Float64s(t, s, p[2].Tensor)
	wantNear(t, "gradients", tensortest.Float64s(t, s, f.Grads),
		[]float64{2 * fixed[0], 2 * fixed[1], 2 * fixed[0], 2 * fixed[1], 0, 0, 0, 0}, 1e-6)
	must.Is(t, tensor.RequiresGrad(p[2].Tensor), false, "autograd follows a fixed parameter")
}

func TestFlatRefuses(t *testing.T) {
	s := scope(t)
	one := parameters(t, []string{"a"}, [][]int64{{2}})[0]
	computed := s.Square(s.RequireGrad(s.Ones(2)))
	for _, test := range []struct {
		want   string
		params []tensor.Parameter
	}{
		{`"b" is not a tensor`, []tensor.Parameter{one, {Name: "b"}}},
		{`named "a"`, []tensor.Parameter{one, {Name: "a", Tensor: s.Ones(2)}}},
		{`"b" is int64`, []tensor.Parameter{one, {Name: "b", Tensor: s.Arange(2)}}},
		{"Detach", []tensor.Parameter{one, {Name: "b", Tensor: computed}}},
	} {
		must.Refused(tensor.NewFlat(test.params, tensor.CPU))(t, "tensor: NewFlat: ", test.want)
		must.Is(t, tensor.RequiresGrad(one.Tensor), false, "a refused call changed a parameter")
	}
	// A parameter is part of one open Flat.
	first := must.Get(tensor.NewSharedFlat([]tensor.Parameter{one}, tensor.CPU, 0, "agent 1"))(t)
	must.Is(t, tensor.FlatOf(one.Tensor), first, "FlatOf a parameter")
	both := []tensor.Parameter{one, {Name: "b", Tensor: s.Ones(2)}}
	_, err := tensor.NewFlat(both, tensor.CPU)
	owned := (*tensor.OwnedError)(nil)
	must.Not(t, !errors.As(err, &owned) || owned.Owner != "agent 1" || owned.Parameter != "a", "a second Flat: %v", err)
	first.Close()
	newFlat(t, both)
}
