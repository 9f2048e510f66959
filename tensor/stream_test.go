package tensor_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// Two goroutines compute on streams of their own, with tensors made outside, and the results are used outside.
func TestStreams(t *testing.T) { onDevices(t, testStreams) }

func testStreams(t *testing.T, d tensor.Device) {
	const n, rounds = 256, 20
	common := tensortest.NoGrad(t, d)
	x := common.Full(tensor.Float32, 1.0/n, n, n)
	sums := common.Zeros(2)
	var wait sync.WaitGroup
	failed := make([]error, 2)
	for i := range failed {
		stream := must.Get(tensor.NewStream(d))(t)
		must.Is(t, stream != nil, d.Kind() == "cuda", "a stream")
		defer func() { stream.Close(); stream.Close() }()
		want := errors.New("an error")
		must.Is(t, stream.Do(func() error { return want }), want, "what Do returns")
		wait.Go(func() {
			for range rounds {
				failed[i] = stream.Do(func() error {
					s := tensor.NoGrad().On(d)
					defer s.Close()
					y := s.Ones(n, n)
					for range rounds {
						y = s.MatMul(x, y) // rows add up to 1: the ones stay
					}
					s.AddTo(s.Select(sums, 0, int64(i)), s.Sum(y), float64(i+1))
					return s.Err()
				})
			}
		})
	}
	wait.Wait()
	must.Do(t, errors.Join(failed...))
	wantTensor(t, "sums", common, common.MulScalar(sums, 1.0/(n*n*rounds)), []int64{2}, []float64{1, 2}, 0)
}

// Write returns before a device has the values. They arrive in the order of the calls, also where the caller changes
// the slice after Write has returned.
func TestWritesArrive(t *testing.T) { onDevices(t, testWritesArrive) }

func testWritesArrive(t *testing.T, d tensor.Device) {
	const rows, width = 300, 5000
	s := tensortest.NoGrad(t, d)
	all, bytes := s.Zeros(rows, width), s.Full(tensor.Uint8, 0, rows, width)
	row := make([]float32, width)
	for i := range rows {
		for j := range row {
			row[j] = float32((i + j) % 256)
		}
		for _, to := range []tensor.Tensor{all, bytes} {
			must.Do(t, tensor.Write(s.Select(to, 0, int64(i)), row))
		}
	}
	clear(row)
	for _, written := range []tensor.Tensor{all, bytes} {
		for k, x := range must.Get(tensor.Float32s(written))(t) {
			must.Not(t, x != float32((k/width+k%width)%256), "element %d of row %d is %g", k%width, k/width, x)
		}
	}
}
