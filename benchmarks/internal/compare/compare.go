// Package compare has what the programs in benchmarks share: their start, medians, and the environment of a process
// that computes on one thread.
package compare

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"gonum.org/v1/gonum/stat"

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

// Median returns the median of values: of an even number the lower one of the two in the middle, of none 0.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stat.Quantile(0.5, stat.Empirical, slices.Sorted(slices.Values(values)), nil)
}

// SingleThread is the environment of a process that computes on one thread.
func SingleThread() []string {
	return append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
}
