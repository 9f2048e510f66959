// Package compare has what the programs in benchmarks share: their start, medians, and the rates at which environments
// are stepped.
package compare

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/tensor"
)

// Main parses the flags and calls run with a context that ends at an interrupt. An error of run ends the program.
func Main(run func(ctx context.Context) error) {
	tensor.TuneAllocator()
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

// Median returns the median of values, 0 if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stat.Quantile(0.5, stat.LinInterp, slices.Sorted(slices.Values(values)), nil)
}

// BuildGorl builds the command gorl in a temporary folder, which remove removes.
func BuildGorl(ctx context.Context) (program string, remove func(), err error) {
	folder, err := os.MkdirTemp("", "gorl-*")
	if err != nil {
		return "", nil, err
	}
	remove, program = func() { _ = os.RemoveAll(folder) }, filepath.Join(folder, "gorl")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/gorl").CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("go build ./cmd/gorl: %w\n%s", err, text)
	}
	return program, remove, nil
}

// SingleThread is the environment of a process that computes on one thread.
func SingleThread() []string {
	return append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
}

// StepRate steps an environment for a while and returns the environment steps a second. draw fills one step's actions.
func StepRate(env envs.Env, length time.Duration, draw func(rng *rand.Rand, actions []float32)) (rate float64,
	err error) {
	if _, err := env.Reset(1); err != nil {
		return 0, err
	}
	const kinds = 64 // of rows of actions
	rng, actions := rand.New(rand.NewPCG(1, 1)), make([][]float32, kinds)
	for k := range actions {
		actions[k] = make([]float32, env.NumEnvs()*env.Spaces().Action.Width())
		draw(rng, actions[k])
	}
	for _, length := range []time.Duration{length / 10, length * 9 / 10} { // the first tenth warms up
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

// PythonRate runs a program in Python on one thread. It returns the rate that the program prints.
func PythonRate(python string, args ...string) (float64, error) {
	command := exec.Command(python, args...)
	command.Env = SingleThread() // as the children of gorl's bridge
	var errs strings.Builder
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		return 0, fmt.Errorf("Python alone: %w\n%s", err, errs.String())
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}
