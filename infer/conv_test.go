package infer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// convolved computes a convolution pixel by pixel, and the sum of its terms' sizes, which its rounding grows with.
func convolved(s description.Step, x, weight, bias []float32) (y, size []float64) {
	shape, kernel := s.Picture(), s.KernelShape()
	y = make([]float64, shape[0]*shape[1]*shape[2])
	size = make([]float64, len(y))
	for k := range y {
		o, i, j := k/(shape[1]*shape[2]), k/shape[2]%shape[1], k%shape[2]
		y[k] = float64(bias[o])
		size[k] = math.Abs(y[k])
		for c := range kernel[1] {
			channel := o/(s.Outputs/s.Groups)*kernel[1] + c
			for a := range kernel[2] {
				for b := range kernel[3] {
					row, column := i*s.Stride[0]-s.Padding[0]+a*s.Dilation[0],
						j*s.Stride[1]-s.Padding[1]+b*s.Dilation[1]
					if row >= 0 && row < s.Shape[1] && column >= 0 && column < s.Shape[2] {
						term := float64(weight[((o*kernel[1]+c)*kernel[2]+a)*kernel[3]+b]) *
							float64(x[(channel*s.Shape[1]+row)*s.Shape[2]+column])
						y[k] += term
						size[k] += math.Abs(term)
					}
				}
			}
		}
	}
	return y, size
}

// Convolutions of every geometry, also of pictures whose patches are laid out in several parts.
func TestConvolutions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	for _, c := range []struct {
		name string
		step description.Step
	}{
		{"stride", description.Step{Outputs: 2, Shape: []int{1, 9, 8}, Kernel: []int{2, 3}, Stride: []int{3, 2},
			Dilation: []int{1, 1}, Groups: 1}},
		{"padding", description.Step{Outputs: 2, Shape: []int{2, 3, 4}, Kernel: []int{3, 3}, Stride: []int{1, 2},
			Padding: []int{2, 0, 1, 3}, Dilation: []int{1, 1}, Groups: 1}},
		{"dilation", description.Step{Outputs: 1, Shape: []int{1, 7, 9}, Kernel: []int{2, 3}, Stride: []int{1, 1},
			Padding: []int{1, 2, 0, 1}, Dilation: []int{3, 2}, Groups: 1}},
		{"groups", description.Step{Outputs: 6, Shape: []int{4, 4, 4}, Kernel: []int{2, 2}, Stride: []int{2, 1},
			Padding: []int{0, 1, 0, 1}, Dilation: []int{1, 2}, Groups: 2}},
		{"parts", description.Step{Outputs: 2, Shape: []int{96, 13, 11}, Kernel: []int{5, 4}, Stride: []int{1, 1},
			Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}, Groups: 1}},
	} {
		name, s := c.name, c.step
		s.Op, s.Weight, s.Bias = description.Conv2d, "w", "b"
		if s.Padding == nil {
			s.Padding = make([]int, 4)
		}
		in, shape, kernel := s.Shape[0]*s.Shape[1]*s.Shape[2], s.Picture(), s.KernelShape()
		out := shape[0] * shape[1] * shape[2]
		weight, bias := randomRow(rng, kernel[0]*kernel[1]*kernel[2]*kernel[3]), randomRow(rng, s.Outputs)
		snap := checkpoint.NewSnapshot()
		snap.Arrays["w"] = checkpoint.ArrayFloat32([]int64{int64(kernel[0]), int64(kernel[1]), int64(kernel[2]),
			int64(kernel[3])}, weight)
		snap.Arrays["b"] = checkpoint.ArrayFloat32([]int64{int64(s.Outputs)}, bias)
		p := must.Get(New(description.Policy{Observation: spaces.Unbounded(in), Action: spaces.Unbounded(out),
			Network:      description.Network{Inputs: in, Steps: []description.Step{s}},
			Distribution: description.Distribution{Kind: description.Deterministic}}, snap))(t)
		x, got := randomRow(rng, 3*in), make([]float32, 3*out)
		must.Do(t, p.ActBatch(x, got))
		for r := range 3 {
			want, size := convolved(s, x[r*in:(r+1)*in], weight, bias)
			for i := range want {
				if d := math.Abs(float64(got[r*out+i]) - want[i]); !(d <= 1e-6*(1+size[i])) {
					t.Fatalf("%s: picture %d, value %d: %g, want %g", name, r, i, got[r*out+i], want[i])
				}
			}
		}
		if p.steps[0].tile >= shape[1]*shape[2] == (name == "parts") {
			t.Errorf("%s: %d patches at a time of %d", name, p.steps[0].tile, shape[1]*shape[2])
		}
	}
}
