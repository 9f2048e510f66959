package tensor_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	gen := generator(t, 3)
	own := tensortest.NoGrad(t, tensor.CPU)
	parameter := func(shape ...int64) tensor.Tensor { return own.RequireGrad(own.Randn(gen, shape...)) }
	const width = 40
	other, w, b := parameter(width, width), parameter(width, width), parameter(width)
	var params []tensor.Parameter
	var nets []*tensor.Layers
	params = append(params, tensor.Parameter{Name: "other", Tensor: other}, tensor.Parameter{Name: "w", Tensor: w},
		tensor.Parameter{Name: "b", Tensor: b})
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
	nets = append(nets, &tensor.Layers{Weights: []tensor.Tensor{other}, Biases: []tensor.Tensor{b},
		Activations: []tensor.Activation{tensor.Tanh}})
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

// A replay computes networks side by side, but first those whose results others read. Steps that read results come
// after them.
func TestReplaysOfSeveralNetworks(t *testing.T) {
	skipWithoutEngine(t)
	defer tensor.SetThreads(tensor.Threads())
	gen, own := generator(t, 3), tensortest.NoGrad(t, tensor.CPU)
	for _, threads := range []int{1, 2, 3} {
		tensor.SetThreads(threads)
		trunk, of := bound(t, 1, tensor.Tanh, 64, 200, 64)
		head, ofHead := bound(t, 2, tensor.Tanh, 64, 150, 8)
		other, ofOther := bound(t, 3, tensor.Tanh, 64, 100, 8)
		x, loss := own.Zeros(512, 64), own.Zeros(1)
		run := func(s *tensor.Scope) error {
			for _, f := range []*tensor.Flat{of, ofHead, ofOther} {
				f.ZeroGrad(s)
			}
			a, b := s.MLP(s.MLP(x, trunk), head), s.MLP(x, other)
			sum := s.Sum(s.Square(s.Sub(s.Square(a), b)))
			s.Copy(loss, s.Detach(sum))
			s.Backward(sum)
			return s.Err()
		}
		results := func(f func(*tensor.Scope) error) [][]float64 {
			s := tensor.NewScope()
			defer s.Close()
			must.Do(t, f(s))
			return [][]float64{tensortest.Float64s(t, s, loss), tensortest.Float64s(t, s, of.Grads),
				tensortest.Float64s(t, s, ofHead.Grads), tensortest.Float64s(t, s, ofOther.Grads)}
		}
		g, s := newGraph(t, tensor.CPU), tensortest.WithGrad(t, tensor.CPU)
		must.Do(t, g.Capture(s, func() error { return run(s) }))
		var y tensor.Tensor
		forward := newGraph(t, tensor.CPU)
		must.Do(t, forward.Capture(own, func() error { y = own.MLP(x, trunk); return own.Err() }))
		for i := range 3 {
			own.Copy(x, own.Randn(gen, 512, 64))
			must.Do(t, forward.Replay())
			if !slices.Equal(tensortest.Float64s(t, own, y), tensortest.Float64s(t, own, own.MLP(x, trunk))) {
				t.Errorf("%d threads: replay %d of a forward pass alone differs from it", threads, i)
			}
			want := results(run)
			if got := results(func(*tensor.Scope) error { return g.Replay() }); !cmp.Equal(got, want) {
				t.Errorf("%d threads: replay %d differs from the pass itself", threads, i)
			}
		}
	}
}

// A network may read the gradient penalty of another one.
func TestReplayOfNetworkOnPenalty(t *testing.T) {
	skipWithoutEngine(t)
	gen, own := generator(t, 3), tensortest.NoGrad(t, tensor.CPU)
	critic, _ := bound(t, 1, tensor.Tanh, 8, 4, 1)
	net, _ := bound(t, 2, tensor.Tanh, 1, 1)
	x, g, s := own.Randn(gen, 16, 8), newGraph(t, tensor.CPU), tensortest.WithGrad(t, tensor.CPU)
	run := func() tensor.Tensor {
		_, penalty := s.Critic(x, critic)
		return s.MLP(s.Unsqueeze(s.Unsqueeze(s.Detach(penalty), 0), 0), net)
	}
	var y tensor.Tensor
	must.Do(t, g.Capture(s, func() error { y = run(); return s.Err() }))
	own.Copy(x, own.Randn(gen, 16, 8))
	must.Do(t, g.Replay())
	wantTensor(t, "replay", s, y, []int64{1, 1}, tensortest.Float64s(t, s, run()), 0)
}

// A network whose weights another network makes comes after that one in a replay.
func TestReplayOfMadeWeights(t *testing.T) {
	skipWithoutEngine(t)
	defer tensor.SetThreads(tensor.Threads())
	tensor.SetThreads(2)
	gen, own := generator(t, 3), tensortest.NoGrad(t, tensor.CPU)
	maker, _ := bound(t, 1, tensor.Tanh, 64, 200, 64)
	x, rows := own.Zeros(64, 64), own.Randn(gen, 512, 64)
	run := func() tensor.Tensor {
		made := &tensor.Layers{Weights: []tensor.Tensor{own.MLP(x, maker)}, Biases: maker.Biases[1:],
			Activations: []tensor.Activation{tensor.Tanh}}
		return own.MLP(rows, made)
	}
	var y tensor.Tensor
	g := newGraph(t, tensor.CPU)
	must.Do(t, g.Capture(own, func() error { y = run(); return own.Err() }))
	own.Copy(x, own.Randn(gen, 64, 64))
	must.Do(t, g.Replay())
	wantTensor(t, "replay", own, y, []int64{512, 64}, tensortest.Float64s(t, own, run()), 0)
}

// A forward pass can be replayed after a backward pass that was not recorded.
func TestReplayAfterBackward(t *testing.T) {
	skipWithoutEngine(t)
	gen, own := generator(t, 3), tensortest.NoGrad(t, tensor.CPU)
	net, _ := bound(t, 1, tensor.Tanh, 8, 16, 1)
	var params []tensor.Parameter
	rnn := &tensor.RecurrentLayers{Kind: tensor.RNN}
	for i, shape := range [][]int64{{4, 8}, {4, 4}, {4}, {4}} {
		rnn.Weights = append(rnn.Weights, own.RequireGrad(own.Randn(gen, shape...)))
		params = append(params, tensor.Parameter{Name: fmt.Sprint(i), Tensor: rnn.Weights[i]})
	}
	newFlat(t, params)
	x := own.Randn(gen, 32, 8)
	for name, forward := range map[string]func(*tensor.Scope) tensor.Tensor{
		"MLP":    func(s *tensor.Scope) tensor.Tensor { return s.MLP(x, net) },
		"Critic": func(s *tensor.Scope) tensor.Tensor { y, _ := s.Critic(x, net); return y },
		"Recurrent": func(s *tensor.Scope) tensor.Tensor {
			y, _ := s.Recurrent(x, tensor.Tensor{}, tensor.Tensor{}, 2, rnn)
			return y
		},
	} {
		g, s := newGraph(t, tensor.CPU), tensortest.WithGrad(t, tensor.CPU)
		var y tensor.Tensor
		must.Do(t, g.Capture(s, func() error { y = forward(s); return s.Err() }))
		s.Backward(s.Sum(y))
		own.Copy(x, own.Randn(gen, 32, 8))
		must.Do(t, g.Replay())
		if !slices.Equal(tensortest.Float64s(t, own, y), tensortest.Float64s(t, own, forward(own))) {
			t.Errorf("%s: the replay differs from the pass itself", name)
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
		} else if !slices.Equal(got, want) {
			t.Fatalf("pass %d makes other gradients than the first", i)
		}
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
