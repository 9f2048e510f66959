package catalog_test

import (
	"fmt"
	"log"
	"math"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/wrappers"
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

// halved are the settings of a wrapper of this program.
type halved struct {
	// Times is how often rewards are halved.
	Times int `yaml:"times" config:"min=1"`
}

func ExampleRegisterWrapper() {
	catalog.RegisterWrapper("halve_reward", halved{Times: 1}, func(env envs.Env, s halved) (envs.Env, error) {
		return wrappers.NewRewardScale(env, math.Pow(0.5, float64(s.Times)))
	})
	env, err := catalog.New(map[string]any{"id": "CartPole", "wrappers": []any{
		map[string]any{"halve_reward": map[string]any{"times": 2}}}})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	if _, err := env.Reset(1); err != nil {
		log.Fatal(err)
	}
	step, err := env.Step([]float32{0})
	fmt.Println(step.Rewards, err)
	_, err = catalog.New(map[string]any{"id": "CartPole", "wrappers": []any{
		map[string]any{"halve_reward": map[string]any{"time": 2}}}})
	fmt.Println(err)
	// Output:
	// [0.25] <nil>
	// catalog: unknown key "wrappers[0].halve_reward.time" (given 2): did you mean "wrappers[0].halve_reward.times"?
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
