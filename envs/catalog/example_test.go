package catalog_test

import (
	"fmt"
	"log"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/envs/classic"
)

func ExampleNew() {
	env, err := catalog.New(map[string]any{"id": "Pendulum", "num_envs": 4, "wrappers": []any{"clip_action"}})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.NumEnvs(), "environments with observations", env.Spaces().Observation)
	_, err = catalog.New(map[string]any{"id": "Pendulum", "num_env": 4})
	fmt.Println(err)
	// Output:
	// 4 environments with observations Box(3)
	// catalog: Pendulum: unknown key "num_env" (given 4): did you mean "num_envs"?
}

// moon is the settings of an environment of this program.
type moon struct {
	catalog.Batch `yaml:",inline"`
	// Steps is the length of an episode.
	Steps int `yaml:"steps" config:"min=1"`
}

func ExampleRegister() {
	catalog.Register("Moon", moon{Batch: catalog.Defaults(), Steps: 100}, func(m moon) (envs.Env, error) {
		return classic.NewPendulum(classic.Config{NumEnvs: m.NumEnvs, Seed: m.Seed, MaxEpisodeSteps: m.Steps})
	})
	env, err := catalog.New(map[string]any{"id": "Moon", "num_envs": 2})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	settings, err := catalog.Settings(map[string]any{"id": "Moon", "num_envs": 2})
	fmt.Println(env.NumEnvs(), settings, err)
	// Output:
	// 2 map[id:Moon num_envs:2 seed:0 steps:100] <nil>
}
