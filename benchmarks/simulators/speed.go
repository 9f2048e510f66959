package main

import (
	_ "embed"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/tracking"
)

//go:embed stepping.py
var stepping string

// compareSpeed lets the bridge and Python alone take turns at stepping a simulator with random actions, and prints the
// medians.
func compareSpeed(id string) error {
	simulator, task, found := strings.Cut(id, ":")
	if !found {
		return fmt.Errorf("-speed is %q; it must be as envpool:HalfCheetah-v4", id)
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
