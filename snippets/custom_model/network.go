package main

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// residual is a network of one's own: a linear layer, blocks h ← h + tanh(W·h + b), and a linear layer.
//
// A [models.Network] needs no more than the three methods below. Its parameters live in a scope of its own, what
// Forward computes lives in the caller's: every operation is a method of the scope that owns the result.
type residual struct {
	own    *tensor.Scope
	layers []layer // in, blocks, out
	params []tensor.Parameter
}

// layer is y = x·Wᵀ + b.
type layer struct{ weight, bias tensor.Tensor }

// newResidual returns a network of the given sizes, with initial parameters drawn from seed.
func newResidual(inputs, width, blocks, outputs int, seed int64) (*residual, error) {
	gen, err := tensor.NewGenerator(seed, tensor.CPU)
	if err != nil {
		return nil, err
	}
	defer gen.Close()
	r := &residual{own: tensor.NoGrad()}
	r.add("in", gen, inputs, width)
	for i := range blocks {
		r.add(fmt.Sprintf("block.%d", i), gen, width, width)
	}
	r.add("out", gen, width, outputs)
	return r, r.own.Err() // the first error of all operations above
}

func (r *residual) add(name string, gen *tensor.Generator, in, out int) {
	s, bound := r.own, 1/math.Sqrt(float64(in))
	weight := s.RequireGrad(s.MulScalar(s.AddScalar(s.Rand(gen, int64(out), int64(in)), -0.5), 2*bound))
	bias := s.RequireGrad(s.Zeros(int64(out)))
	r.layers = append(r.layers, layer{weight, bias})
	r.params = append(r.params, tensor.Parameter{Name: name + ".weight", Tensor: weight},
		tensor.Parameter{Name: name + ".bias", Tensor: bias})
}

// Forward implements models.Network.
func (r *residual) Forward(s *tensor.Scope, in models.Inputs) tensor.Tensor {
	first, blocks, last := r.layers[0], r.layers[1:len(r.layers)-1], r.layers[len(r.layers)-1]
	h := s.Tanh(s.Linear(in.Observations, first.weight, first.bias))
	for _, l := range blocks {
		h = s.Add(h, s.Tanh(s.Linear(h, l.weight, l.bias)))
	}
	return s.Linear(h, last.weight, last.bias)
}

// Parameters implements models.Network: always the same tensors in the same order. Their names appear in checkpoints.
func (r *residual) Parameters() []tensor.Parameter { return r.params }

// Close implements models.Network.
func (r *residual) Close() { r.own.Close() }
