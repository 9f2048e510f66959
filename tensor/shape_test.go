package tensor_test

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

func TestParts(t *testing.T) {
	s := scope(t)
	x := make([]float64, 24)
	for i := range x {
		x[i] = float64(i)
	}
	a := tensor.From(s, x, 2, 3, 4)
	wantTensor(t, "Narrow", s, s.Narrow(a, 1, 1, 2), []int64{2, 2, 4}, []float64{4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18,
		19, 20, 21, 22, 23}, 0)
	wantTensor(t, "Narrow to nothing", s, s.Narrow(a, 1, 3, 0), []int64{2, 0, 4}, nil, 0)
	wantTensor(t, "Select", s, s.Select(a, 0, 1), []int64{3, 4}, x[12:], 0)
	wantTensor(t, "Select from the end", s, s.Select(s.Select(a, -1, -1), 0, 0), []int64{3}, []float64{3, 7, 11}, 0)
	wantTensor(t, "IndexSelect", s, s.IndexSelect(a, 1, tensor.From(s, []int64{2, 0, 2})), []int64{2, 3, 4},
		[]float64{8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11, 20, 21, 22, 23, 12, 13, 14, 15, 20, 21, 22, 23}, 0)
	wantTensor(t, "Gather", s, s.Gather(s.Select(a, 0, 0), 1, tensor.From(s, []int64{3, 0, 1}, 3, 1)), []int64{3, 1},
		[]float64{3, 4, 9}, 0)
	wantTensor(t, "Reshape", s, s.Reshape(a, 4, -1), []int64{4, 6}, x, 0)
	wantTensor(t, "Reshape to a scalar", s, s.Reshape(s.Full(tensor.Float64, 7, 1, 1)), []int64{}, []float64{7}, 0)
	wantTensor(t, "Expand", s, s.Expand(tensor.From(s, []int64{1, 2}, 2, 1), -1, 3), []int64{2, 3},
		[]float64{1, 1, 1, 2, 2, 2}, 0)
	transposed := s.Transpose(s.Select(a, 0, 0), 0, 1)
	wantTensor(t, "Transpose", s, transposed, []int64{4, 3}, []float64{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}, 0)
	wantTensor(t, "Contiguous", s, s.Contiguous(transposed), []int64{4, 3},
		[]float64{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}, 0)

	// Parts share memory with the whole; a clone does not.
	clone := s.Clone(a)
	s.Fill(s.Narrow(a, 0, 0, 1), -1)
	if got := tensortest.Float64s(t, s, a); got[0] != -1 || got[11] != -1 || got[12] != 12 {
		t.Errorf("filling a part gave %v", got)
	}
	wantTensor(t, "Clone", s, clone, []int64{2, 3, 4}, x, 0)
}

func TestFacts(t *testing.T) {
	s := scope(t)
	a := s.Zeros(2, 3)
	if tensor.Size(a, 0) != 2 || tensor.Size(a, -1) != 3 || tensor.Numel(a) != 6 ||
		tensor.TypeOf(a) != tensor.Float32 || tensor.RequiresGrad(a) {
		t.Error("wrong facts about zeros (2, 3)")
	}
	wantPanic(t, "there is no dimension 2 in [2 3]", func() { tensor.Size(a, 2) })
	wantPanic(t, "there is no dimension -3 in [2 3]", func() { tensor.Size(a, -3) })
	if d := tensor.DeviceOf(a); d != tensor.CPU || !d.IsCPU() || d.String() != "cpu" {
		t.Errorf("the device is %v", d)
	}
	if got := tensor.TorchVersion(); got == "" {
		t.Error("libtorch has no version")
	}
}

// Convolutions against their definition, of pictures in both orders of memory, in single precision, where another
// library computes them than in double.
func TestConv2d(t *testing.T) {
	s := scope(t)
	const n, in, h, w, out, kh, kw = 2, 4, 6, 7, 6, 3, 2
	for _, c := range []tensor.Convolution{
		{Stride: [2]int64{1, 1}, Dilation: [2]int64{1, 1}, Groups: 1},
		{Stride: [2]int64{2, 3}, Dilation: [2]int64{1, 1}, Padding: [4]int64{1, 2, 1, 2}, Groups: 1},
		{Stride: [2]int64{1, 2}, Dilation: [2]int64{2, 3}, Padding: [4]int64{1, 0, 2, 1}, Groups: 2},
	} {
		x, k, b := numbers(1, n*in*h*w), numbers(2, out*in/int(c.Groups)*kh*kw), numbers(3, out)
		rows := (h+c.Padding[0]+c.Padding[2]-c.Dilation[0]*(kh-1)-1)/c.Stride[0] + 1
		columns := (w+c.Padding[1]+c.Padding[3]-c.Dilation[1]*(kw-1)-1)/c.Stride[1] + 1
		var want []float64
		perGroup, outGroup := in/c.Groups, out/c.Groups
		for i := range int64(n) {
			for o := range int64(out) {
				for r := range rows {
					for q := range columns {
						sum := b[o]
						for ch := range perGroup {
							for u := range int64(kh) {
								for v := range int64(kw) {
									y, z := r*c.Stride[0]-c.Padding[0]+u*c.Dilation[0],
										q*c.Stride[1]-c.Padding[1]+v*c.Dilation[1]
									if y >= 0 && y < h && z >= 0 && z < w {
										sum += k[((o*perGroup+ch)*kh+u)*kw+v] * x[((i*in+o/outGroup*perGroup+ch)*h+y)*w+z]
									}
								}
							}
						}
						want = append(want, sum)
					}
				}
			}
		}
		single := func(x []float64, shape ...int64) tensor.Tensor {
			return s.As(tensor.From(s, x, shape...), tensor.Float32)
		}
		picture := single(x, n, in, h, w)
		last := s.Permute(s.Contiguous(s.Permute(picture, 0, 2, 3, 1)), 0, 3, 1, 2)
		for _, p := range []tensor.Tensor{picture, last} {
			got := s.Conv2d(p, single(k, out, perGroup, kh, kw), single(b, out), c)
			wantTensor(t, "Conv2d", s, got, []int64{n, out, rows, columns}, want, 1e-5)
		}
	}
}
