package wrappers_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/wrappers"
)

func ExampleNewParallel() {
	env, err := wrappers.NewParallel(16, func(i int) (envs.Single, error) {
		return wrappers.NewTimeLimit(&classic.CartPole{}, 500)
	}, wrappers.ParallelOptions{Seed: 1, Workers: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	if _, err := env.Reset(-1); err != nil {
		log.Fatal(err)
	}
	step, err := env.Step(make([]float32, 16))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(step.Observations), step.Rewards[15])
	// Output: 64 1
}

// pendulums is a batch for the examples.
func pendulums(n int) envs.Env {
	env, err := classic.NewPendulum(classic.Config{NumEnvs: n, Seed: 1, MaxEpisodeSteps: 20})
	if err != nil {
		log.Fatal(err)
	}
	return env
}

func ExampleNewRecord() {
	dir, err := os.MkdirTemp("", "recorded")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	env, err := wrappers.NewRecord(pendulums(4), wrappers.RecordOptions{Dir: dir, GIF: true, Transitions: true})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := env.Reset(0); err != nil {
		log.Fatal(err)
	}
	for range 20 {
		if _, err := env.Step(make([]float32, 4)); err != nil {
			log.Fatal(err)
		}
	}
	if err := env.Close(); err != nil {
		log.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		fmt.Println(filepath.Base(f))
	}
	// Output:
	// episode-000000.gif
	// episode-000000.jsonl
}

// A policy for skills: the last 8 values of an observation are the latent to act by.
func ExampleNewSkills() {
	env, err := wrappers.NewSkills(pendulums(4), wrappers.SkillsOptions{Size: 8, MinSteps: 10, MaxSteps: 150, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.Spaces().Observation.Width())
	// Output: 11
}
