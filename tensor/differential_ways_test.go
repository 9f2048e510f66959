package tensor_test

import (
	"fmt"

	"github.com/gorl-dev/gorl/tensor"
)

// compute computes f in one of the ways: in float64; without a graph; with leaves whose gradients are flat,
// which the engine
// adds to; with free leaves, whose gradients are libtorch's; recorded with other values, and replayed with these.
func (c *testCase) compute(way string, inputs []*input, f computation, o options, dead int) (r result) {
	c.t.Helper()
	own, s, d, scale := tensor.NoGrad(), tensor.NewScope(), tensor.Float32, 1.0
	bound := way == "engine" || way == "replay"
	switch way {
	case "float64":
		d = tensor.Float64
	case "without a graph":
		s = tensor.NoGrad()
	case "replay":
		scale = 0.5
	}
	if d == tensor.Float32 {
		s.Layers(o.precision)
	}
	defer own.Close()
	defer s.Close()
	var leaves, learning []tensor.Tensor
	// The others begin at odd places.
	params := []tensor.Parameter{{Name: "before", Tensor: own.Zeros(1 + int64(c.number)%3)}}
	for i, in := range inputs {
		if in.none {
			leaves = append(leaves, tensor.Tensor{})
			continue
		}
		leaf := in.leaf(own, d, scale)
		leaves = append(leaves, leaf)
		if in.grad {
			learning = append(learning, leaf)
			params = append(params, tensor.Parameter{Name: fmt.Sprint(i), Tensor: leaf})
			if !bound && way != "without a graph" {
				own.RequireGrad(leaf)
			}
		}
	}
	c.must(own.Err())
	var flat *tensor.Flat
	if bound {
		var err error
		flat, err = tensor.NewFlat(params, tensor.CPU)
		c.must(err)
		defer flat.Close()
	}
	released := tensor.NoGrad()
	gone := released.Zeros(1)
	released.Close()

	var out, grads []tensor.Tensor
	weights := map[int]tensor.Tensor{}
	pass := func() error {
		if bound {
			flat.ZeroGrad(s)
		}
		x := make([]tensor.Tensor, len(inputs))
		for i, in := range inputs {
			switch {
			case i == dead:
				x[i] = gone
			case !in.none:
				x[i] = in.view(s, leaves[i])
			}
		}
		out = f(s, x)
		if s.Err() != nil || way == "without a graph" {
			return s.Err()
		}
		defer func() { r.gradErr = s.Err() }()
		var loss tensor.Tensor
		for i, y := range out {
			if !tensor.RequiresGrad(y) {
				continue
			}
			factors := numbers(uint64(i+1), int(tensor.Numel(y)))
			part := y
			if shape := tensor.Shape(y); len(shape) == 0 {
				part = s.MulScalar(y, factors[0])
			} else {
				if weights[i].T == nil { // from the host, which a capture must not read
					weights[i] = own.As(tensor.From(own, factors, shape...), tensor.TypeOf(y))
				}
				part = s.Sum(s.Mul(y, weights[i]))
			}
			if loss.T != nil {
				part = s.Add(loss, part)
			}
			loss = part
		}
		switch {
		case loss.T == nil:
		case bound:
			s.Backward(loss)
		default:
			grads = s.Grad(loss, false, learning...)
		}
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			r = result{panic: fmt.Sprint(p)}
		}
	}()
	if way == "replay" {
		if r.err = c.replay(s, pass, func() error {
			for _, y := range append([]tensor.Tensor{flat.Grads}, out...) {
				if tensor.TypeOf(y) == tensor.Float32 {
					own.Fill(s.Detach(y), 1e9)
				}
			}
			for i, in := range inputs {
				if !in.none {
					own.Fail(tensor.Write(leaves[i], in.base.x))
				}
			}
			return own.Err()
		}); r.err != nil {
			return r
		}
	} else if r.err = pass(); r.err != nil {
		return r
	}
	for _, y := range out {
		r.values = append(r.values, c.arrayOf(y))
		r.dtypes = append(r.dtypes, tensor.TypeOf(y))
	}
	if bound {
		for _, leaf := range learning {
			grads = append(grads, own.GradOf(leaf))
		}
		c.must(own.Err())
	}
	if r.gradErr != nil || way == "without a graph" {
		return r
	}
	if grads == nil { // no result has a gradient: those of flat leaves are zero
		for _, leaf := range learning {
			r.grads = append(r.grads, array{tensor.Shape(leaf), make([]float64, tensor.Numel(leaf))})
		}
	}
	for _, g := range grads {
		r.grads = append(r.grads, c.arrayOf(g))
	}
	return r
}

// replay records pass and, where it can be recorded, changes its operands and does it again by what is recorded.
func (c *testCase) replay(s *tensor.Scope, pass, change func() error) error {
	g, err := tensor.NewGraph(tensor.CPU)
	c.must(err)
	defer g.Close()
	var failed error // the results', not the gradients'
	if failed = pass(); failed != nil || s.Err() != nil {
		return failed
	}
	s.Reset()
	err = g.Capture(s, func() error { failed = pass(); return failed })
	if failed != nil || s.Err() != nil {
		return failed
	}
	if err == nil {
		err = change()
	}
	switch {
	case err != nil:
		return err
	case g.Recorded():
		c.worst.replays++
		return g.Replay()
	}
	s.Reset()
	return pass()
}

func (c *testCase) arrayOf(t tensor.Tensor) array {
	x, err := tensor.Float64s(t)
	c.must(err)
	return array{tensor.Shape(t), x}
}
