package tensor_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// forwardBackward returns a perceptron's outputs for n random rows and all gradients of Σ w·y, and of E[‖∂y/∂x‖²] where it has
// one output: in one operation, or by libtorch's separate operations.
func forwardBackward(t *testing.T, net *tensor.Layers, flat *tensor.Flat, n int64, separate bool) []float64 {
	t.Helper()
	s := tensor.NewScope()
	defer s.Close()
	gen, err := tensor.NewGenerator(n, tensor.CPU)
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close()
	last := len(net.Weights) - 1
	x := s.Randn(gen, n, tensor.Size(net.Weights[0], 1))
	w := s.Randn(gen, n, tensor.Size(net.Weights[last], 0))
	critic := tensor.Size(net.Weights[last], 0) == 1
	forward := func(x tensor.Tensor) tensor.Tensor {
		for i := range net.Weights {
			x = s.Activate(net.Activations[i], s.Linear(x, net.Weights[i], net.Biases[i]))
		}
		return x
	}
	flat.ZeroGrad(s)
	var y, penalty tensor.Tensor
	switch {
	case separate && critic:
		x = s.RequireGrad(s.Detach(x))
		y = forward(x)
		penalty = s.Mean(s.Sum(s.Square(s.Grad(s.Sum(y), true, x)[0]), -1))
	case separate:
		y = forward(x)
	case critic:
		y, penalty = s.Critic(x, net)
	default:
		y = s.MLP(x, net)
	}
	loss := s.Sum(s.Mul(y, w))
	if critic {
		loss = s.Add(loss, s.MulScalar(penalty, float64(n)))
	}
	s.Backward(loss)
	return append(tensortest.Float64s(t, s, y), tensortest.Float64s(t, s, flat.Grads)...)
}

// TestPerceptronSizes compares perceptrons of all kinds of sizes with libtorch's separate operations, on one thread and on
// several: sizes that leave tiles of every height and vectors partly empty, and ones that are cut into blocks.
func TestPerceptronSizes(t *testing.T) {
	defer tensor.SetThreads(tensor.Threads())
	rng := rand.New(rand.NewPCG(1, 2))
	activations := []tensor.Activation{tensor.Identity, tensor.Relu, tensor.Elu, tensor.Tanh, tensor.Sigmoid}
	for trial := range 60 {
		sizes := []int64{1 + rng.Int64N(70), 1 + rng.Int64N(70), 1 + rng.Int64N(70), 1}
		if trial%2 == 1 {
			sizes = []int64{1 + rng.Int64N(70), 1 + rng.Int64N(70), 1 + rng.Int64N(40)}
		}
		n, f := 1+rng.Int64N(150), activations[trial%len(activations)]
		if trial >= 58 { // larger than a block in every dimension
			sizes, n = []int64{600, 520, 300}, 700
		}
		t.Run(fmt.Sprintf("%v %d rows %v", sizes, n, f), func(t *testing.T) {
			runtime.LockOSThread() // libtorch adds gradients up in an order that it counts by thread
			defer runtime.UnlockOSThread()
			net, flat := bound(t, int64(trial), f, sizes...)
			for _, w := range net.Weights { // keeps activations off their flat ends
				if err := tensor.Write(w, scaled(t, w, 2/float64(tensor.Size(w, 1)))); err != nil {
					t.Fatal(err)
				}
			}
			want := forwardBackward(t, net, flat, n, true)
			for _, threads := range []int{1, 2, 3} {
				tensor.SetThreads(threads)
				got := forwardBackward(t, net, flat, n, false)
				largest := 1.0
				for _, x := range want {
					largest = max(largest, x, -x)
				}
				for i := range want {
					if d := got[i] - want[i]; !(max(d, -d) <= 1e-5*largest) {
						t.Fatalf("%d threads: number %d of %d is %.9g, libtorch's %.9g; the largest is %.3g", threads, i, len(want), got[i], want[i], largest)
					}
				}
				if again := forwardBackward(t, net, flat, n, false); !slices.Equal(got, again) {
					t.Errorf("%d threads: the same again gives other numbers", threads)
				}
			}
		})
	}
}

// scaled returns w's elements times f.
func scaled(t *testing.T, w tensor.Tensor, f float64) []float64 {
	t.Helper()
	x, err := tensor.Float64s(w)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x {
		x[i] *= f
	}
	return x
}

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

// A second backward pass through the same operations would add nothing, or nonsense: it is an error.
func TestBackwardTwice(t *testing.T) {
	net, flat := bound(t, 1, tensor.Elu, 3, 4, 1)
	s := tensor.NewScope()
	defer s.Close()
	loss := s.Mean(s.Square(s.MLP(s.Ones(2, 3), net)))
	s.Backward(loss)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	before := tensortest.Float64s(t, tensor.NoGrad(), flat.Grads)
	s.Backward(loss)
	wantError(t, s.Err(), "second time")
	wantNear(t, "gradients after the error", tensortest.Float64s(t, tensor.NoGrad(), flat.Grads), before, 0)
}

// What an operation that only libtorch knows makes of the engine's results takes their gradients back to the engine's nodes.
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
		return s.Add(s.Sum(s.PowScalar(y, 2)), s.Sum(s.Transpose(y, 0, 1)))
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
	gen, err := tensor.NewGenerator(3, tensor.CPU)
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close()
	own := tensor.NoGrad()
	defer own.Close()
	parameter := func(shape ...int64) tensor.Tensor { return own.RequireGrad(own.Randn(gen, shape...)) }
	const width = 40
	w, b := parameter(width, width), parameter(width)
	var params []tensor.Parameter
	var nets []*tensor.Layers
	params = append(params, tensor.Parameter{Name: "w", Tensor: w}, tensor.Parameter{Name: "b", Tensor: b})
	for _, outputs := range []int64{1, 8, 0} { // 0 is the shared layer without another one
		net := &tensor.Layers{Weights: []tensor.Tensor{w}, Biases: []tensor.Tensor{b}, Activations: []tensor.Activation{tensor.Tanh}}
		if outputs > 0 {
			v, c := parameter(outputs, width), parameter(outputs)
			net.Weights, net.Biases, net.Activations = append(net.Weights, v), append(net.Biases, c), append(net.Activations, tensor.Identity)
			params = append(params, tensor.Parameter{Name: fmt.Sprint("w", outputs), Tensor: v}, tensor.Parameter{Name: fmt.Sprint("b", outputs), Tensor: c})
		}
		nets = append(nets, net)
	}
	flat, err := tensor.NewFlat(params, tensor.CPU)
	if err != nil {
		t.Fatal(err)
	}
	defer flat.Close()
	for _, n := range []int64{6, 4000} {
		rows := own.Randn(gen, n, width)
		gradients := func(recorded bool, of ...*tensor.Layers) []float64 {
			s := tensor.NewScope()
			defer s.Close()
			g, err := tensor.NewGraph(tensor.CPU)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			pass := func() error {
				flat.ZeroGrad(s)
				loss := s.Scalar(0)
				for _, net := range of {
					loss = s.Add(loss, s.Mean(s.Square(s.MLP(rows, net))))
				}
				s.Backward(loss)
				return nil
			}
			if recorded {
				err = g.Capture(s, pass)
			} else {
				err = pass()
			}
			if err != nil {
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
