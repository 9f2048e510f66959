//go:build !unix

package launch

import (
	"errors"
	"os"
)

// requeueSignals is empty where there is no such signal.
var requeueSignals []os.Signal

// replaceProcess is impossible where a process cannot become another.
func replaceProcess() error {
	return errors.New("launch: this system cannot start a program in a process that runs")
}
