// Package onecore lets gotorch start on a machine with one core. Its init gives libtorch half as many threads as there
// are cores, and libtorch ends the process where that is 0, unless OMP_NUM_THREADS is set: so this package sets it. Go
// initialises packages that depend on no other one in the order of their paths, this one before gotorch's;
// TestOneCore of package tensor holds it to that.
package onecore

import (
	"os"
	"runtime"
)

func init() {
	if runtime.NumCPU() == 1 && os.Getenv("OMP_NUM_THREADS") == "" && os.Getenv("MKL_NUM_THREADS") == "" {
		_ = os.Setenv("OMP_NUM_THREADS", "1")
	}
}
