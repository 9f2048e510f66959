//go:build !unix

package launch

import (
	"errors"
	"os"
	"syscall"
)

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
