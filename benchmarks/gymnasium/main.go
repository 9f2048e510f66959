// Command gymnasium times gorl's bridge to Gymnasium beside Gymnasium's own AsyncVectorEnv (with shared memory): the
// same environments, reset in the same step, random actions, nothing learnt. The two take turns in one run.
//
//	GORL_PEERS=~/.cache/gorl/peers go run ./benchmarks/gymnasium
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/envs/wrappers/gymnasium"
	"github.com/gorl-dev/gorl/tracking"
)

//go:embed async.py
var async string

func main() {
	ids := flag.String("env", "CartPole-v1,HalfCheetah-v5", "environments, comma-separated")
	sizes := flag.String("envs", "8,64", "numbers of environments, comma-separated")
	rounds := flag.Int("rounds", 3, "how often the two sides take turns; the table has the medians")
	length := flag.Duration("time", 2*time.Second, "how long a side steps in a round")
	children := flag.Int("children", 0, "Python processes of the bridge; 0 means one for each processor")
	spin := flag.Duration("spin", 0, "how long the bridge's processes look for work before they sleep")
	python := flag.String("python", "", "the interpreter; by default that of GORL_PEERS, else python3")
	flag.Parse()
	if *python == "" {
		*python = "python3"
		if folder := os.Getenv("GORL_PEERS"); folder != "" {
			*python = filepath.Join(folder, "bin", "python")
		}
	}
	fmt.Printf("%d CPUs, medians of %d rounds of %v\n\n", runtime.NumCPU(), *rounds, *length)
	var rows [][]string
	for _, id := range strings.Split(*ids, ",") {
		for _, size := range strings.Split(*sizes, ",") {
			n, err := strconv.Atoi(size)
			if err != nil {
				log.Fatal(err)
			}
			var mine, theirs, ratios []float64
			for range *rounds {
				a, err := bridge(gymnasium.Options{ID: id, NumEnvs: n, Children: min(n, *children), Spin: *spin, Python: *python},
					*length)
				if err != nil {
					log.Fatal(err)
				}
				b, err := vector(*python, id, n, *length)
				if err != nil {
					log.Fatal(err)
				}
				mine, theirs, ratios = append(mine, a), append(theirs, b), append(ratios, a/b)
			}
			rows = append(rows, []string{id, size, fmt.Sprintf("%.0f", median(mine)), fmt.Sprintf("%.0f", median(theirs)),
				fmt.Sprintf("%.1f", median(ratios))})
		}
	}
	if err := tracking.Table(os.Stdout, []string{"environment", "envs", "gorl, environment steps/s",
		"AsyncVectorEnv, environment steps/s", "ratio"}, rows); err != nil {
		log.Fatal(err)
	}
}

// bridge returns how many environment steps the bridge makes in a second.
func bridge(o gymnasium.Options, length time.Duration) (float64, error) {
	env, err := gymnasium.New(o)
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
		actions[k] = make([]float32, o.NumEnvs*env.Spaces().Action.Width())
		env.Spaces().Action.Sample(rng, actions[k])
	}
	rate := 0.0
	for _, length := range []time.Duration{length / 10, length * 9 / 10} { // the first tenth warms up
		steps, start := 0, time.Now()
		for ; time.Since(start) < length; steps++ {
			if _, err := env.Step(actions[steps%kinds]); err != nil {
				return 0, err
			}
		}
		rate = float64(steps*o.NumEnvs) / time.Since(start).Seconds()
	}
	return rate, nil
}

// vector returns the same of Gymnasium's AsyncVectorEnv.
func vector(python, id string, n int, length time.Duration) (float64, error) {
	command := exec.Command(python, "-c", async, id, strconv.Itoa(n), fmt.Sprint(length.Seconds()))
	command.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
	out, err := command.Output()
	if err != nil {
		return 0, fmt.Errorf("AsyncVectorEnv: %w", err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
