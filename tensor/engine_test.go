package tensor_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// Views that the engine makes share their tensor's memory, as libtorch's do.
func TestViewsShareMemory(t *testing.T) {
	s := scope(t)
	a := tensor.From(s, []float32{1, 2, 3, 4, 5, 6}, 3, 2)
	s.Fill(s.Narrow(a, 0, 1, 2), 7)
	s.Fill(s.Select(a, 0, 0), 8)
	wantNear(t, "through Narrow and Select", tensortest.Float64s(t, s, a), []float64{8, 8, 7, 7, 7, 7}, 0)
	s.Fill(s.Unsqueeze(s.Detach(s.Narrow(a, 0, 2, 1)), 0), 9)
	wantNear(t, "through Detach and Unsqueeze", tensortest.Float64s(t, s, a), []float64{8, 8, 7, 7, 9, 9}, 0)
}

// What an operation that only libtorch knows makes of the engine's results takes their gradients back to the engine's
// nodes.
func TestEngineBesideLibtorch(t *testing.T) {
	net, flat := bound(t, 1, tensor.Tanh, 3, 5, 4)
	gradient := func(f func(s *tensor.Scope, y tensor.Tensor) tensor.Tensor) []float64 {
		s := tensor.NewScope()
		defer s.Close()
		flat.ZeroGrad(s)
		x := tensor.From(s, []float32{1, -2, 0.5, 0.25, 1, -1}, 2, 3)
		s.Backward(f(s, s.MLP(x, net)))
		return tensortest.Float64s(t, s, flat.Grads)
	}
	// The same function, by the engine alone and by a detour through libtorch; y is used twice.
	alone := gradient(func(s *tensor.Scope, y tensor.Tensor) tensor.Tensor { return s.Sum(s.Add(s.Square(y), y)) })
	detour := gradient(func(s *tensor.Scope, y tensor.Tensor) tensor.Tensor {
		t := s.Transpose(y, 0, 1)
		return s.Add(s.Sum(s.Mul(t, t)), s.Sum(t))
	})
	wantNear(t, "gradient", detour, alone, 1e-5)
}

// A single row that is cut out of a longer one keeps the longer one's stride.
func TestBitcastOfCutRow(t *testing.T) {
	s := scope(t)
	bytes := tensor.From(s, make([]uint8, 2*49), 2, 49)
	cut := s.Contiguous(s.Narrow(s.Narrow(bytes, 0, 0, 1), 1, 0, 48))
	wantTensor(t, "Bitcast", s, s.Bitcast(cut, tensor.Float32), []int64{1, 12}, make([]float64, 12), 0)
}

// Networks that share some of their layers alone each add their own gradients to what they share: those of a sum of
// losses are the sums of each loss's gradients, also with many rows, whose parts add up apart, and while a graph
// records.
func TestNetworksShareLayers(t *testing.T) {
	gen := generator(t, 3)
	own := tensortest.NoGrad(t, tensor.CPU)
	parameter := func(shape ...int64) tensor.Tensor { return own.RequireGrad(own.Randn(gen, shape...)) }
	const width = 40
	w, b := parameter(width, width), parameter(width)
	var params []tensor.Parameter
	var nets []*tensor.Layers
	params = append(params, tensor.Parameter{Name: "w", Tensor: w}, tensor.Parameter{Name: "b", Tensor: b})
	for _, outputs := range []int64{1, 8, 0} { // 0 is the shared layer without another one
		net := &tensor.Layers{Weights: []tensor.Tensor{w}, Biases: []tensor.Tensor{b},
			Activations: []tensor.Activation{tensor.Tanh}}
		if outputs > 0 {
			v, c := parameter(outputs, width), parameter(outputs)
			net.Weights, net.Biases, net.Activations = append(net.Weights, v), append(net.Biases, c),
				append(net.Activations, tensor.Identity)
			params = append(params, tensor.Parameter{Name: fmt.Sprint("w", outputs), Tensor: v},
				tensor.Parameter{Name: fmt.Sprint("b", outputs), Tensor: c})
		}
		nets = append(nets, net)
	}
	flat := newFlat(t, params)
	for _, n := range []int64{6, 4000} {
		rows := own.Randn(gen, n, width)
		gradients := func(recorded bool, of ...*tensor.Layers) []float64 {
			s := tensor.NewScope()
			defer s.Close()
			pass := func() error {
				flat.ZeroGrad(s)
				loss := s.Scalar(0)
				for _, net := range of {
					loss = s.Add(loss, s.Mean(s.Square(s.MLP(rows, net))))
				}
				s.Backward(loss)
				return nil
			}
			if !recorded {
				_ = pass()
			} else if err := newGraph(t, tensor.CPU).Capture(s, pass); err != nil {
				t.Fatal(err)
			}
			return tensortest.Float64s(t, s, flat.Grads)
		}
		want := make([]float64, flat.Len())
		for _, net := range nets {
			for i, x := range gradients(false, net) {
				want[i] += x
			}
		}
		for _, recorded := range []bool{false, true} {
			wantNear(t, fmt.Sprintf("%d rows, recorded %t", n, recorded), gradients(recorded, nets...), want, 1e-5)
		}
	}
}

// Passes of few and of many rows through one network, which several threads cut into other numbers of parts, add up the
// same gradients each time.
func TestPassesOfOtherParts(t *testing.T) {
	runtime.LockOSThread() // libtorch adds gradients up in an order that it counts by thread
	defer runtime.UnlockOSThread()
	defer tensor.SetThreads(tensor.Threads())
	tensor.SetThreads(4)
	net, flat := bound(t, 1, tensor.Tanh, 128, 512, 1)
	gen, own := generator(t, 3), tensortest.NoGrad(t, tensor.CPU)
	few, more, many := own.Randn(gen, 2, 128), own.Randn(gen, 3, 128), own.Randn(gen, 16, 128)
	var want []float64
	for i := range 300 {
		s := tensor.NewScope()
		flat.ZeroGrad(s)
		s.Backward(s.Add(s.Add(s.Sum(s.MLP(few, net)), s.Sum(s.MLP(many, net))), s.Sum(s.MLP(more, net))))
		got := tensortest.Float64s(t, s, flat.Grads)
		if s.Close(); i == 0 {
			want = got
		} else if !slices.Equal(got, want) {
			t.Fatalf("pass %d makes other gradients than the first", i)
		}
	}
}
