//go:build unix

package process

import (
	"fmt"
	"syscall"
)

// Confine limits the memory that this process can write to, in bytes, and lowers its priority, so that it takes neither
// memory nor cores from training. The process must lead its process group, as those of [Start] do.
func Confine(memory uint64) error {
	limit := syscall.Rlimit{Cur: memory, Max: memory}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &limit); err != nil {
		return fmt.Errorf("limiting the memory to %d bytes: %w", memory, err)
	}
	// of the group: on Linux a process number stands for one thread only
	if err := syscall.Setpriority(syscall.PRIO_PGRP, 0, 10); err != nil {
		return fmt.Errorf("lowering the priority: %w", err)
	}
	return nil
}

// Terminate asks the process group to end. The error of a group that has ended already is ignored.
func (p *Process) Terminate() { _ = syscall.Kill(-p.PID(), syscall.SIGTERM) }

// Kill ends the process group at once.
func (p *Process) Kill() { _ = syscall.Kill(-p.PID(), syscall.SIGKILL) }
