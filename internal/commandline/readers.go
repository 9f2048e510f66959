package commandline

import (
	"os"
	"os/signal"
	"syscall"
)

// OutliveReaders keeps the process alive if its output is no longer read: writing then returns an error instead of
// ending the process. Long work needs that, because Ctrl-C also ends its reader (tee, less).
func OutliveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
