package schedulers_test

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/schedulers"
)

func ExampleNew() {
	s, err := schedulers.New("KLAdaptiveLR", 1e-3, map[string]any{"kl_threshold": 0.01})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, kl := range []float64{0.05, 0.01, 0.001} {
		s.Step(kl)
		fmt.Printf("KL %g: %.2e\n", kl, s.LearningRate())
	}
	_, err = schedulers.New("KLAdaptiveLR", 1e-3, map[string]any{"kl_treshold": 0.01})
	fmt.Println(err)
	// Output:
	// KL 0.05: 6.67e-04
	// KL 0.01: 6.67e-04
	// KL 0.001: 1.00e-03
	// schedulers: KLAdaptiveLR: unknown key "kl_treshold" (given 0.01): did you mean "kl_threshold"?
}

type sawtooth struct {
	Period int64   `yaml:"period" config:"min=1"`
	Factor float64 `yaml:"factor" config:"gt=0,max=1"`
}

func init() {
	schedulers.Register("Sawtooth", sawtooth{Period: 4, Factor: 0.5},
		func(base float64, s sawtooth) (schedulers.Scheduler, error) {
			return schedulers.NewCurve("Sawtooth", base, func(epoch int64) float64 {
				return math.Pow(s.Factor, float64(epoch%s.Period))
			})
		})
}

func ExampleRegister() {
	// In a file: agent: {learning_rate_scheduler: Sawtooth, learning_rate_scheduler_kwargs: {period: 3}}
	s, err := schedulers.New("Sawtooth", 8e-4, map[string]any{"period": 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 5 {
		fmt.Printf("%.0e\n", s.LearningRate())
		s.Step(0)
	}
	// Output:
	// 8e-04
	// 4e-04
	// 2e-04
	// 8e-04
	// 4e-04
}
