//go:build unix

package launch

import (
	"fmt"
	"os"
	"syscall"
)

// terminate asks the process group to end. A group that has ended cannot be asked, which is as well.
func (p *process) terminate() { _ = syscall.Kill(-p.command.Process.Pid, syscall.SIGTERM) }

// kill ends the process group at once.
func (p *process) kill() { _ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) }

// requeueSignals ask a member to save and to go back into its queue: what Slurm sends before a job's time is up.
var requeueSignals = []os.Signal{syscall.SIGUSR1}

// replaceProcess starts this program anew in the same process; it returns only where that fails.
func replaceProcess() error {
	path, err := os.Executable()
	if err == nil {
		err = syscall.Exec(path, os.Args, os.Environ())
	}
	return fmt.Errorf("launch: starting anew: %w", err)
}
