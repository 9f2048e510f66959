package commandline

import (
	"os"
	"os/signal"
	"syscall"
)

// OutliveReaders keeps the process alive from now on where nobody reads what it writes any more: writing is then an error, by
// which nothing is lost, rather than the end. Long work wants it, whose reader a Ctrl-C ends as well (tee, less).
func OutliveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
