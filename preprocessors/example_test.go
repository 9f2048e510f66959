package preprocessors_test

import (
	"fmt"

	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/tensor"
)

func ExampleNewRunningMeanAbsScaler() {
	scaler, err := preprocessors.NewRunningMeanAbsScaler(2, preprocessors.DefaultMeanAbsConfig(), tensor.CPU)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer scaler.Close()
	s := tensor.NoGrad()
	defer s.Close()
	scaler.Learn(s, tensor.From(s, []float32{0.1, -30, -0.3, 10}, 2, 2)) // metres, and degrees
	scaled, err := tensor.Float32s(scaler.Forward(s, tensor.From(s, []float32{0.4, 0}, 1, 2)))
	fmt.Println(scaled, err)
	// Output: [2 0] <nil>
}
