package main

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/tracking"
)

//go:embed stepping.py
var stepping string

//go:embed instant.py
var instant string

// compareSpeed lets the bridge and Python alone take turns at stepping a simulator with random actions, and prints the
// medians.
func compareSpeed(id string) error {
	simulator, task, found := strings.Cut(id, ":")
	if !found {
		return fmt.Errorf("-speed is %q; it must be as envpool:HalfCheetah-v4, or batch", id)
	}
	var mine, alone, ratios []float64
	for range *rounds {
		a, err := bridged(map[string]any{"id": id, "num_envs": *envs})
		if err != nil {
			return err
		}
		b, err := python(simulator, task)
		if err != nil {
			return err
		}
		mine, alone, ratios = append(mine, a), append(alone, b), append(ratios, a/b)
	}
	header := []string{"simulator", "environments", "bridge, environment steps/s", "Python alone", "ratio"}
	return tracking.Table(os.Stdout, header, [][]string{{
		id, strconv.Itoa(*envs), fmt.Sprintf("%.0f", median(mine)), fmt.Sprintf("%.0f", median(alone)), fmt.Sprintf("%.2f", median(ratios)),
	}})
}

// measureBridge steps a batch of the size of Isaac Lab's AMP humanoids that returns at once, and prints what a step
// costs beside a plain copy of as many bytes.
func measureBridge() error {
	const copies, floats = 4096, 105 + 210 + 28 // observations, AMP observations, actions
	folder, err := os.MkdirTemp("", "gorl-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := os.WriteFile(filepath.Join(folder, "instant.py"), []byte(instant), 0o644); err != nil {
		return err
	}
	*envs = copies
	rate, err := bridged(map[string]any{
		"id": "batch", "factory": "instant:Batch", "path": []any{folder}, "num_envs": copies, "amp_observations": "amp_obs",
	})
	if err != nil {
		return err
	}
	from, to, n := make([]float32, copies*floats), make([]float32, copies*floats), 0
	start := time.Now()
	for ; time.Since(start) < time.Second; n++ {
		copy(to, from)
	}
	copied := time.Since(start).Seconds() / float64(n)
	step := copies / rate
	fmt.Printf("%d environments, %.2f MB a step: %.0f µs, %.1f GB/s; a plain copy of it %.0f µs, %.1f GB/s\n", copies, 4e-6*float64(len(from)), 1e6*step,
		4e-9*float64(len(from))/step, 1e6*copied, 4e-9*float64(len(from))/copied)
	return nil
}

// bridged returns how many environment steps a second a simulator makes behind the bridge.
func bridged(settings map[string]any) (float64, error) {
	settings["python"] = *interpreter
	if *device != "" {
		settings["kwargs"] = map[string]any{"device": *device}
	}
	env, err := catalog.New(settings)
	if err != nil {
		return 0, err
	}
	defer env.Close()
	if _, err := env.Reset(1); err != nil {
		return 0, err
	}
	const kinds = 64 // of rows of actions
	actions := make([][]float32, kinds)
	rng := rand.New(rand.NewPCG(1, 1))
	for k := range actions {
		actions[k] = make([]float32, env.NumEnvs()*env.Spaces().Action.Width())
		for i := range actions[k] {
			actions[k][i] = 2*rng.Float32() - 1
		}
	}
	rate := 0.0
	for _, length := range []time.Duration{*length / 10, *length * 9 / 10} { // the first tenth warms up
		steps, start := 0, time.Now()
		for ; time.Since(start) < length; steps++ {
			if _, err := env.Step(actions[steps%kinds]); err != nil {
				return 0, err
			}
		}
		rate = float64(steps*env.NumEnvs()) / time.Since(start).Seconds()
	}
	return rate, nil
}

// python returns the same of the simulator alone.
func python(simulator, task string) (float64, error) {
	command := exec.Command(*interpreter, "-W", "ignore", "-c", stepping, simulator, task, strconv.Itoa(*envs), fmt.Sprint(length.Seconds()))
	if *device != "" {
		command.Args = append(command.Args, *device)
	}
	command.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1") // as the bridge's children
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return 0, fmt.Errorf("%s from Python alone: %w\n%s", task, err, said.String())
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
