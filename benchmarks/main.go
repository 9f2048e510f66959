// Command benchmarks times gorl and, if `make peers` has been run, JAX and skrl: one update, one rollout step, training
// end to end. JAX makes the updates of small, medium, large and gru, each as one compiled program. With
// `make pytorch` gorl and skrl also run on PyPI's PyTorch. All sides take turns in one run, each in processes of its
// own. It is what docs/performance.md quotes. It is run in the repository's folder: the sizes walker and humanoid have
// skrl read the models in envs/mujoco, and step them by the library that `make peers` compiles from
// benchmarks/peers/stepper.c.
//
//	go run ./benchmarks                                  # the table, as Markdown
//	go run ./benchmarks -only gorl -sizes small          # gorl alone; with -mixed its layers compute in bfloat16
//	go run ./benchmarks -device cuda -graphs             # on a GPU, and minibatches are replayed as CUDA graphs
//	go run ./benchmarks -sizes humanoid                  # characters in space: physics, acting, learning, end to end
//	go run ./benchmarks -ranks 2 -sizes small,large      # two ranks beside one process with two threads
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/tensor"
)

func main() {
	only := flag.String("only", "", "gorl: without JAX and skrl")
	sizes := flag.String("sizes", "rate,small,medium,large,gru,camera,walker,walker-overlap,humanoid,population",
		"which sizes, comma-separated")
	threads := flag.String("threads", "1,2",
		"compute threads of all sides: the table has every number, comma-separated")
	rounds := flag.Int("rounds", 3, "how often the sides take turns; the table has the medians")
	stepping := flag.Int("stepping-threads", runtime.NumCPU(), "threads that step MuJoCo, on all sides")
	flag.BoolVar(&mixed, "mixed", false, "gorl's layers compute in bfloat16 (mixed_precision)")
	flag.BoolVar(&graphs, "graphs", false, "gorl's minibatches are replayed as CUDA graphs (cuda_graphs)")
	flag.StringVar(&device, "device", "cpu", "gorl's and skrl's device")
	flag.IntVar(&soakUpdates, "updates", 3000, "updates of the size soak, which watches the memory")
	several := flag.Int("ranks", 0,
		"compare so many ranks, each with its share of the environments, to one process with so many threads")
	measured := flag.String("measure", "", "only measure gorl at this size, in this process, and print lines of JSON")
	compare.Main(func(ctx context.Context) {
		sizes := strings.Split(*sizes, ",")
		switch {
		case *several > 0:
			compareRanks(ctx, sizes, *several, *rounds)
		case *measured != "":
			printMeasures(*measured, *threads, *stepping)
		default:
			takeTurns(ctx, sizes, strings.Split(*threads, ","), *rounds, *stepping, *only == "gorl")
		}
	})
}

// printMeasures is what the parent process runs for every side of gorl's.
func printMeasures(size, threads string, stepping int) {
	tensor.SetThreads(compare.Must(strconv.Atoi(threads))) // one number
	place, several, err := distributed.Detect(os.Getenv)
	compare.Check(err)
	var got []measure
	if several {
		got = rankUpdate(size, place)
	} else {
		got = gorl(size, stepping)
	}
	for _, m := range got {
		compare.Check(json.NewEncoder(os.Stdout).Encode(m))
	}
}

// takeTurns lets the sides take turns and prints the table.
func takeTurns(ctx context.Context, sizes, threads []string, rounds, stepping int, alone bool) {
	sides, columns := findSides(alone)
	fmt.Printf("libtorch %s, matrix kernels %q, %d CPUs, MuJoCo stepped on %d threads\n", tensor.TorchVersion(),
		tensor.BLASKernels(), runtime.NumCPU(), stepping)
	t := table{columns: columns}
	best := map[string]float64{} // the highest rate of matrix products, by threads
	for _, size := range sizes {
		for _, n := range threads {
			results := make([]samples, len(sides))
			for round := range rounds {
				for i, side := range sides {
					if !side.runs(size) {
						continue
					}
					results[i].add(side.measure(ctx, size, n, stepping))
					fmt.Fprintf(os.Stderr, "%s, %s threads, round %d of %d: %s: %s\n", size, n, round+1, rounds,
						side.name, latest(results[i]))
				}
			}
			for _, r := range results {
				best[n] = max(best[n], r.median("product"))
			}
			t.add(size, n, results, best[n])
		}
	}
	fmt.Println()
	t.print()
}
