package envs

import "github.com/gorl-dev/gorl/internal/panics"

// PanicError is the error for a panic of user code: of an environment in a batch of single environments
// (wrappers.NewParallel), in training or under [Check], of a source of reference motion, or of a trainer's callback.
// pbt.PanicError is the same type.
//
// The error's text has the value of the panic and up to three functions with file and line: the function that
// panicked, and its first callers in user code. What is the name of the code that panicked. Env is the environment's
// index in its batch, or -1. Value is the argument of panic; Unwrap returns Value if it is an error. Stack is the
// whole stack.
type PanicError = panics.Error
