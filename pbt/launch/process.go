package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// straggling is the time after a process has ended before what it left behind is asked to end too. A shell often ends a
// moment before the program that it started.
const straggling = 100 * time.Millisecond

// process is one running member. What it starts itself, such as the environments' simulators, is in its process group and
// ends with it.
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

// startProcess runs a command with its output going to w. On Linux the system kills it should this process end, however
// that ends, so that a killed launcher leaves no member behind that trains unseen.
func startProcess(argv, env []string, w io.Writer, grace time.Duration) (*process, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	p := &process{command: exec.Command(argv[0], argv[1:]...), grace: grace, done: make(chan exit, 1)}
	p.command.Env, p.command.Stdout, p.command.Stderr = env, write, write
	p.command.SysProcAttr = ownGroup()
	started := make(chan error)
	go func() {
		// The system's promise to kill the child holds for the life of the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.command.Start()
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

// wait returns when the process and all that it left behind are gone, and their output is written. Whoever reads the exit
// may therefore start the member again at once: no old process still holds its GPU, its port or its lease.
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
	// Whoever holds the output still runs: a program behind a shell that has ended, or a helper left behind.
	if !within(straggling) {
		p.terminate()
		within(p.grace)
	}
	p.kill()
	if !within(straggling) {
		read.Close() // somebody left the group
		<-copied
	}
	return describe(p.command.ProcessState, err)
}

// describe says how a process ended.
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
