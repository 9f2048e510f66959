package tensor_test

import (
	"errors"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// Parts arrive as they were put, also where the buffers have grown in between, and are valid until the next transfer.
func TestTransfer(t *testing.T) { onDevices(t, testTransfer) }

func testTransfer(t *testing.T, d tensor.Device) {
	transfer, s := tensor.NewTransfer(d), scope(t).On(d)
	t.Cleanup(func() { transfer.Close(); transfer.Close() })
	for round := range 2 {
		transfer.Begin()
		flags, memory, err := tensor.Reserve[float32](transfer, 3, 1)
		copy(memory, []float32{1, 0, float32(round)})
		index, err2 := tensor.Put(transfer, []int64{5, -1})
		bytes, err4 := tensor.Put(transfer, []uint8{0, 1, 255}, 1, 3, 1, 1)
		choice, err5 := tensor.Put(transfer, []bool{true, false})
		exact, err6 := tensor.Put(transfer, []float64{1e-300})
		many := make([]float64, 5000)
		many[4999] = float64(round + 7)
		large, err3 := tensor.Put(transfer, float32s(many), 50, 100)
		must.Do(t, errors.Join(err, err2, err3, err4, err5, err6))
		transfer.Send(s)
		wantTensor(t, "flags", s, flags.Tensor(s), []int64{3, 1}, []float64{1, 0, float64(round)}, 0)
		wantTensor(t, "index", s, index.Tensor(s), []int64{2}, []float64{5, -1}, 0)
		wantTensor(t, "bytes", s, bytes.Tensor(s), []int64{1, 3, 1, 1}, []float64{0, 1, 255}, 0)
		wantTensor(t, "flags", s, choice.Tensor(s), []int64{2}, []float64{1, 0}, 0)
		wantTensor(t, "float64", s, exact.Tensor(s), []int64{1}, []float64{1e-300}, 0)
		wantTensor(t, "large", s, large.Tensor(s), []int64{50, 100}, many, 0)
		must.Is(t, tensor.TypeOf(index.Tensor(s)), tensor.Int64, "type of integers")
		must.Is(t, tensor.DeviceOf(index.Tensor(s)), d, "device of integers")
		columns := s.Zeros(3, 2) // one column of it is not contiguous
		flags.CopyTo(s, s.Narrow(columns, 1, 1, 1))
		wantNear(t, "a column", tensortest.Float64s(t, s, columns), []float64{0, 1, 0, 0, 0, float64(round)}, 0)
		refuse := func(want string, use func(b *tensor.Scope)) {
			b := tensor.NoGrad().On(d)
			defer b.Close()
			use(b)
			wantError(t, b.Err(), want)
		}
		refuse("3 values", func(b *tensor.Scope) { flags.CopyTo(b, s.Zeros(4)) })
		refuse("type Long", func(b *tensor.Scope) { flags.CopyTo(b, s.Full(tensor.Int64, 0, 3)) })
		host := []byte{5, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255}
		must.Same(t, index.Host(), host, "host's bytes")
		transfer.Begin()
		must.Not(t, index.Valid() || (tensor.Part{}).Valid(), "a part of the transfer before is valid")
		refuse("begun again", func(b *tensor.Scope) { index.Tensor(b) })
		refuse("begun again", func(b *tensor.Scope) { flags.CopyTo(b, s.Zeros(3)) })
		must.Refused(tensor.Put(transfer, []float32{1, 2, 3}, 2, 2))(t, "3 values do not fill the shape [2 2]")
		for _, shape := range [][]int64{{-1}, {2, -1}, {math.MaxInt64}, {1 << 16, 1 << 16}, {1, 1, 1, 1, 1}} {
			_, _, err := tensor.Reserve[float32](transfer, shape...)
			wantError(t, err, "tensor: Reserve: ")
		}
	}
}
