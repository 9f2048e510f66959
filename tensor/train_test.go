package tensor_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// trainer trains a small discriminator with everything an update has: minibatches drawn by a generator, a loss with a
// gradient penalty, clipping, Adam.
type trainer struct {
	flat      *tensor.Flat
	optimizer *tensor.Optimizer
	generator *tensor.Generator
	data      tensor.Tensor
	net       *tensor.Layers
	batch     int64
}

func newTrainer(t *testing.T, seed, rows, batch, in, hidden int64) *trainer {
	t.Helper()
	g := generator(t, seed)
	net, flat := bound(t, seed, tensor.Elu, in, hidden, 1)
	optimizer := newOptimizer(t, flat, tensor.OptimizerConfig{}, []tensor.Group{{End: flat.Len(), LearningRate: 1e-3}},
		tensor.Clip{End: flat.Len(), MaxNorm: 1})
	return &trainer{flat, optimizer, g, tensortest.NoGrad(t, tensor.CPU).Randn(g, rows, in), net, batch}
}

// train makes rounds in a scope of its own and returns the parameters.
func (tr *trainer) train(rounds int) ([]float32, error) {
	s := tensor.NewScope()
	defer s.Close()
	for range rounds {
		x := s.RequireGrad(s.IndexSelect(tr.data, 0, s.RandInt(tr.generator, 0, tensor.Size(tr.data, 0), tr.batch)))
		d := s.MLP(x, tr.net)
		penalty := s.Mean(s.Sum(s.Square(s.Grad(d, true, x)[0]), -1))
		target := s.GtScalar(s.SumKeep(x, 1), 0)
		loss := s.Add(s.Mean(s.Activate(tensor.Softplus, s.Where(target, s.Neg(d), d))), s.MulScalar(penalty, 0.1))
		tr.flat.ZeroGrad(s)
		s.Backward(loss)
		tr.optimizer.ClipGrad(s)
		tr.optimizer.Step(s)
		if s.Err() != nil {
			return nil, s.Err()
		}
		s.Reset()
	}
	return tensor.Float32s(tr.flat.Values)
}

// Networks trained at once, on goroutines that move between threads, end up the same to the last bit as one after the
// other.
func TestConcurrentTraining(t *testing.T) {
	tensortest.CheckLive(t)
	const agents, rounds = 4, 100
	want, got, errs := make([][]float32, agents), make([][]float32, agents), make([]error, agents)
	for i := range agents {
		want[i] = must.Get(newTrainer(t, int64(i), 256, 32, 6, 16).train(rounds))(t)
	}
	var wg sync.WaitGroup
	for i := range agents {
		beside := newTrainer(t, int64(i), 256, 32, 6, 16)
		wg.Go(func() { got[i], errs[i] = beside.train(rounds) })
	}
	wg.Wait()
	for i := range agents {
		must.Do(t, errs[i])
		must.Not(t, !slices.Equal(got[i], want[i]) || i > 0 && slices.Equal(want[i], want[0]),
			"agent %d is another one when trained beside others, or the same as agent 0", i)
	}
}
