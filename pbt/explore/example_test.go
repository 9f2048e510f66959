package explore_test

import (
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
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
			"hidden_units": {Rule: explore.Neighbour, Choices: []float64{32, 64, 128, 256}},
			"env.reward.*": {Rule: explore.Additive, Step: 0.1},
		},
		Resample: 0.1,
		Reset:    0.01,
	}
	values := map[string]float64{"learning_rate": 1e-3, "discount_factor": 0.99, "mini_batches": 4, "hidden_units": 64,
		"env.reward.alive": 0, "env.reward.energy": -0.05}
	keys := []string{"learning_rate", "discount_factor", "mini_batches", "hidden_units", "env.reward.alive",
		"env.reward.energy"}
	if err := m.Validate(keys); err != nil {
		log.Fatal(err)
	}
	mutated := m.Apply(values, rand.New(rand.NewPCG(1, 2)))
	for _, key := range keys {
		fmt.Printf("%s: %.4g, then %.4g\n", key, values[key], mutated[key])
	}
	// Output:
	// learning_rate: 0.001, then 0.001213
	// discount_factor: 0.99, then 0.9885
	// mini_batches: 4, then 6
	// hidden_units: 64, then 32
	// env.reward.alive: 0, then 0.05956
	// env.reward.energy: -0.05, then 0.01386
}

func ExampleConstraint() {
	m := explore.Mutation{
		Rate:        1,
		ChangeRange: [2]float64{2, 2},
		Rules:       explore.Rules{"mini_batch": explore.Integer},
		// A batch is a whole number of mini-batches.
		Constrain: func(v map[string]float64) (map[string]float64, error) {
			v["batch"] = math.Ceil(v["batch"]/v["mini_batch"]) * v["mini_batch"]
			return v, nil
		},
	}
	mutated := m.Apply(map[string]float64{"batch": 96, "mini_batch": 64}, rand.New(rand.NewPCG(1, 2)))
	fmt.Println(mutated["batch"], mutated["mini_batch"])
	// Output: 128 128
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

func ExamplePB2() {
	p := explore.PB2{Bounds: map[string]explore.Range{"learning_rate": {Low: 1e-5, High: 1e-1, Log: true}}}
	if err := p.Validate([]string{"learning_rate"}); err != nil {
		log.Fatal(err)
	}
	// What four members have tried in ten intervals: rates of about 1e-3 gain most.
	rng := rand.New(rand.NewPCG(1, 2))
	var events []journal.Event
	var objectives [4]float64
	for interval := int64(1); interval <= 10; interval++ {
		for member := range objectives {
			away := -2 + 4*rng.Float64()
			objectives[member] += math.Exp(-away * away)
			events = append(events, journal.Event{
				Kind: journal.Keep, Iteration: interval, Member: member, Parent: -1, Steps: interval * 100,
				Objective: objectives[member], HasObjective: true,
				Before: map[string]float64{"learning_rate": math.Pow(10, -3+away)},
			})
		}
	}
	informed := p.Fit(events, nil)
	next := informed.Apply(map[string]float64{"learning_rate": 5e-2}, rng)
	fmt.Printf("%.1g\n", next["learning_rate"])
	// Output: 0.001
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
