// Package compare has what the programs in benchmarks share: their start and end, medians, and the environment of a
// process that computes on one thread.
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

// Main parses the flags and calls run with a context that ends at an interrupt. A second interrupt ends the program.
func Main(run func(ctx context.Context)) {
	tensor.TuneAllocator() // as gorl's commands do
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	defer stop()
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case failure:
			log.Fatal(reason.error)
		default:
			panic(reason)
		}
	}()
	run(ctx)
}

// failure is the error that Check ends a program with.
type failure struct{ error }

// Check ends the program if err is not nil: Main prints err. Deferred calls run before that.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Must returns a value, or ends the program as Check does.
func Must[T any](value T, err error) T {
	Check(err)
	return value
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
