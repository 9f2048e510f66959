package tensor_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// trainer trains a small discriminator with everything an update has: minibatches drawn by a generator, a loss with a
// gradient penalty, clipping, Adam.
type trainer struct {
	flat      *tensor.Flat
	optimizer *tensor.Optimizer
	generator *tensor.Generator
	resident  *tensor.Scope // owns the parameters and the data
	step      *tensor.Scope // owns one round's temporaries
	data      tensor.Tensor
	net       *tensor.Layers
	batch     int64
}

func newTrainer(seed int64, rows, batch, in, hidden int64) (*trainer, error) {
	g, err := tensor.NewGenerator(seed, tensor.CPU)
	if err != nil {
		return nil, err
	}
	s := tensor.NoGrad()
	tr := &trainer{generator: g, resident: s, step: tensor.NewScope(), batch: batch}
	w0, b0 := s.MulScalar(s.Randn(g, hidden, in), 0.3), s.Zeros(hidden)
	w1, b1 := s.MulScalar(s.Randn(g, 1, hidden), 0.3), s.Zeros(1)
	tr.net = &tensor.Layers{
		Weights: []tensor.Tensor{w0, w1}, Biases: []tensor.Tensor{b0, b1},
		Activations: []tensor.Activation{tensor.Elu, tensor.Identity},
	}
	tr.data = s.Randn(g, rows, in)
	if err := s.Err(); err != nil {
		return nil, err
	}
	tr.flat, err = tensor.NewFlat([]tensor.Parameter{{Name: "w0", Tensor: w0}, {Name: "b0", Tensor: b0},
		{Name: "w1", Tensor: w1}, {Name: "b1", Tensor: b1}}, tensor.CPU)
	if err != nil {
		return nil, err
	}
	n := tr.flat.Len()
	tr.optimizer, err = tensor.NewOptimizer(tr.flat, tensor.OptimizerConfig{},
		[]tensor.Group{{End: n, LearningRate: 1e-3}}, []tensor.Clip{{End: n, MaxNorm: 1}})
	return tr, err
}

func (tr *trainer) round() error {
	s := tr.step
	defer s.Reset()
	x := s.RequireGrad(s.IndexSelect(tr.data, 0, s.RandInt(tr.generator, 0, tensor.Size(tr.data, 0), tr.batch)))
	d := s.MLP(x, tr.net)
	penalty := s.Mean(s.Sum(s.Square(s.Grad(d, true, x)[0]), -1))
	target := s.GtScalar(s.SumKeep(x, 1), 0)
	loss := s.Add(s.Mean(s.Activate(tensor.Softplus, s.Where(target, s.Neg(d), d))), s.MulScalar(penalty, 0.1))
	tr.flat.ZeroGrad(s)
	s.Backward(loss)
	tr.optimizer.ClipGrad(s)
	tr.optimizer.Step(s)
	return s.Err()
}

func (tr *trainer) train(rounds int) ([]float32, error) {
	for range rounds {
		if err := tr.round(); err != nil {
			return nil, err
		}
	}
	return tensor.Float32s(tr.flat.Values)
}

func (tr *trainer) close() {
	tr.optimizer.Close()
	tr.flat.Close()
	tr.resident.Close()
	tr.step.Close()
	tr.generator.Close()
}

// Networks trained at once, on goroutines that move between threads, end up the same to the last bit as one after the
// other.
func TestConcurrentTraining(t *testing.T) {
	tensortest.CheckLive(t)
	const agents, rounds = 4, 100
	want, got, errs := make([][]float32, agents), make([][]float32, agents), make([]error, agents)
	once := func(seed int) ([]float32, error) {
		tr, err := newTrainer(int64(seed), 256, 32, 6, 16)
		if err != nil {
			return nil, err
		}
		defer tr.close()
		return tr.train(rounds)
	}
	var wg sync.WaitGroup
	for i := range agents {
		var err error
		if want[i], err = once(i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range agents {
		wg.Go(func() { got[i], errs[i] = once(i) })
	}
	wg.Wait()
	for i := range agents {
		if errs[i] != nil {
			t.Error(errs[i])
		} else if !slices.Equal(got[i], want[i]) {
			t.Errorf("agent %d is another one when trained beside others", i)
		}
		for j := range i {
			if slices.Equal(want[i], want[j]) {
				t.Errorf("agents %d and %d are the same", i, j)
			}
		}
	}
}

// The fused update learns: it separates what a plane separates.
func TestTrainingLearns(t *testing.T) {
	tensortest.CheckLive(t)
	tr, err := newTrainer(1, 512, 64, 4, 16)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	accuracy := func() float64 {
		s := tensor.NoGrad()
		defer s.Close()
		d, x := tensortest.Float64s(t, s, s.MLP(tr.data, tr.net)), tensortest.Float64s(t, s, s.Sum(tr.data, 1))
		right := 0.0
		for i := range d {
			right += number((d[i] > 0) == (x[i] > 0)) / float64(len(d))
		}
		return right
	}
	before := accuracy()
	tr.optimizer.Groups[0].LearningRate = 1e-2
	if _, err := tr.train(500); err != nil {
		t.Fatal(err)
	}
	if after := accuracy(); after < 0.95 {
		t.Errorf("accuracy %.3f after training (%.3f before), want 0.95", after, before)
	}
}
