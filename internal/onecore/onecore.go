// Package onecore lets gotorch start on a machine with one core. Its init gives libtorch half as many threads as there
// are cores, and libtorch ends the process where that is 0, unless OMP_NUM_THREADS is set: so this package sets it
// until gotorch has started. Go initialises packages that depend on no other one in the order of their paths, this one
// before gotorch's; TestOneCore of package tensor holds it to that.
package onecore

import (
	"os"
	"runtime"
)

const variable = "OMP_NUM_THREADS"

var (
	set    bool   // whether this package has set it
	before string // an empty value is as good as none
	had    bool
)

func init() {
	before, had = os.LookupEnv(variable)
	if runtime.NumCPU() == 1 && before == "" && os.Getenv("MKL_NUM_THREADS") == "" {
		set = os.Setenv(variable, "1") == nil
	}
}

// Restore makes the environment what it was, after gotorch's init.
func Restore() {
	if set && had {
		_ = os.Setenv(variable, before)
	} else if set {
		_ = os.Unsetenv(variable)
	}
}
