package explore_test

import (
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/pbt/explore"
)

func ExampleParameter() {
	m := explore.Mutation{
		Rate: 1,
		Parameters: map[string]explore.Parameter{
			"learning_rate": {Rule: explore.Float, Min: 1e-5, Max: 1e-2, Outside: explore.OutsideReflect,
				Default: new(3e-4)},
			"discount_factor": {Rule: explore.OneMinus, Min: 0.9, Max: 0.999, ChangeRange: [2]float64{1.1, 1.2}},
			"mini_batches": {Rule: explore.Integer, Min: 1, Max: 16, Sample: explore.Range{Low: 1, High: 16,
				Log: true}},
			"env.reward.*": {Rule: explore.Additive, Step: 0.1},
		},
		Resample: 0.1,
		Reset:    0.01,
	}
	values := map[string]float64{"learning_rate": 1e-3, "discount_factor": 0.99, "mini_batches": 4,
		"env.reward.energy": -0.05}
	keys := slices.Sorted(maps.Keys(values))
	if err := m.Validate(keys); err != nil {
		log.Fatal(err)
	}
	mutated := m.Apply(values, rand.New(rand.NewPCG(1, 2)))
	for _, key := range keys {
		fmt.Printf("%s: %.4g, then %.4g\n", key, values[key], mutated[key])
	}
	// Output:
	// discount_factor: 0.99, then 0.9885
	// env.reward.energy: -0.05, then 0.00956
	// learning_rate: 0.001, then 0.001346
	// mini_batches: 4, then 2
}

func ExampleDefaultPerturbation() {
	p := explore.DefaultPerturbation(map[string]explore.Parameter{
		"learning_rate": {Sample: explore.Range{Low: 1e-5, High: 1e-2, Log: true}},
		"epochs":        {Rule: explore.Integer, Sample: explore.Range{Low: 1, High: 10}},
		"width":         {Choices: []float64{32, 64, 128}},
	})
	changed := p.Apply(map[string]float64{"learning_rate": 1e-3, "epochs": 4, "width": 64}, rand.New(rand.NewPCG(1, 2)))
	fmt.Printf("%.4g %v %v\n", changed["learning_rate"], changed["epochs"], changed["width"])
	// Output: 0.0008 5 128
}

// byTen divides or multiplies by ten. Registered, it can be named in files.
var (
	byTen = explore.NewRule("mutate_by_ten", func(value float64, in explore.RuleInput) float64 {
		if in.Uniform.Float64() < 0.5 {
			return value / 10
		}
		return value * 10
	})
	errByTen = explore.RegisterRule(byTen)
)

func ExampleRegisterRule() {
	m := explore.Mutation{Rate: 1, Rules: explore.Rules{"entropy_loss_scale": byTen}}
	mutated := m.Apply(map[string]float64{"entropy_loss_scale": 0.01}, rand.New(rand.NewPCG(1, 2)))
	fmt.Println(mutated["entropy_loss_scale"], errByTen)
	// Output: 0.001 <nil>
}

// A file names the explorer then: pbt: {explorer: Doubling, explorer_kwargs: {key: learning_rate}}.
func ExampleRegister() {
	type settings struct {
		Key string `yaml:"key"`
	}
	explore.Register("Doubling", settings{}, func(s settings) (explore.Explorer, error) {
		return explore.Mutation{Rate: 1, ChangeRange: [2]float64{2, 2},
			Rules: explore.Rules{s.Key: explore.MutateFloat}}, nil
	})
	explorer, err := explore.New("Doubling", map[string]any{"key": "learning_rate"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(explorer.Keys())
	// Output: [learning_rate]
}
