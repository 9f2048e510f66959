// Package classic has small environments in pure Go with the dynamics of Gymnasium 1.4: [CartPole], [Pendulum],
// [Acrobot] and [MountainCar]. It also has CartPole without velocities ([MaskedCartPole]) and from pictures
// ([CartPolePixels]), the corridor [TMaze], and the board game [ConnectFour], which has action masks. [Sumo],
// [TicTacToe] and [Spread] are for several agents ([spaces.Seat]).
//
// Each is an [envs.Single] that never truncates an episode. The constructors, such as [NewCartPole], return batches
// of them with time limits, which are Gymnasium's for its environments. All can be drawn ([envs.Renderer]) and saved
// ([envs.Stateful]); the reward of MountainCar can be shaped ([envs.RewardShaper]).
//
// State and dynamics are float64, observations and actions float32.
package classic

import (
	"cmp"
	"fmt"
	"math"
	"runtime"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/spaces"
)

// Config is how many environments to make, and how. No NumEnvs means 1. No Workers means one for every 256
// environments, at most one a processor.
type Config struct {
	// NumEnvs is the number of environments that step together.
	NumEnvs int `yaml:"num_envs" config:"min=1,max=1048576"`
	// Seed seeds the environments; a trainer seeds them again with its own seed.
	Seed int64 `yaml:"seed" config:"min=0"`
	// MaxEpisodeSteps is the length at which episodes are truncated: 0 is the usual limit (of TMaze ten times the
	// shortest way), a negative number none.
	MaxEpisodeSteps int `yaml:"max_episode_steps"`
	// Workers is the number of goroutines that step; 0 chooses. Results do not depend on it.
	Workers int `yaml:"workers" config:"min=0"`
}

// vectorize returns a batch of environments, each with a time limit of limit steps unless cfg says otherwise. name is
// used in errors.
func vectorize(name string, cfg Config, limit int, create func() envs.Single) (envs.Env, error) {
	cfg.NumEnvs, limit = cmp.Or(cfg.NumEnvs, 1), cmp.Or(cfg.MaxEpisodeSteps, limit)
	// A step is short compared with the hand-over to a goroutine, so each goroutine gets at least 256 environments.
	cfg.Workers = cmp.Or(cfg.Workers, max(1, min(runtime.GOMAXPROCS(0), cfg.NumEnvs/256)))
	env, err := wrappers.NewParallel(cfg.NumEnvs, func(int) (envs.Single, error) {
		if limit < 0 {
			return create(), nil
		}
		return wrappers.NewTimeLimit(create(), limit)
	}, wrappers.ParallelOptions{Seed: cfg.Seed, Workers: cfg.Workers})
	if err != nil {
		return nil, fmt.Errorf("classic: %s: %w", name, err)
	}
	return env, nil
}

// discrete returns the choice in an action row (1), a whole number in [0, n). Anything else is an error.
func discrete(action []float32, n int) (int, error) {
	a := action[0]
	if !(a >= 0 && a < float32(n)) || a != float32(int(a)) {
		return 0, fmt.Errorf("classic: the action is %g; it must be a whole number from 0 to %d", a, n-1)
	}
	return int(a), nil
}

// continuous returns the number in an action row (1). NaN and infinities are errors.
func continuous(action []float32) (float64, error) {
	a := float64(action[0])
	if a-a != 0 {
		return 0, fmt.Errorf("classic: the action is %g; it must be finite", a)
	}
	return a, nil
}

// within returns a box of numbers of at most these sizes, in both directions.
func within(high ...float32) spaces.Space {
	low := make([]float32, len(high))
	for i, h := range high {
		low[i] = -h
	}
	return spaces.Space{Kind: spaces.Box, Shape: []int{len(high)}, Low: low, High: high}
}

// put writes values into a row as float32.
func put(row []float32, values ...float64) {
	for i, v := range values {
		row[i] = float32(v)
	}
}

// wrapAngle returns the same angle in [-π, π), in radians.
func wrapAngle(a float64) float64 {
	a = math.Mod(a+math.Pi, 2*math.Pi)
	if a < 0 {
		a += 2 * math.Pi
	}
	return a - math.Pi
}

// clamp returns the number in [low, high] that is nearest to v.
func clamp(v, low, high float64) float64 { return math.Max(low, math.Min(high, v)) }

// marshal returns a saved state: the header, then the numbers bit for bit.
func marshal(header string, values ...*float64) ([]byte, error) {
	e := statecodec.NewEncoder(header)
	for _, v := range values {
		e.Float(*v)
	}
	return e.State(), nil
}

// restore reads a state that marshal returned into values, all or (on an error) none. The header must be the same.
func restore(header string, b []byte, values ...*float64) error {
	d := statecodec.NewDecoder(header, b)
	read := make([]float64, len(values))
	d.Numbers(read)
	if err := d.End(); err != nil {
		return fmt.Errorf("classic: %w", err)
	}
	for i, v := range values {
		*v = read[i]
	}
	return nil
}
