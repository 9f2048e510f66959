// Command benchmarks times gorl, and skrl beside it in the same run where `make peers` has been run: one update, one
// rollout step, and training end to end. It is what docs/performance.md quotes.
//
//	go run ./benchmarks                 # the table
//	go run ./benchmarks -only gorl      # gorl alone; with -mixed its layers compute in bfloat16
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"strings"

	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking"
)

func main() {
	only := flag.String("only", "", "gorl: without skrl")
	sizes := flag.String("sizes", "small,large,gru,camera,walker", "which sizes, comma-separated")
	flag.BoolVar(&mixed, "mixed", false, "gorl's layers compute in bfloat16 (mixed_precision)")
	rounds := flag.Int("rounds", 3, "how often the two sides take turns; the table has the medians")
	threads := flag.Int("stepping-threads", runtime.NumCPU(), "threads that step MuJoCo, on both sides")
	flag.Parse()
	tensor.SetThreads(1)
	fmt.Printf("libtorch %s, matrix kernels %q, one compute thread, %d CPUs, MuJoCo stepped on %d threads\n\n",
		tensor.TorchVersion(), tensor.BLASKernels(), runtime.NumCPU(), *threads)
	peers := ""
	if *only != "gorl" {
		peers = findPeers()
	}
	var rows [][]string
	for _, size := range strings.Split(*sizes, ",") {
		got, err := compare(size, peers, *rounds, *threads)
		if err != nil {
			log.Fatal(err)
		}
		rows = append(rows, got...)
	}
	fmt.Println()
	header := []string{"size", "measure", "gorl", "skrl", "gorl / skrl", "skrl, same kernels", "gorl / skrl"}
	if peers == "" {
		header = header[:3]
	}
	if err := tracking.Table(os.Stdout, header, rows); err != nil {
		log.Fatal(err)
	}
}

// compare lets the sides take turns at one size and returns the table's rows.
func compare(size, peers string, rounds, threads int) ([][]string, error) {
	var mine, theirs, same samples
	for round := range rounds {
		got, err := gorl(size, threads)
		if err != nil {
			return nil, err
		}
		mine.add(got)
		if peers != "" {
			if got, err = skrl(peers, size, threads, ""); err != nil {
				return nil, err
			}
			theirs.add(got)
			kernels, _, _ := strings.Cut(tensor.BLASKernels(), " ")
			if got, err = skrl(peers, size, threads, kernels); err != nil {
				return nil, err
			}
			same.add(got)
		}
		fmt.Printf("%s: round %d of %d: gorl %v", size, round+1, rounds, latest(mine))
		if peers != "" {
			fmt.Printf("  skrl %v  with the same kernels %v", latest(theirs), latest(same))
		}
		fmt.Println()
	}
	var rows [][]string
	for _, measure := range mine.names {
		unit := "%.2f ms"
		if measure == "steps_per_second" {
			unit = "%.0f/s"
		}
		row := []string{size, measure, fmt.Sprintf(unit, mine.median(measure))}
		for _, peer := range []samples{theirs, same} {
			if peers == "" {
				continue
			}
			row = append(row, fmt.Sprintf(unit, peer.median(measure)),
				fmt.Sprintf("%.2f", mine.median(measure)/peer.median(measure)))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// latest shows the last round's figures.
func latest(s samples) string {
	var parts []string
	for _, name := range s.names {
		v := s.values[name]
		parts = append(parts, fmt.Sprintf("%s %.2f", name, v[len(v)-1]))
	}
	return strings.Join(parts, ", ")
}
