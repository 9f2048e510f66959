package pbt

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/gorl-dev/gorl/checkpoint"
)

// Trainee is what a population trains: usually an agent with its environment. A trainee is used by one goroutine at
// a time; several trainees are used at once.
type Trainee interface {
	// Train advances by about that many environment steps. It returns early with the context's error when the
	// context is cancelled, in a state from which it can continue.
	Train(ctx context.Context, steps int64) error
	// Steps is the number of environment steps behind the present weights. Restore may change it.
	Steps() int64
	// Metrics are the latest known figures, e.g. "episode.return", "episode.length", "style_reward". A figure that
	// is not known yet is absent.
	Metrics() map[string]float64
	// Hyperparameters are the settings that may change while training.
	Hyperparameters() map[string]float64
	// SetHyperparameters changes some of them, all or (on error) none.
	SetHyperparameters(values map[string]float64) error
	// Snapshot returns everything needed to continue from here, not sharing memory with the trainee.
	Snapshot() (*checkpoint.Snapshot, error)
	// Restore puts a snapshot of this or of another member back, all or (on error) nothing. It only reads the
	// snapshot, which several members may be given.
	Restore(snapshot *checkpoint.Snapshot) error
	// Close releases what the trainee holds. It may be called twice.
	Close() error
}

// Reseeder is implemented by trainees whose snapshots carry random states. Reseed gives a copy random numbers of its own, so
// that it and its source do not explore in step. It is also where a trainee forgets figures that belong to the weights it
// had before, such as the returns of episodes that they began.
//
// Reseed is called after a member has been given another's weights by Restore, and at no other time: not where a member is
// put back to its own snapshot, nor where it is built anew with its own weights.
type Reseeder interface {
	// Reseed starts the trainee's random sequences anew from seed.
	Reseed(seed int64) error
}

// Planner is implemented by trainees with settings that depend on how long they train, such as a learning rate that falls
// to 0 at the end.
type Planner interface {
	// Plan says how many environment steps the trainee will have trained in the end. It comes before Restore and Train.
	Plan(steps int64)
}

// Member is what Options.New builds a trainee from.
type Member struct {
	// ID is the member's number, 0 to N-1.
	ID int
	// Seed is derived from Options.Seed and ID; it is not negative.
	Seed int64
	// Hyperparameters are those of Options.Initial and Options.Sample, or, where a member is built anew, its present
	// ones. New may use them or leave them: the population sets them afterwards.
	Hyperparameters map[string]float64
	// Restoring is the snapshot that the trainee is given right after it is built: its own where it continues or is built
	// anew, another member's where it takes over weights. New builds networks of the shapes that the snapshot records,
	// where those may change, and otherwise does not need it. It is only to be read; nil for a new member.
	Restoring *checkpoint.Snapshot
}

// PanicError is a panic of a trainee, which counts as its failure.
type PanicError struct {
	// Value is what was panicked with, Stack the goroutine's stack.
	Value any
	Stack []byte
}

// Error leaves out the stack: it holds addresses, and journals must be reproducible.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// guarded calls f and turns a panic into a *PanicError, so that one member's bug does not end the other members' training.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}
