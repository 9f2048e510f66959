// Package states keeps what a member of a population saves, to continue from: two files, the newest state and one
// before it, each sealed by a checksum. They refer to snapshots in a folder next to them. Either file, or any one
// snapshot, may be lost or damaged without losing the member.
package states

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
)

const schema = 1

// Phase is the part of an interval that a member is in. It is saved, so that a process that continues after a crash
// does not train, publish or decide twice.
type Phase string

const (
	Training Phase = "training"
	// Trained is the interval's end: nothing has been decided.
	Trained Phase = "trained"
	// Decided waits for a new process to carry out the decision.
	Decided Phase = "decided"
	// Finished is the end of training.
	Finished Phase = "finished"
)

// State is a member in a state file.
type State struct {
	Schema int `json:"schema"`
	Identity
	Phase Phase `json:"phase"`
	// Iteration is the interval in progress, Sequence the number of this save.
	Iteration      int64 `json:"iteration"`
	Sequence       int64 `json:"sequence"`
	Copies         int64 `json:"copies"`
	ObjectiveKnown bool  `json:"objective_known"`
	// JournalLength is the journal's length in bytes at this state.
	JournalLength int64 `json:"journal_length"`
	// Best is the best objective that the member's group knows of. Higher is better.
	Best    *number.JSON `json:"best,omitempty"`
	Member  Member       `json:"member"`
	Pending *Pending     `json:"pending,omitempty"`
	// WaitingSince is the time, by the store's clock, at which a member that yields instead of waiting began to wait
	// for its peers.
	WaitingSince *time.Time `json:"waiting_since,omitempty"`
	// Check is the state's checksum.
	Check string `json:"check,omitempty"`
}

// Identity is whose state it is, and the options that must stay the same while a population trains. Its keys are among
// those of a state. The key "policy" is the member's number; keys are older than the names.
type Identity struct {
	Policy        int    `json:"policy"`
	Members       int    `json:"members"`
	Objective     string `json:"objective"`
	IntervalSteps int64  `json:"interval_steps"`
	Seed          int64  `json:"seed"`
	Minimise      bool   `json:"minimise,omitempty"`
}

// Member is everything that continuing a member needs besides its snapshot. Objectives are saved as figures, so
// that people can read the file.
type Member struct {
	Steps           int64        `json:"steps"`
	Parent          *int         `json:"parent,omitempty"`
	Objective       *number.JSON `json:"objective,omitempty"`
	Failure         string       `json:"failure,omitempty"`
	FailedIteration int64        `json:"failed_iteration,omitempty"`
	Hyperparameters number.Map   `json:"hyperparameters"`
	// CopiedAt are the member's environment steps when it last took over weights, Inherited those behind the weights.
	CopiedAt  int64 `json:"copied_at,omitempty"`
	Inherited int64 `json:"inherited,omitempty"`
	// ChangedAt are the member's environment steps when it last mutated itself, if that was after CopiedAt.
	ChangedAt int64 `json:"changed_at,omitempty"`
	// MeasuredAt is the interval that Objective belongs to.
	MeasuredAt int64         `json:"measured_at,omitempty"`
	Samples    int           `json:"samples,omitempty"`
	Readings   []number.JSON `json:"readings,omitempty"`
	Figure     string        `json:"figure,omitempty"`
	Peak       *number.JSON  `json:"peak,omitempty"`
	Diverged   string        `json:"diverged,omitempty"`
	// Scores are those that the weights went through, the last of them of the interval ScoredAt.
	Scores   []number.JSON `json:"scores,omitempty"`
	ScoredAt int64         `json:"scored_at,omitempty"`
	// Snapshot is the name of the member's snapshot in its folder, "" for none.
	Snapshot string `json:"snapshot,omitempty"`
}

// CopiedFrom returns the member copied last, -1 for none.
func (s Member) CopiedFrom() int {
	if s.Parent == nil {
		return -1
	}
	return *s.Parent
}

