package envs_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/spaces"
)

// walk is a custom environment: a point on a line that should reach 1 by steps of at most 0.1.
type walk struct{ x float32 }

func (w *walk) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.Unbounded(1), Action: spaces.NewBox(-1, 1, 1)}
}

func (w *walk) Reset(rng *rand.Rand, out envs.Row) error {
	w.x = rng.Float32() - 0.5
	out.Observation[0] = w.x
	return nil
}

func (w *walk) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	w.x += 0.1 * max(-1, min(1, action[0]))
	out.Observation[0] = w.x
	return -1, w.x >= 1, false, nil
}

func (w *walk) Close() error { return nil }

// A custom environment is an envs.Single; Parallel makes a batch of it and Check finds mistakes.
func ExampleCheck() {
	env, err := wrappers.NewParallel(8, func(int) (envs.Single, error) {
		return wrappers.NewTimeLimit(&walk{}, 50)
	}, wrappers.ParallelOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(envs.Check(env, 200, 1))
	// Output: <nil>
}
