package tensor_test

import (
	"testing"

	"github.com/wangkuiyi/gotorch"

	"github.com/gorl-dev/gorl/tensor"
)

// BenchmarkAdd64 adds two 64×64 tensors, here and through gotorch.
func BenchmarkAdd64(b *testing.B) {
	b.Run("gorl", func(b *testing.B) {
		s := tensor.NoGrad()
		defer s.Close()
		resident := tensor.NoGrad()
		defer resident.Close()
		x, y := resident.Ones(64, 64), resident.Ones(64, 64)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			s.Add(x, y)
			if i%64 == 63 { // about as many operations as a minibatch has
				s.Reset()
			}
		}
	})
	b.Run("gotorch", func(b *testing.B) {
		x, y := gotorch.Ones([]int64{64, 64}, false), gotorch.Ones([]int64{64, 64}, false)
		b.ReportAllocs()
		for b.Loop() {
			gotorch.Add(x, y, 1)
		}
	})
}

// BenchmarkMLPForwardBackward is a forward and a backward pass of a 64-64 network on 64 rows.
func BenchmarkMLPForwardBackward(b *testing.B) {
	g, err := tensor.NewGenerator(1, tensor.CPU)
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	resident := tensor.NoGrad()
	defer resident.Close()
	net := &tensor.Layers{Activations: []tensor.Activation{tensor.Elu, tensor.Elu, tensor.Identity}}
	var params []tensor.Parameter
	for i, shape := range [][2]int64{{64, 20}, {64, 64}, {6, 64}} {
		w, bias := resident.Randn(g, shape[0], shape[1]), resident.Zeros(shape[0])
		net.Weights, net.Biases = append(net.Weights, w), append(net.Biases, bias)
		params = append(params, tensor.Parameter{Name: string(rune('a' + i)), Tensor: w},
			tensor.Parameter{Name: string(rune('A' + i)), Tensor: bias})
	}
	flat, err := tensor.NewFlat(params, tensor.CPU)
	if err != nil {
		b.Fatal(err)
	}
	defer flat.Close()
	x := resident.Randn(g, 64, 20)
	s := tensor.NewScope()
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		flat.ZeroGrad(s)
		s.Backward(s.Mean(s.Square(s.MLP(x, net))))
		if err := s.Err(); err != nil {
			b.Fatal(err)
		}
		s.Reset()
	}
}

// BenchmarkAdamStep is one step over the parameters of networks of 1024 and 512 units.
func BenchmarkAdamStep(b *testing.B) {
	resident := tensor.NoGrad()
	defer resident.Close()
	flat, err := tensor.NewFlat([]tensor.Parameter{{Name: "w", Tensor: resident.Ones(1024 * 600)}}, tensor.CPU)
	if err != nil {
		b.Fatal(err)
	}
	defer flat.Close()
	o, err := tensor.NewOptimizer(flat, tensor.OptimizerConfig{}, []tensor.Group{{End: flat.Len(), LearningRate: 1e-4}},
		[]tensor.Clip{{End: flat.Len(), MaxNorm: 1}})
	if err != nil {
		b.Fatal(err)
	}
	defer o.Close()
	s := tensor.NoGrad()
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		o.ClipGrad(s)
		o.Step(s)
	}
	if err := s.Err(); err != nil {
		b.Fatal(err)
	}
}