// Decode reads a state file and checks that its parts agree, so that a population can rely on it.
func Decode(data []byte) (State, error) {
	var s State
	if err := durable.UnsealSchema(data, schema, &s, &s.Check); err != nil {
		return s, fmt.Errorf("not a member's state: %w", err)
	}
	if s.Iteration < 1 || s.Sequence < 1 || s.JournalLength < 0 || s.Copies < 0 || s.Members < 1 || s.Policy < 0 ||
		s.Policy >= s.Members {
		return s, fmt.Errorf("member %d of %d, iteration %d, sequence %d, journal length %d and %d copies do not "+
			"make a member", s.Policy, s.Members, s.Iteration, s.Sequence, s.JournalLength, s.Copies)
	}
	switch s.Phase {
	case Training, Trained, Decided, Finished:
	default:
		return s, fmt.Errorf("phase %q is none of this format", s.Phase)
	}
	if (s.Phase == Decided) != (s.Pending != nil) {
		return s, fmt.Errorf("phase %q, and a pending decision: %t", s.Phase, s.Pending != nil)
	}
	if p := s.Pending; p != nil {
		if err := p.check(s); err != nil {
			return s, err
		}
	}
	if m := s.Member; m.Steps < 0 || m.CopiedFrom() < -1 || m.CopiedFrom() >= s.Members || m.CopiedAt < 0 ||
		max(m.CopiedAt, m.ChangedAt) > m.Steps || m.Inherited < 0 {
		return s, fmt.Errorf("environment steps %d, parent %d, took over weights of %d environment steps at %d",
			m.Steps, m.CopiedFrom(), m.Inherited, m.CopiedAt)
	}
	return s, nil
}

// names returns the names of the snapshots that a state refers to; they must not be deleted.
func (s State) names() []string {
	names := []string{s.Member.Snapshot}
	if s.Pending != nil {
		names = append(names, s.Pending.Snapshot)
	}
	return names
}

// Pending is a pending decision in a state file.
type Pending struct {
	// Events came before the decision itself, Event, as announced.
	Events []journal.Event `json:"events,omitempty"`
	Event  journal.Event   `json:"event"`
	Values number.Map      `json:"values"`
	// Source is the member that is copied, SourceSteps its own environment steps then, SourceWeightSteps those behind
	// its weights, and Snapshot the name of the copied weights in the private folder.
	Source            int    `json:"source,omitempty"`
	SourceSteps       int64  `json:"source_steps,omitempty"`
	SourceWeightSteps int64  `json:"source_weight_steps,omitempty"`
	Snapshot          string `json:"snapshot,omitempty"`
}

// check checks a pending decision against the state that it is part of.
func (p *Pending) check(s State) error {
	if p.Event.Member != s.Policy || p.Event.Iteration != s.Iteration || p.Source < 0 || p.Source >= s.Members ||
		min(p.SourceSteps, p.SourceWeightSteps) < 0 {
		return fmt.Errorf("the pending decision is of member %d at iteration %d, source %d with %d environment steps",
			p.Event.Member, p.Event.Iteration, p.Source, p.SourceSteps)
	}
	switch p.Event.Kind {
	case journal.Replace:
		if p.Snapshot == "" || p.Source == s.Policy {
			return fmt.Errorf("the pending decision takes over weights %q of %d", p.Snapshot, p.Source)
		}
	case journal.SelfMutate:
	default:
		return fmt.Errorf("the pending decision is %q", p.Event.Kind)
	}
	return nil
}

// ErrOtherPopulation is a sound state of a population with other options.
var ErrOtherPopulation = errors.New("the directory holds another population; choose another directory, or the " +
	"options it was begun with")

// check returns an error that wraps ErrOtherPopulation if a state is of another member, or of other options.
func (want Identity) check(path string, s State) error {
	for _, setting := range []struct {
		name        string
		saved, want any
	}{
		{"the member", s.Policy, want.Policy},
		{"the number of members", s.Members, want.Members},
		{"the objective", s.Objective, want.Objective},
		{"the interval in environment steps", s.IntervalSteps, want.IntervalSteps},
		{"the seed", s.Seed, want.Seed},
		{"measure.minimise", s.Minimise, want.Minimise},
	} {
		if setting.saved != setting.want {
			return fmt.Errorf("pbt: %s: %s is %v there and %v here: %w", path, setting.name, setting.saved,
				setting.want, ErrOtherPopulation)
		}
	}
	return nil
}
