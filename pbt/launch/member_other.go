//go:build !unix

package launch

import (
	"errors"
	"os"
)

// requeueSignals is empty if there is no such signal.
var requeueSignals []os.Signal

// replaceProcess is impossible if a process cannot become another.
func replaceProcess() error {
	return errors.New("launch: this system cannot start a program in a process that runs")
}
