package envs

import "fmt"

// PanicError is what a panic inside an environment becomes, in a batch of single environments
// (wrappers.NewParallel) and in training.
type PanicError struct {
	// Env is the environment's index in its batch, or -1 where the batch as a whole panicked. Type is its Go type.
	Env  int
	Type string
	// Value is what it panicked with, Stack where.
	Value any
	Stack []byte
}

// Error names the environment and what it panicked with; print Stack to see where.
func (e *PanicError) Error() string {
	if e.Env < 0 {
		return fmt.Sprintf("the environment (%s) panicked: %v", e.Type, e.Value)
	}
	return fmt.Sprintf("environment %d (%s) panicked: %v", e.Env, e.Type, e.Value)
}

// Unwrap returns the error that the environment panicked with, nil where it was none.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
