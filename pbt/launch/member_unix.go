//go:build unix

package launch

import (
	"fmt"
	"os"
	"syscall"
)

// requeueSignals ask a member to save and to go back into its queue: what Slurm sends before a job's time is up.
var requeueSignals = []os.Signal{syscall.SIGUSR1}

// replaceProcess starts this program again in the same process; it returns only if that fails.
//
// The new program keeps the process number, the environment and the arguments, and so its place in the group and the
// pod.
func replaceProcess() error {
	path, err := os.Executable()
	if err == nil {
		err = syscall.Exec(path, os.Args, os.Environ())
	}
	return fmt.Errorf("launch: starting anew: %w", err)
}
