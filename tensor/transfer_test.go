package tensor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/tensor"
)

// Parts of every type arrive as they were put, also where the buffers have grown in between.
func TestTransfer(t *testing.T) {
	onDevices(t, func(t *testing.T, d tensor.Device) {
		before := tensor.Live()
		transfer := tensor.NewTransfer(d)
		s := tensor.NoGrad().On(d)
		for round := range 2 {
			transfer.Begin()
			flags, memory, err := tensor.Reserve[float32](transfer, 3, 1)
			if err != nil {
				t.Fatal(err)
			}
			copy(memory, []float32{1, 0, float32(round)})
			small, err := tensor.Put(transfer, []uint8{7, 8, 9})
			if err != nil {
				t.Fatal(err)
			}
			index, err := tensor.Put(transfer, []int64{5, -1})
			if err != nil {
				t.Fatal(err)
			}
			many := make([]float32, 5000)
			for i := range many {
				many[i] = float32(i)
			}
			large, err := tensor.Put(transfer, many, 50, 100)
			if err != nil {
				t.Fatal(err)
			}
			none, err := tensor.Put(transfer, []float32{}, 0, 4)
			if err != nil {
				t.Fatal(err)
			}
			transfer.Send(s)
			for name, x := range map[string]struct {
				part  tensor.Part
				want  []float64
				dtype tensor.DType
				shape []int64
			}{
				"flags": {flags, []float64{1, 0, float64(round)}, tensor.Float32, []int64{3, 1}},
				"small": {small, []float64{7, 8, 9}, tensor.Uint8, []int64{3}},
				"index": {index, []float64{5, -1}, tensor.Int64, []int64{2}},
				"large": {large, nil, tensor.Float32, []int64{50, 100}},
				"none":  {none, []float64{}, tensor.Float32, []int64{0, 4}},
			} {
				y := x.part.Tensor(s)
				got, err := tensor.Float64s(y)
				if err != nil || s.Err() != nil {
					t.Fatal(err, s.Err())
				}
				if x.want == nil {
					for _, v := range many {
						x.want = append(x.want, float64(v))
					}
				}
				if tensor.TypeOf(y) != x.dtype || !slices.Equal(tensor.Shape(y), x.shape) ||
					!slices.Equal(got, x.want) || tensor.DeviceOf(y) != d {
					t.Errorf("%s is %v %v of %v on %v", name, tensor.TypeOf(y), tensor.Shape(y), len(got),
						tensor.DeviceOf(y))
				}
				dst := s.Full(x.dtype, 1, x.shape...)
				x.part.CopyTo(s, dst)
				copied, err := tensor.Float64s(dst)
				if err != nil || s.Err() != nil || !slices.Equal(copied, x.want) {
					t.Errorf("%s is copied as %v, %v, %v", name, copied, err, s.Err())
				}
			}
			columns := s.Full(tensor.Float32, 0, 3, 2) // one column of it is not contiguous
			flags.CopyTo(s, s.Narrow(columns, 1, 1, 1))
			if got, err := tensor.Float64s(columns); err != nil || !slices.Equal(got,
				[]float64{0, 1, 0, 0, 0, float64(round)}) {
				t.Errorf("flags in the second column: %v, %v, %v", got, err, s.Err())
			}
			for want, dst := range map[string]tensor.Tensor{
				"3 values":  s.Full(tensor.Float32, 0, 4),
				"type Long": s.Full(tensor.Int64, 0, 3),
			} {
				other := tensor.NoGrad().On(d)
				flags.CopyTo(other, dst)
				wantError(t, other.Err(), want)
				other.Close()
			}
			if !slices.Equal(small.Host(), []byte{7, 8, 9}) {
				t.Errorf("on the host a part is %v", small.Host())
			}
			transfer.Begin()
			if small.Valid() || (tensor.Part{}).Valid() {
				t.Error("a part of the transfer before is valid")
			}
			stale := tensor.NoGrad()
			small.Tensor(stale)
			wantError(t, stale.Err(), "begun again")
			stale = tensor.NoGrad()
			small.CopyTo(stale, s.Full(tensor.Uint8, 0, 3))
			wantError(t, stale.Err(), "begun again")
		}
		if _, err := tensor.Put(transfer, []float32{1, 2, 3}, 2, 2); err == nil ||
			!strings.Contains(err.Error(), "3 values do not fill the shape [2 2]") {
			t.Errorf("too few values: %v", err)
		}
		transfer.Close()
		transfer.Close()
		s.Close()
		if after := tensor.Live(); after != before {
			t.Errorf("%d tensors live, %d before", after, before)
		}
	})
}
