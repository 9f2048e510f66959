package envs

import "github.com/gorl-dev/gorl/internal/panics"

// PanicError is a panic of user code as an error: of an environment, in a batch of single environments
// (wrappers.NewParallel), in training and under [Check], of a source of reference motion, of a trainer's callback. It is
// the same type as pbt.PanicError, the panic of a trainee.
//
// The text has the value and up to three functions with file and line: the one that panicked, and its first callers in
// user code. What names the code that panicked, Env is the environment's index in its batch (-1 if there is none), Value
// the argument of panic, which Unwrap returns if it is an error, and Stack the whole stack.
type PanicError = panics.Error
