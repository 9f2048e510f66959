package preprocessors_test

import (
	"fmt"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/golden"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/tensor"
)

// TestGolden follows skrl's running scaler over a sequence of batches.
func TestGolden(t *testing.T) {
	golden.Parts(t, func(t *testing.T, parts map[string]golden.Tensor) {
		compare := golden.NewComparison(t)
		cfg := preprocessors.DefaultScalerConfig()
		cfg.Unbiased = true
		width := parts["scaler/inverse_input"].Shape[1]
		r := check.Get(preprocessors.NewRunningStandardScaler(width, cfg, tensor.CPU))(t)
		defer r.Close()
		s := tensortest.NoGrad(t, tensor.CPU)
		load := func(name string) tensor.Tensor {
			x := parts["scaler/"+name]
			shape := make([]int64, len(x.Shape))
			for i, n := range x.Shape {
				shape[i] = int64(n)
			}
			return tensor.From(s, x.Float32s(), shape...)
		}
		check := func(name string, got tensor.Tensor) {
			t.Helper()
			values := check.Get(tensor.Float64s(got))(t)
			golden.Compare(compare, name, values, parts["scaler/"+name])
		}

		batches := 0
		for ; parts[fmt.Sprintf("scaler/input_%d", batches)].Data != nil; batches++ {
			x := load(fmt.Sprintf("input_%d", batches))
			r.Learn(s, x)
			check(fmt.Sprintf("output_%d", batches), r.Forward(s, x))
			check(fmt.Sprintf("running_mean_%d", batches), r.Mean)
			check(fmt.Sprintf("running_variance_%d", batches), r.Variance)
			check(fmt.Sprintf("current_count_%d", batches), r.Count)
		}
		if batches == 0 {
			t.Fatal("there are no batches")
		}
		x := load("input_3d") // learns from a batch of three dimensions as from its rows
		r.Learn(s, x)
		check("output_3d", r.Forward(s, x))
		check("inverse_output", r.Inverse(s, load("inverse_input")))
	})
}
