package envs

import "github.com/gorl-dev/gorl/internal/panics"

// PanicError is a panic of user code as an error: of an environment in a batch of single environments
// (wrappers.NewParallel), in training or under [Check], of a source of reference motion, or of a trainer's callback. It
// is the same type as pbt.PanicError, the panic of a trainee.
//
// The text has the value and up to three functions with file and line: the one that panicked, and its first callers in
// user code. The field What names the code that panicked. Env is the environment's index in its batch, or -1. Value is
// the argument of panic, which Unwrap returns if it is an error. Stack is the whole stack.
type PanicError = panics.Error
