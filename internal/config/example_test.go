package config_test

import (
	"fmt"

	"github.com/gorl-dev/gorl/internal/config"
)

func ExampleMerge() {
	type Config struct {
		LearningRate float64 `yaml:"learning_rate" config:"gt=0"`
		MiniBatches  int     `yaml:"mini_batches" config:"min=1"`
		Lambda       float64 `yaml:"gae_lambda" config:"min=0,max=1"`
	}
	cfg := Config{LearningRate: 5e-5, MiniBatches: 2, Lambda: 0.95}
	options := config.Options{Prefix: "amp", Aliases: map[string]config.Alias{"lambda": {Key: "gae_lambda"}}}

	fmt.Println(config.Merge(&cfg, map[string]any{"learning_rat": 0.001, "mini_batches": "two"}, options))
	fmt.Println(config.Merge(&cfg, map[string]any{"lambda": 0.9, "learning_rate": "1e-3"}, options), cfg)
	// Output:
	// amp: unknown key "learning_rat" (given 0.001): did you mean "learning_rate"?
	// amp: "mini_batches" is "two" (string): want an integer ≥ 1
	// <nil> {0.001 2 0.9}
}

func ExampleFromYAML() {
	_, err := config.FromYAML([]byte("learning_rate: 1e-4\nmini_batches: 2\nlearning_rate: 1e-3\n"))
	fmt.Println(err)
	// Output:
	// config: yaml: unmarshal errors:
	//   line 3: mapping key "learning_rate" already defined at line 1
}
