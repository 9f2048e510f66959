package main

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/tracking"
)

//go:embed stepping.py
var stepping string

// compareSpeed lets the bridge and Python alone take turns at stepping a simulator with random actions, and prints the
// medians.
func compareSpeed(ctx context.Context, id string) {
	simulator, task, found := strings.Cut(id, ":")
	if !found {
		compare.Check(fmt.Errorf("-speed is %q; it must be as envpool:HalfCheetah-v4", id))
	}
	args := []string{"-W", "ignore", "-c", stepping, simulator, task, strconv.Itoa(*envs),
		fmt.Sprint(length.Seconds())}
	if *device != "" {
		args = append(args, *device)
	}
	var mine, alone, ratios []float64
	for range *rounds {
		a := bridged(id)
		printed, _ := run(ctx, nil, *interpreter, args...)
		b := compare.Must(strconv.ParseFloat(strings.TrimSpace(string(printed)), 64))
		mine, alone, ratios = append(mine, a), append(alone, b), append(ratios, a/b)
	}
	header := []string{"simulator", "environments", "bridge, environment steps/s", "Python alone", "ratio"}
	compare.Check(tracking.Table(os.Stdout, header, [][]string{{id, strconv.Itoa(*envs),
		fmt.Sprintf("%.0f", compare.Median(mine)), fmt.Sprintf("%.0f", compare.Median(alone)),
		fmt.Sprintf("%.2f", compare.Median(ratios))}}))
}

// bridged returns how many environment steps a second a simulator makes behind the bridge, under random actions.
func bridged(id string) (rate float64) {
	settings := map[string]any{"id": id, "num_envs": *envs, "python": *interpreter}
	if *device != "" {
		settings["kwargs"] = map[string]any{"device": *device}
	}
	env := compare.Must(catalog.New(settings))
	defer env.Close()
	compare.Must(env.Reset(1))
	space, rng := env.Spaces().Action, rand.New(rand.NewPCG(1, 1))
	actions := make([][]float32, 64) // rows of actions, drawn before the clock runs
	for k := range actions {
		actions[k] = space.Rows(env.NumEnvs())
		space.Sample(rng, actions[k])
	}
	for _, length := range []time.Duration{*length / 10, *length * 9 / 10} { // the first tenth warms up
		steps, start := 0, time.Now()
		for ; time.Since(start) < length; steps++ {
			compare.Must(env.Step(actions[steps%len(actions)]))
		}
		rate = float64(steps*env.NumEnvs()) / time.Since(start).Seconds()
	}
	return rate
}
