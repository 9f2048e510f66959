package preset_test

import (
	"fmt"
	"log"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/preset"
)

func ExampleFromYAML() {
	settings, err := preset.FromYAML([]byte(`
pbt:
  enabled: True
  num_policies: 8
  objective: episode.Curriculum/difficulty_level
  interval_steps: 50000000
  threshold_std: 0.1
  threshold_abs: 0.025
  mutation:
    agent.params.config.learning_rate: mutate_float
    agent.params.config.bounds_loss_coef: mutate_float
    agent.params.config.gamma: mutate_discount
`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(settings.Name, settings.Options.Members, settings.Options.IntervalSteps, settings.Folder())
	fmt.Println(settings.Options.Explore.Keys())
	fmt.Println(settings.Notes[0])
	_, err = preset.FromYAML([]byte("pbt: {treshold_std: 0.1}"))
	fmt.Println(err)
	// Output:
	// isaaclab 8 50000000 pbt_workspace
	// [discount_factor learning_rate]
	// pbt.mutation.agent.params.config.bounds_loss_coef does nothing: gorl's agents have no loss for actions out of bounds
	// preset: unknown key "pbt.treshold_std" (given 0.1): did you mean "pbt.threshold_std"?
}

func ExampleFromDict() {
	settings, err := preset.FromDict(map[string]any{
		"preset": preset.RayTune,
		"pbt": map[string]any{
			"time_attr": "timesteps_total", "metric": "episode.return", "mode": "max", "perturbation_interval": 100_000,
			"hyperparam_mutations": map[string]any{"lr": "loguniform(1e-5, 1e-3)"},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(settings.Options.Objective, settings.Options.Explore.Keys())
	// Output: episode.return [learning_rate]
}

func ExampleFromFile() {
	_, err := preset.FromFile("population.yaml")
	fmt.Println(err)
	// Output: preset: open population.yaml: no such file or directory
}

func ExampleRayTuneFiles() {
	files := preset.RayTuneFiles([]journal.Event{
		{Kind: journal.Keep, Iteration: 1, Member: 0, Parent: -1, Before: map[string]float64{"learning_rate": 0.1}},
		{Kind: journal.Replace, Iteration: 1, Member: 1, Parent: 0, After: map[string]float64{"learning_rate": 0.12}},
	})
	fmt.Println(slices.Sorted(maps.Keys(files)))
	fmt.Print(string(files["pbt_policy_1.txt"]))
	// Output:
	// [pbt_global.txt pbt_policy_1.txt]
	// ["1","0",1,1,{"lr":0.1},{"lr":0.12}]
}

func ExampleReadPolicy() {
	rows, err := preset.ReadPolicy(strings.NewReader(`["1", "0", 3, 4, {"lr": 0.1}, {"lr": 0.12}]`))
	if err != nil {
		log.Fatal(err)
	}
	initial, changes := preset.Schedule(rows)
	fmt.Println(initial, changes)
	// Output: map[learning_rate:0.1] [{4 map[learning_rate:0.12]}]
}

func ExampleSampleFactoryFiles() {
	files := preset.SampleFactoryFiles([]journal.Event{
		{Kind: journal.Start, Member: 0, Parent: -1, After: map[string]float64{"entropy_loss_scale": 0.003, "env.delta.0": 1, "env.delta.1": 2}},
	})
	fmt.Print(string(files["policy_00_cfg.json"]), string(files["policy_00_reward_shaping.json"]))
	// Output:
	// {"exploration_loss_coeff":0.003}
	// {"delta":[1,2]}
}
