package launch

// This file starts one member as a process and waits until it, and everything that it started, is gone.
// process_unix.go has the signals, group_linux.go and group_unix.go the process group, process_other.go what other
// systems can do instead.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// straggling is the time that processes left behind by a member have to end by themselves, before they are asked to.
// A shell often ends a moment before the program that it started.
const straggling = 100 * time.Millisecond

// process is one running member. The processes that it starts itself, such as simulators of its environments, belong
// to its process group and end with it.
type process struct {
	command *exec.Cmd
	grace   time.Duration
	done    chan exit // receives one value
}

// exit is how a process ended.
type exit struct {
	status int    // -1 where a signal ended it
	how    string // for people; empty where the status says it all
}

// startProcess runs a command with its output going to w. On Linux the system kills it should this process end, in
// whatever way, so that a killed launcher leaves no member behind that trains unseen. grace is the time that
// processes left behind by the member have to end after SIGTERM.
func startProcess(argv, env []string, w io.Writer, grace time.Duration) (*process, error) {
	// The pipe is made here rather than by exec.Cmd: Wait of the latter would block until every process that
	// inherited the pipe has closed it.
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	p := &process{command: exec.Command(argv[0], argv[1:]...), grace: grace, done: make(chan exit, 1)}
	p.command.Env, p.command.Stdout, p.command.Stderr = env, write, write
	p.command.SysProcAttr = ownGroup()
	started := make(chan error)
	go func() {
		// The system kills the child when the thread that started it ends, so the thread must live as long as the
		// child: this goroutine keeps it until wait returns.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.command.Start()
		// Only the child and its children hold the writing end now, so reading ends when the last of them has ended.
		write.Close()
		started <- err
		if err == nil {
			p.done <- p.wait(read, w)
		}
		read.Close()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	return p, nil
}

// wait returns when the process and all that it left behind are gone and their output is written. The caller may
// start the member again at once: no old process still holds its GPU, its port or its lease.
func (p *process) wait(read *os.File, w io.Writer) exit {
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(w, read) // ends with the pipe
	}()
	err := p.command.Wait()
	within := func(d time.Duration) bool {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-copied:
			return true
		case <-timer.C:
			return false
		}
	}
	// An open pipe means that a process still runs: a program behind a shell that has ended, or a helper left behind.
	// It is first asked to end. Then the group is killed in any case: a process that closed its output and still runs
	// would otherwise go unnoticed.
	if !within(straggling) {
		p.terminate()
		within(p.grace)
	}
	p.kill()
	if !within(straggling) {
		// A process has left the group with the pipe open, as daemons do, and no signal to the group reaches it. Stop
		// reading, so that the launcher can go on without it.
		read.Close()
		<-copied
	}
	return describe(p.command.ProcessState, err)
}

// describe turns what Wait returned into an exit. An error other than an exit status means that waiting itself
// failed.
func describe(state *os.ProcessState, err error) exit {
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return exit{status: -1, how: err.Error()}
	}
	if status := state.ExitCode(); status >= 0 {
		return exit{status: status}
	}
	return exit{status: -1, how: "ended by " + state.String()}
}
