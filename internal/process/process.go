// Package process runs programs in process groups of their own and waits until they, and everything that they started,
// are gone. The launchers of members and of ranks and the children of the Gymnasium bridge stand on it.
//
// process_unix.go has the signals, group_linux.go and group_unix.go the process group, process_other.go what other
// systems can do instead.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"sync"
	"time"
)

// straggling is the time that processes left behind by a program have to end by themselves, before they are asked to.
// A shell often ends a moment before the program that it started.
const straggling = 100 * time.Millisecond

// Options say what runs, and how.
type Options struct {
	// Argv is the program and its arguments.
	Argv []string
	// Env is its environment, each NAME=value.
	Env []string
	// ExtraFiles are open in the program as the file descriptors 3, 4 and so on.
	ExtraFiles []*os.File
	// Stdin is what it reads; nothing where it is nil.
	Stdin []byte
	// Stdout and Stderr receive its output. A file of type *os.File is handed to the process as it is, so that it may
	// find a terminal there; other writers get what it writes by a pipe, and one pipe where both are the same.
	Stdout, Stderr io.Writer
	// Grace is the time that processes left behind by the program have to end after SIGTERM.
	Grace time.Duration
}

// Process is a program that runs. The processes that it starts itself, such as simulators of its environments, belong
// to its process group and end with it.
type Process struct {
	command *exec.Cmd
	grace   time.Duration
	done    chan Exit // receives one value
}

// Exit is how a process ended.
type Exit struct {
	// Status is its exit status; -1 where a signal ended it.
	Status int
	// How says so for people; empty where the status says it all.
	How string
}

// String is How, or else the status in words.
func (e Exit) String() string {
	if e.How != "" {
		return e.How
	}
	return fmt.Sprintf("exit status %d", e.Status)
}

// Start runs a program. On Linux the system kills it should this process end, in whatever way, so that a killed
// launcher leaves nothing behind that trains unseen.
func Start(o Options) (*Process, error) {
	p := &Process{command: exec.Command(o.Argv[0], o.Argv[1:]...), grace: o.Grace, done: make(chan Exit, 1)}
	p.command.Env, p.command.ExtraFiles, p.command.SysProcAttr = o.Env, o.ExtraFiles, ownGroup()
	// The pipes are made here rather than by exec.Cmd: Wait of the latter would block until every process that
	// inherited one has closed it.
	var pipes []pipe
	closeAll := func() {
		for _, x := range pipes {
			x.read.Close()
			x.write.Close()
		}
	}
	output := func(w io.Writer) (io.Writer, error) {
		if f, ok := w.(*os.File); ok || w == nil {
			if f == nil { // as an interface, a nil *os.File would not be nil
				return nil, nil
			}
			return f, nil
		}
		read, write, err := os.Pipe()
		if err == nil {
			pipes = append(pipes, pipe{w, read, write})
		}
		return write, err
	}
	var err error
	if p.command.Stdout, err = output(o.Stdout); err == nil {
		p.command.Stderr = p.command.Stdout
		// Writers of a type such as a slice cannot be compared.
		if !reflect.ValueOf(o.Stderr).Comparable() || o.Stdout != o.Stderr {
			p.command.Stderr, err = output(o.Stderr)
		}
	}
	if err != nil {
		closeAll()
		return nil, err
	}
	if o.Stdin != nil {
		p.command.Stdin = bytes.NewReader(o.Stdin)
	}
	started := make(chan error)
	go func() {
		// The system kills the child when the thread that started it ends, so the thread must live as long as the
		// child: this goroutine keeps it until wait returns.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.command.Start()
		// Only the child and its children hold the writing ends now, so reading ends when the last of them has ended.
		for _, x := range pipes {
			x.write.Close()
		}
		started <- err
		if err != nil {
			closeAll()
			return
		}
		exit := p.wait(pipes)
		closeAll()
		p.done <- exit
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// pipe carries output to a writer.
type pipe struct {
	to          io.Writer
	read, write *os.File
}

// PID is the process' number, and that of its group.
func (p *Process) PID() int { return p.command.Process.Pid }

// Done receives how the process ended, once, when it and all that it left behind are gone and their output is written.
// The caller may start the program again at once: no old process still holds its GPU, its port or its lease.
func (p *Process) Done() <-chan Exit { return p.done }

// wait returns what Done receives.
func (p *Process) wait(pipes []pipe) Exit {
	var copying sync.WaitGroup
	for _, x := range pipes {
		copying.Go(func() { _, _ = io.Copy(x.to, x.read) }) // ends with the pipe
	}
	copied := make(chan struct{})
	go func() {
		copying.Wait()
		close(copied)
	}()
	err := p.command.Wait()
	within := func(d time.Duration) bool {
		select {
		case <-copied:
			return true
		case <-time.After(d):
			return false
		}
	}
	// An open pipe means that a process still runs: a program behind a shell that has ended, or a helper left behind.
	// It is first asked to end. Then the group is killed in any case: a process that closed its output and still runs
	// would otherwise go unnoticed.
	if !within(straggling) {
		p.Terminate()
		within(p.grace)
	}
	p.Kill()
	if !within(straggling) {
		// A process has left the group with the pipe open, as daemons do, and no signal to the group reaches it. Stop
		// reading, so that the launcher can go on without it.
		for _, x := range pipes {
			x.read.Close()
		}
		<-copied
	}
	return describe(p.command.ProcessState, err)
}

// describe turns what Wait returned into an exit. An error other than an exit status means that waiting itself
// failed.
func describe(state *os.ProcessState, err error) Exit {
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return Exit{Status: -1, How: err.Error()}
	}
	if status := state.ExitCode(); status >= 0 {
		return Exit{Status: status}
	}
	return Exit{Status: -1, How: "ended by " + state.String()}
}
