package commandline

import (
	"os"
	"os/signal"
	"syscall"
)

// OutliveReaders keeps the process alive from now on when its output is no longer read: writing is then an error, by
// which nothing is lost, rather than the end. Long work wants it, whose reader a Ctrl-C ends as well (tee, less).
func OutliveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
