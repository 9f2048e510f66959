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

func ExampleRewrap() {
	env, err := wrappers.NewParallel(4, func(int) (envs.Single, error) { return &classic.CartPole{}, nil },
		wrappers.ParallelOptions{})
	if err != nil {
		log.Fatal(err)
	}
	limited, err := wrappers.Rewrap(env, func(_ int, single envs.Single) (envs.Single, error) {
		return wrappers.NewTimeLimit(single, 500)
	})
	if err != nil {
		log.Fatal(err)
	}
	defer limited.Close()
	fmt.Println(limited.NumEnvs())
	// Output: 4
}

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
	env, err := wrappers.NewRecord(pendulums(4), wrappers.RecordOptions{Dir: dir})
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
	_, err = os.Stat(filepath.Join(dir, "episode-000000.jsonl"))
	fmt.Println(err)
	// Output: <nil>
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

func ExampleNewClipAction() {
	env, err := wrappers.NewClipAction(pendulums(1))
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	if _, err := env.Reset(0); err != nil {
		log.Fatal(err)
	}
	_, err = env.Step([]float32{100}) // arrives as 2
	fmt.Println(err)
	// Output: <nil>
}

func ExampleNewClipObservation() {
	env, err := wrappers.NewClipObservation(pendulums(1), -1, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.Spaces().Observation.High)
	// Output: [1 1 1]
}

func ExampleNewClipReward() {
	env, err := wrappers.NewClipReward(pendulums(1), -10, 10)
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	step, err := env.Reset(0)
	fmt.Println(len(step.Observations), err)
	// Output: 3 <nil>
}

func ExampleNewEpisodeStatistics() {
	env, err := wrappers.NewEpisodeStatistics(pendulums(1))
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	// Every Step lists the episodes that it ends.
	fmt.Println(env.NumEnvs())
	// Output: 1
}

func ExampleNewNormalizeObservation() {
	env, err := wrappers.NewNormalizeObservation(pendulums(8), wrappers.NormalizeObservationOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	if _, err := env.Reset(0); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f\n", env.Statistics()["count"])
	// Output: [8]
}

func ExampleNewNormalizeReward() {
	env, err := wrappers.NewNormalizeReward(pendulums(8), wrappers.NormalizeRewardOptions{Discount: 0.99})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.Spaces().Observation)
	// Output: Box(3)
}

func ExampleNewRescaleAction() {
	env, err := wrappers.NewRescaleAction(pendulums(4))
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	a := env.Spaces().Action
	fmt.Println(a, a.Low, a.High)
	// Output: Box(1) [-1] [1]
}

func ExampleNewRewardScale() {
	env, err := wrappers.NewRewardScale(pendulums(4), 0.1)
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.NumEnvs())
	// Output: 4
}

func ExampleNewTimeLimit() {
	single, err := wrappers.NewTimeLimit(&classic.Pendulum{}, 50)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(single.Spaces().Action)
	// Output: Box(1)
}
