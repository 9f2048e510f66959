package gymnasium

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// ErrNoPython is wrapped by the error of [New] if there is no Python, or if gymnasium or numpy is missing or too old.
var ErrNoPython = errors.New("the bridge to Gymnasium needs Python 3.8 with gymnasium 1.0 and numpy 1.21, or " +
	"later; python (Options.Python) names the interpreter")

// How a child dies, and what follows: while this process waits for a command, trouble looks every nap whether the child
// has ended, has been stopped or is late; read does so for messages, copyRows finds data and flags that make no sense,
// and wait and verifyHeader find memory that was written over. Each makes a ChildError by fault. replace.go then starts
// another child, if Options.Replace allows one more, and truncates the episodes of the dead child's environments;
// otherwise the error is that of Step or Reset. watch ends what a child leaves behind, and the system ends children
// whose parent dies (package process).

// Fault says in a word what happened to a child.
type Fault string

// What can happen to a child.
const (
	// FaultStart: it could not make its environments.
	FaultStart Fault = "start"
	// FaultExit: its process ended.
	FaultExit Fault = "exit"
	// FaultTimeout: it did not finish in time.
	FaultTimeout Fault = "timeout"
	// FaultStopped: a signal (SIGSTOP) has stopped it.
	FaultStopped Fault = "stopped"
	// FaultException: an environment raised an exception.
	FaultException Fault = "exception"
	// FaultData: an environment returned what is no observation, reward or picture, such as NaN.
	FaultData Fault = "data"
	// FaultProtocol: the shared memory or a message was not as the bridge writes it.
	FaultProtocol Fault = "protocol"
)

// ChildError is what happened to one of the Python processes.
type ChildError struct {
	// Child is the index of the process among the children, PID its process number, and From to To (exclusive) its
	// environments.
	Child, PID, From, To int
	// Fault is what happened; Message describes it.
	Fault   Fault
	Message string
	// Output are the last lines that the process printed.
	Output []string
	// Err is the cause, often nil.
	Err error
}

// Error names the child and what happened, with the last lines of what it printed.
func (e *ChildError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "gymnasium: child %d (process %d, environments %d to %d): %s", e.Child, e.PID, e.From, e.To-1,
		e.Message)
	if len(e.Output) > 0 && e.Fault != FaultException {
		b.WriteString("; it printed last:")
		for _, line := range e.Output {
			b.WriteString("\n\t")
			b.WriteString(line)
		}
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ChildError) Unwrap() error { return e.Err }

// fatal reports whether the child cannot go on. After an exception or bad data the process still answers, and a Reset
// makes it usable again; after any other fault it is lost.
func (e *ChildError) fatal() bool { return e.Fault != FaultException && e.Fault != FaultData }

// trouble returns what keeps the child from finishing its command, or nil while it may only be slow. wait calls it
// after every nap. halts counts the naps in a row after which the process was seen stopped. Three are needed, because
// a debugger, for instance, may stop a process for a moment.
func (c *child) trouble(deadline time.Time, halts *int) error {
	if c.ended.Load() {
		// A process may end right after it has finished the command; its results count.
		if atomic.LoadUint32(&c.block.Load().done) == c.sequence { // it was the last thing it did
			return nil
		}
		return c.fault(FaultExit, nil, "%v", c.exit)
	}
	if !stopped(c.pid) {
		*halts = 0
	} else if *halts++; *halts >= 3 {
		return c.fault(FaultStopped, nil, "has been stopped by a signal (SIGSTOP)")
	}
	if time.Now().After(deadline) {
		return c.fault(FaultTimeout, nil, "did not finish in time; raise the timeout where it needs longer")
	}
	return nil
}

// fault returns an error of this kind with the child's index, process number, environments and last output. err is
// the cause, nil if there is none.
func (c *child) fault(f Fault, err error, format string, args ...any) *ChildError {
	lines := c.output.Lines()
	for i, line := range lines {
		lines[i] = readable(line)
	}
	return &ChildError{Child: c.index, PID: c.pid, From: c.from, To: c.to, Fault: f,
		Message: readable(fmt.Sprintf(format, args...)), Output: lines, Err: err}
}

// isFatal reports whether an error leaves the child useless. Errors of other types than [*ChildError] do.
func isFatal(err error) bool {
	var fault *ChildError
	return !errors.As(err, &fault) || fault.fatal()
}
