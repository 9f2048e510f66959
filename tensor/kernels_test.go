package tensor_test

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// advantages sums γλ-weighted temporal differences forwards, from every step to where its chain ends.
func advantages(r, v, next, bootstrap, chain []float64, steps, envs int, gamma, lambda float64) []float64 {
	out := make([]float64, len(r))
	for t := range steps {
		for e := range envs {
			weight := 1.0
			for k := t; k < steps; k++ {
				i := k*envs + e
				out[t*envs+e] += weight * (r[i] - v[i] + gamma*bootstrap[i]*next[i])
				weight *= gamma * lambda * chain[i]
			}
		}
	}
	return out
}

func TestGAE(t *testing.T) { onDevices(t, testGAE) }

func testGAE(t *testing.T, d tensor.Device) {
	s := scope(t).On(d)
	const steps, envs, gamma, lambda = 7, 3, 0.9, 0.8
	n := steps * envs
	columns := [][]float64{numbers(1, n), numbers(2, n), numbers(3, n), make([]float64, n), make([]float64, n)}
	for i, x := range numbers(4, n) {
		// Ends by termination (nothing follows), by truncation (the value follows, the chain ends), and none.
		columns[3][i], columns[4][i] = number(x < 0.8), number(x > -0.5 && x < 0.8)
	}
	var x []tensor.Tensor
	for _, column := range columns {
		x = append(x, tensor.From(s, float32s(column), steps, envs, 1))
	}
	wantTensor(t, "GAE", s, s.GAE(x[0], x[1], x[2], x[3], x[4], gamma, lambda), []int64{steps, envs, 1},
		advantages(columns[0], columns[1], columns[2], columns[3], columns[4], steps, envs, gamma, lambda), 1e-5)
}

// The example is skrl's: {1, 3} on a fresh scaler. A NaN stays one.
func TestScaler(t *testing.T) { onDevices(t, testScaler) }

func testScaler(t *testing.T, d tensor.Device) {
	s := scope(t).On(d)
	mean, variance, count := s.Full(tensor.Float64, 0, 1), s.Full(tensor.Float64, 1, 1), s.Full(tensor.Float64, 1, 1)
	column := func(x ...float32) tensor.Tensor { return tensor.From(s, x, int64(len(x)), 1) }
	s.ScalerUpdate(column(1, 3), mean, variance, count, true, 0)
	wantNear(t, "mean, variance, count", tensortest.Float64s(t, s, s.Cat(0, mean, variance, count)),
		[]float64{4. / 3, 2.5555555555, 3}, 1e-9)
	nan := math.NaN()
	wantNear(t, "forward", tensortest.Float64s(t, s, s.ScalerForward(column(1, 3, float32(nan), 1e9), mean, variance,
		1e-8, 5)), []float64{-0.208514, 1.042572, nan, 5}, 1e-6)
	wantNear(t, "inverse", tensortest.Float64s(t, s, s.ScalerInverse(column(10, -0.5), mean, variance, 5)),
		[]float64{9.326385, 0.534028}, 1e-6)
}
