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

// sawtooth is a schedule of one's own: the rate falls by Factor an epoch and returns to the base after Period epochs.
type sawtooth struct {
	sawtoothSettings
	base float64
	step int
}

type sawtoothSettings struct {
	Period int     `yaml:"period" config:"min=1"`
	Factor float64 `yaml:"factor" config:"gt=0,max=1"`
}

func (s *sawtooth) Name() string             { return "Sawtooth" }
func (s *sawtooth) UsesKL() bool             { return false }
func (s *sawtooth) Base() float64            { return s.base }
func (s *sawtooth) SetBase(lr float64) error { s.base = lr; return nil }
func (s *sawtooth) Step(float64)             { s.step++ }
func (s *sawtooth) LearningRate() float64 {
	return s.base * math.Pow(s.Factor, float64(s.step%s.Period))
}
func (s *sawtooth) State() map[string]float64 {
	return map[string]float64{"base": s.base, "step": float64(s.step)}
}
func (s *sawtooth) Restore(state map[string]float64) error {
	s.base, s.step = state["base"], int(state["step"])
	return nil
}

func init() {
	schedulers.Register("Sawtooth", sawtoothSettings{Period: 4, Factor: 0.5}, func(base float64,
		settings sawtoothSettings) (schedulers.Scheduler, error) {
		return &sawtooth{sawtoothSettings: settings, base: base}, nil
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
	_, err = schedulers.New("Sawtooth", 8e-4, map[string]any{"perod": 3})
	fmt.Println(err)
	// Output:
	// 8e-04
	// 4e-04
	// 2e-04
	// 8e-04
	// 4e-04
	// schedulers: Sawtooth: unknown key "perod" (given 3): did you mean "period"?
}
