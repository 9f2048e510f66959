package preset_test

import (
	"fmt"
	"log"

	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/pbt/strategy"
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
    agent.params.config.mini_epochs: mutate_float
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
	// [bounds_loss_scale discount_factor learning_rate]
	// pbt.mutation.agent.params.config.mini_epochs does nothing: it cannot change while gorl's agents train
	// preset: unknown key "pbt.treshold_std" (given 0.1): did you mean "pbt.threshold_std"?
}

// margin are the settings of a preset of one's own.
type margin struct {
	Margin float64 `yaml:"margin" config:"gt=0"`
}

func ExampleRegister() {
	preset.Register("margin", margin{0.5}, func(m margin) (strategy.Strategy, explore.Explorer, error) {
		return strategy.IsaacLab{ThresholdAbs: m.Margin},
			explore.Mutation{Rules: explore.Rules{"learning_rate": explore.PerturbFloat}}, nil
	})
	settings, err := preset.FromYAML(
		[]byte("{preset: margin, pbt: {margin: 0.8, num_policies: 4, interval_steps: 50000}}"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v %d %v\n", settings.Options.Strategy, settings.Options.Members, settings.Options.Explore.Keys())
	// Output: {ThresholdStd:0 ThresholdAbs:0.8 Strict:false} 4 [learning_rate]
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
