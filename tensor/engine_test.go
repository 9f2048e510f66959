package tensor_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
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

// Networks that share some of their layers alone, or a bias, each add their own gradients to what they share: those of
// a sum of losses are the sums of each loss's gradients, also with many rows, whose parts add up apart, and while a
// graph records.
func TestNetworksShareLayers(t *testing.T) {
	gen, own := generator(t, 3), tensortest.NoGrad(t, tensor.CPU)
	const width = 40
	var params []tensor.Parameter
	parameter := func(shape ...int64) tensor.Tensor {
		x := own.RequireGrad(own.Randn(gen, shape...))
		params = append(params, tensor.Parameter{Name: fmt.Sprint(len(params)), Tensor: x})
		return x
	}
	net := func(w ...tensor.Tensor) *tensor.Layers { // weights and biases in turns
		return layersOf(w, []tensor.Activation{tensor.Tanh, tensor.Identity}[:len(w)/2])
	}
	other, w, b := parameter(width, width), parameter(width, width), parameter(width)
	nets := []*tensor.Layers{net(w, b, parameter(1, width), parameter(1)), net(w, b, parameter(8, width), parameter(8)),
		net(w, b), net(other, b)}
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
			run := pass
			if recorded {
				run = func() error { return newGraph(t, tensor.CPU).Capture(s, pass) }
			}
			must.Do(t, run())
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

// A replay is the pass itself where a network reads the results or the gradient penalty of another one, where another
// network makes its weights, and after a backward pass that was not recorded.
func TestReplays(t *testing.T) {
	skipWithoutEngine(t)
	defer tensor.SetThreads(tensor.Threads())
	tensor.SetThreads(2)
	gen, own := generator(t, 3), tensortest.NoGrad(t, tensor.CPU)
	critic, _ := bound(t, 1, tensor.Tanh, 8, 4, 1)
	small, _ := bound(t, 2, tensor.Tanh, 1, 1)
	maker, _ := bound(t, 1, tensor.Tanh, 8, 200, 8)
	stack := recurrentCase{kind: tensor.RNN, layers: 1, inputs: 8, hidden: 4}
	weights := parameters(t, []string{"0", "1", "2", "3"}, stack.shapes())
	newFlat(t, weights)
	rnn := &tensor.RecurrentLayers{Kind: tensor.RNN, Weights: []tensor.Tensor{weights[0].Tensor, weights[1].Tensor,
		weights[2].Tensor, weights[3].Tensor}}
	x, rows := own.Randn(gen, 8, 8), own.Randn(gen, 512, 8)
	for name, pass := range map[string]func(s *tensor.Scope) tensor.Tensor{
		"penalty": func(s *tensor.Scope) tensor.Tensor {
			_, penalty := s.Critic(x, critic)
			return s.MLP(s.Unsqueeze(s.Unsqueeze(s.Detach(penalty), 0), 0), small)
		},
		"made weights": func(*tensor.Scope) tensor.Tensor {
			return own.MLP(rows, &tensor.Layers{Weights: []tensor.Tensor{own.MLP(x, maker)}, Biases: maker.Biases[1:],
				Activations: []tensor.Activation{tensor.Tanh}})
		},
		"MLP":      func(s *tensor.Scope) tensor.Tensor { return s.MLP(x, critic) },
		"two MLPs": func(s *tensor.Scope) tensor.Tensor { return s.MLP(s.MLP(x, maker), critic) },
		"Critic":   func(s *tensor.Scope) tensor.Tensor { y, _ := s.Critic(x, critic); return y },
		"Recurrent": func(s *tensor.Scope) tensor.Tensor {
			y, _ := s.Recurrent(x, tensor.Tensor{}, tensor.Tensor{}, 2, rnn)
			return y
		},
	} {
		g, s := newGraph(t, tensor.CPU), tensortest.WithGrad(t, tensor.CPU)
		var y tensor.Tensor
		must.Do(t, g.Capture(s, func() error { y = pass(s); return errors.Join(s.Err(), own.Err()) }))
		if tensor.RequiresGrad(y) {
			s.Backward(s.Sum(y))
		}
		own.Copy(x, own.Randn(gen, 8, 8))
		must.Do(t, g.Replay())
		must.Same(t, tensortest.Float64s(t, s, y), tensortest.Float64s(t, s, pass(s)), "%s: replay", name)
	}
}

// Any number of threads makes the gradients of any number of rows, which few threads divide.
func TestRowsOfThreads(t *testing.T) {
	defer tensor.SetThreads(tensor.Threads())
	critic, ofCritic := bound(t, 1, tensor.Relu, 64, 500, 200, 1)
	net, ofNet := bound(t, 2, tensor.Tanh, 64, 700, 200, 8)
	gen, own := generator(t, 3), tensortest.NoGrad(t, tensor.CPU)
	for _, n := range []int64{1, 5, 6, 14, 23} {
		x, z := own.Randn(gen, n, 64), own.Randn(gen, 1+n*5%23, 64)
		var want [2][]float64
		for _, threads := range []int{1, 2, 4, 7} {
			tensor.SetThreads(threads)
			s := tensor.NewScope()
			ofCritic.ZeroGrad(s)
			ofNet.ZeroGrad(s)
			y, penalty := s.Critic(x, critic)
			loss := s.Add(s.Add(s.Mean(y), penalty), s.Add(s.Mean(s.MLP(z, critic)), s.Mean(s.MLP(x, net))))
			s.Backward(loss)
			for i, f := range []*tensor.Flat{ofCritic, ofNet} {
				if got := tensortest.Float64s(t, s, f.Grads); threads == 1 {
					want[i] = got
				} else {
					wantNear(t, fmt.Sprintf("network %d, %d rows, %d threads", i, n, threads), got, want[i], 1e-4)
				}
			}
			s.Close()
		}
	}
}

// Gradients depend neither on which threads of the operating system call, nor on the addresses of the parameters.
func TestGradientsRepeat(t *testing.T) {
	if os.Getenv("GORL_ENGINE") == "torch" {
		t.Skip("libtorch adds gradients up in an order that it counts by thread")
	}
	defer tensor.SetThreads(tensor.Threads())
	tensor.SetThreads(4)
	x := tensortest.NoGrad(t, tensor.CPU).Randn(generator(t, 3), 19, 128)
	var want []float64
	for i := range 20 {
		s := tensor.NewScope()
		nets, flats := [2]*tensor.Layers{}, [2]*tensor.Flat{}
		for j := range nets {
			k := (i + j) % 2
			nets[k], flats[k] = bound(t, int64(k), tensor.Tanh, 128, 300+100*int64(k), 1)
			flats[k].ZeroGrad(s)
		}
		loss := s.Add(s.Sum(s.MLP(s.Narrow(x, 0, 0, 16), nets[0])), s.Sum(s.MLP(x, nets[1])))
		done := make(chan struct{})
		go func() { // on another thread for some i
			runtime.LockOSThread()
			loss = s.Add(loss, s.Sum(s.MLP(s.Narrow(x, 0, 16, 3), nets[0])))
			close(done)
		}()
		<-done
		s.Backward(loss)
		got := append(tensortest.Float64s(t, s, flats[0].Grads), tensortest.Float64s(t, s, flats[1].Grads)...)
		if s.Close(); i == 0 {
			want = got
		}
		must.Not(t, !slices.Equal(got, want), "pass %d makes other gradients than the first", i)
	}
}
