package pbt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/panics"
	"github.com/gorl-dev/gorl/pbt/journal"
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

// Reseeder is implemented by trainees whose snapshots carry random states. Reseed gives a copy random numbers of its
// own, so that it and its source do not explore in step. It is also where a trainee forgets figures that belong to the
// weights it had before, such as the returns of episodes that they began.
//
// Reseed is called after a member has been given another's weights by Restore, and at no other time: not when a member
// is put back to its own snapshot, nor when it is rebuilt with its own weights.
type Reseeder interface {
	// Reseed restarts the trainee's random sequences from seed.
	Reseed(seed int64) error
}

// Planner is implemented by trainees with settings that depend on how long they train, such as a learning rate that
// falls to 0 at the end.
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
	// Hyperparameters are those of Options.Initial and Options.Sample, or, if a member is rebuilt, its present
	// ones. New may use them or leave them: the population sets them afterwards.
	Hyperparameters map[string]float64
	// Restoring is the snapshot that the trainee is given right after it is built: its own where it continues or is
	// rebuilt, another member's when it takes over weights. New builds networks of the shapes that the snapshot
	// records, where those may change, and otherwise does not need it. It is only to be read; nil for a new member.
	Restoring *checkpoint.Snapshot
}

// Sampler is implemented by trainees that know the measurements behind their figures.
type Sampler interface {
	// Samples returns up to n of the latest measurements of a figure, oldest first, since the weights were last
	// replaced. A figure without measurements gives none.
	Samples(figure string, n int) []float64
}

// Evaluator is implemented by trainees that can evaluate their agent without disturbing its training.
type Evaluator interface {
	// CheckEvaluation returns the error with which EvaluateMetrics would fail, or nil if none is known. It is called
	// before training.
	CheckEvaluation() error
	// EvaluateMetrics runs whole episodes with the mean action and returns figures as Metrics does.
	EvaluateMetrics(ctx context.Context, episodes int, seed int64) (map[string]float64, error)
}

// Holder is implemented by trainees that are made of several objects, such as an agent and an environment.
type Holder interface {
	// Holds returns the objects that no other member may hold, by their kind: "agent", "environment".
	Holds() map[string][]any
}

// Meeter is implemented by trainees that play against other members, as those of package selfplay.
type Meeter interface {
	// Meet is called at the end of every interval but the last, after decisions are applied. members has the snapshots
	// that the members had at the interval's end, before the decisions, by number. A member that failed or diverged,
	// or whose weights cannot be read, has nil. The snapshots are only to be read. An error ends training.
	//
	// A member that continues in a new process because of ErrRestart meets the others an interval later.
	Meet(interval int64, members []*checkpoint.Snapshot) error
	// SelfPlay returns whom the trainee has met since the last call of Meet, for the journal.
	SelfPlay() *journal.SelfPlay
}

// PanicError is a panic of a trainee, which makes the member fail, or of Options.New or another function of the
// options. It is the same type as envs.PanicError.
//
// The error's text has the value of the panic and up to three functions with file and line: the function that
// panicked, and its first callers in user code. Value is the argument of panic; Unwrap returns Value if it is an
// error. Stack is the whole stack.
type PanicError = panics.Error

// guarded calls f and turns a panic into a *PanicError, so that one member's bug does not end the other members'
// training.
func guarded(f func() error) error { return panics.Guard("", f) }

// requireDistinct wraps Options.New for use by many goroutines: members are built one after the other. It returns an
// error if New returns a trainee that any member already has, or a trainee that holds an object of another member
// ([Holder]). Such a trainee is closed, unless a running population builds the member again: Close would then close an
// object that the other member uses.
func requireDistinct(build func(m Member) (Trainee, error)) func(m Member) (Trainee, error) {
	var mu sync.Mutex
	holders := map[any]int{} // members by their objects
	return func(m Member) (Trainee, error) {
		mu.Lock()
		defer mu.Unlock()
		t, err := build(m)
		if err != nil || t == nil {
			return t, err
		}
		held := map[string][]any{}
		if h, ok := t.(Holder); ok {
			maps.Copy(held, h.Holds())
		}
		held["trainee"] = []any{t}
		own := map[any]int{}
		for _, what := range slices.Sorted(maps.Keys(held)) {
			for _, x := range held[what] {
				if !identifiable(x) {
					continue
				}
				own[x] = m.ID
				if other, taken := holders[x]; taken && (other != m.ID || what == "trainee") {
					err = cmp.Or(err, notDistinct(m.ID, other, what, x))
				}
			}
		}
		if err != nil {
			if !slices.Contains(slices.Collect(maps.Values(holders)), m.ID) { // the population does not train yet
				err = errors.Join(err, guarded(t.Close))
			}
			return nil, err
		}
		maps.DeleteFunc(holders, func(_ any, id int) bool { return id == m.ID })
		maps.Copy(holders, own)
		return t, nil
	}
}

// notDistinct is the error of a new object of member id that another member, or the member itself, has already.
func notDistinct(id, other int, what string, x any) error {
	if other == id {
		return fmt.Errorf("Options.New returned the trainee (%T) that member %d has already; New must build a new one",
			x, id)
	}
	return fmt.Errorf("members %d and %d have the same %s (%T); Options.New must build a new one for each member",
		other, id, what, x)
}

// identifiable reports whether equal values are one object: pointers are, unless they are to types of size 0, which may
// be equal by chance.
func identifiable(x any) bool {
	t := reflect.TypeOf(x)
	return t != nil && t.Kind() == reflect.Pointer && t.Elem().Size() > 0
}
