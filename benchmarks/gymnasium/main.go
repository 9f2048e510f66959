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
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
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
				a, err := bridge(gymnasium.Options{ID: id, NumEnvs: n, Children: min(n, *children), Spin: *spin,
					Python: *python},
					*length)
				if err != nil {
					log.Fatal(err)
				}
				b, err := compare.PythonRate(*python, "-c", async, id, size, fmt.Sprint(length.Seconds()))
				if err != nil {
					log.Fatal(err)
				}
				mine, theirs, ratios = append(mine, a), append(theirs, b), append(ratios, a/b)
			}
			rows = append(rows, []string{id, size, fmt.Sprintf("%.0f", compare.Median(mine)),
				fmt.Sprintf("%.0f", compare.Median(theirs)),
				fmt.Sprintf("%.1f", compare.Median(ratios))})
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
	return compare.StepRate(env, length, env.Spaces().Action.Sample)
}
