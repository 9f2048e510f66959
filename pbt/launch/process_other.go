//go:build !unix

package launch

// This file stands in for process_unix.go and the group files where there are no process groups and signals: members
// are ended without being asked to save, so that they continue from their last checkpoint.

import (
	"errors"
	"os"
	"syscall"
)

// ownGroup is nothing special: the child begins like any other.
func ownGroup() *syscall.SysProcAttr { return nil }

// terminate ends the process: this system has no signal to ask it.
func (p *process) terminate() { p.kill() }

// kill ends the process at once.
func (p *process) kill() { _ = p.command.Process.Kill() }

// requeueSignals is empty where there is no such signal.
var requeueSignals []os.Signal

// replaceProcess is impossible where a process cannot become another.
func replaceProcess() error {
	return errors.New("launch: this system cannot start a program in a process that runs")
}
