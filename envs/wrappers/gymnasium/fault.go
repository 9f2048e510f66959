package gymnasium

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoPython is what the error of [New] wraps where there is no Python, or where it lacks gymnasium or numpy or has
// too old ones.
var ErrNoPython = errors.New("the bridge to Gymnasium needs Python 3.8 with gymnasium 1.0 and numpy 1.21, or " +
	"later; python (Options.Python) names the interpreter")

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
	// Child is its index, PID its process number, and From to To (exclusive) its environments.
	Child, PID, From, To int
	// Fault is what happened and Message says it in words.
	Fault   Fault
	Message string
	// Output is the last of what it printed.
	Output []string
	// Err is the error beneath, often nil.
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

// Unwrap returns the error beneath.
func (e *ChildError) Unwrap() error { return e.Err }

// fatal reports whether the child cannot go on: a reset is no cure.
func (e *ChildError) fatal() bool { return e.Fault != FaultException && e.Fault != FaultData }
