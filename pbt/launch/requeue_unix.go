//go:build unix

package launch

import (
	"os"
	"syscall"
)

// requeueSignals ask a member to save and to go back into its queue: what Slurm sends before a job's time is up.
var requeueSignals = []os.Signal{syscall.SIGUSR1}
