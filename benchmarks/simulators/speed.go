package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
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
		args := []string{"-W", "ignore", "-c", stepping, simulator, task, strconv.Itoa(*envs),
			fmt.Sprint(length.Seconds())}
		if *device != "" {
			args = append(args, *device)
		}
		b, err := compare.PythonRate(*interpreter, args...)
		if err != nil {
			return err
		}
		mine, alone, ratios = append(mine, a), append(alone, b), append(ratios, a/b)
	}
	header := []string{"simulator", "environments", "bridge, environment steps/s", "Python alone", "ratio"}
	return tracking.Table(os.Stdout, header, [][]string{{
		id, strconv.Itoa(*envs), fmt.Sprintf("%.0f", compare.Median(mine)), fmt.Sprintf("%.0f",
			compare.Median(alone)), fmt.Sprintf("%.2f", compare.Median(ratios)),
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
		"id": "batch", "factory": "instant:Batch", "path": []any{folder}, "num_envs": copies,
		"amp_observations": "amp_obs",
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
	fmt.Printf("%d environments, %.2f MB a step: %.0f µs, %.1f GB/s; a plain copy of it %.0f µs, %.1f GB/s\n", copies,
		4e-6*float64(len(from)), 1e6*step,
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
	return compare.StepRate(env, *length, env.Spaces().Action.Sample)
}
