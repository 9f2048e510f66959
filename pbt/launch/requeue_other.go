//go:build !unix

package launch

import "os"

// requeueSignals is empty where there is no such signal.
var requeueSignals []os.Signal
