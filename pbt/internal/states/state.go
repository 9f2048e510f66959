// Package states keeps what a member of a population saves, to continue from: two files, the newest state and one
// before it, each sealed by a checksum. They refer to snapshots in a folder next to them. Either file, or any one
// snapshot, may be lost or damaged without losing the member.
package states

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
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

// names returns the names of the snapshots that a state refers to; they must not be deleted.
func (s State) names() []string {
	names := []string{s.Member.Snapshot}
	if s.Pending != nil {
		names = append(names, s.Pending.Snapshot)
	}
	return names
}

// Pending is a decision that the next process applies, because the member must be built from the new hyperparameters
// and Options.New works only once in a process (pbt.ProcessOptions.RestartProcess).
type Pending struct {
	// Events came before the decision itself, Event, as announced.
	Events []journal.Event `json:"events,omitempty"`
	Event  journal.Event   `json:"event"`
	Values number.Map      `json:"values"`
	// Source is the member that is copied, SourceSteps its own environment steps then, SourceWeightSteps those behind
	// its weights, and Snapshot the name of the copied weights, Weights, in the private folder.
	Source            int                  `json:"source,omitempty"`
	SourceSteps       int64                `json:"source_steps,omitempty"`
	SourceWeightSteps int64                `json:"source_weight_steps,omitempty"`
	Snapshot          string               `json:"snapshot,omitempty"`
	Weights           *checkpoint.Snapshot `json:"-"`
}

const (
	// File is the newest state, PreviousFile the one before it.
	File         = "state.json"
	PreviousFile = "state.previous.json"
	// Folder holds the snapshots that the states refer to.
	Folder = "state"
)

// Restored is a state as read, with the snapshots that it refers to.
type Restored struct {
	State    State
	data     []byte               // the state as read
	Snapshot *checkpoint.Snapshot // nil if there was none to keep
}

// Files are a member's states and snapshots in its folder. The zero value, for a store in memory, keeps nothing.
type Files struct {
	dir      string
	of       Identity
	store    *checkpoint.Store
	sequence int64
	last     *Restored // the newest state
	kept     string    // the name of the snapshot saved last
	// Before is in the file of the state before, KeptOf the snapshot saved last; nil if not known.
	Before *State
	KeptOf *checkpoint.Snapshot
}

// Open opens the folder of the member that a population of these options has; "" stands for none.
func Open(dir string, of Identity) (Files, error) {
	f := Files{dir: dir, of: of}
	if dir == "" {
		return f, nil
	}
	var err error
	if f.store, err = checkpoint.NewStore(filepath.Join(dir, Folder), checkpoint.Options{}); err != nil {
		return f, fmt.Errorf("pbt: %w", err)
	}
	return f, nil
}

// Begin makes r the state that the next save follows; nil stands for none.
func (f *Files) Begin(r *Restored) {
	f.last = r
	if r != nil {
		f.sequence, f.kept = r.State.Sequence, r.State.Member.Snapshot
	}
}

// Save makes s the newest state, and completes it: s has no identity, sequence and names of snapshots yet. snapshot is
// the member's, nil where the one saved last still counts. byInterval keeps a state of the interval before as the
// state before.
func (f *Files) Save(s State, snapshot *checkpoint.Snapshot, byInterval bool) error {
	err := f.keep(snapshot, s.Member.Steps)
	if p := s.Pending; err == nil && p != nil && p.Event.Kind == journal.Replace {
		p.Snapshot, err = f.put(p.SourceWeightSteps, p.Weights)
	}
	if err != nil {
		return fmt.Errorf("pbt: member %d: %w", f.of.Policy, err)
	}
	s.Schema, s.Identity, s.Sequence, s.Member.Snapshot = schema, f.of, f.sequence+1, f.kept
	// A state before with the same snapshot could not replace this one if the snapshot is damaged: then the one before
	// that stays.
	rotate := f.Before == nil || f.last.State.Member.Snapshot != f.kept
	if byInterval {
		rotate = f.Before == nil || f.last.State.Iteration != s.Iteration
	}
	return f.write(s, rotate)
}

// Waits saves since when the member waits for its peers, for the process that continues it.
func (f *Files) Waits(since time.Time) error {
	if f.last == nil || f.last.State.WaitingSince != nil && f.last.State.WaitingSince.Equal(since) {
		return nil
	}
	s := f.last.State
	s.WaitingSince = &since
	return f.write(s, false)
}

// keep saves a snapshot for the next state, unless that is nil or is the one saved last; then the state refers to the
// same file as the one before.
func (f *Files) keep(snapshot *checkpoint.Snapshot, steps int64) error {
	if snapshot == nil || snapshot == f.KeptOf && f.kept != "" {
		return nil
	}
	// Snapshots of a failed save with the same number go first, so that names do not depend on failures.
	prefix := fmt.Sprintf("%06d", f.sequence+1)
	if err := f.remove(func(name string) bool {
		return strings.HasPrefix(name, prefix) && name != stem(f.kept)
	}); err != nil {
		return err
	}
	name, err := f.put(steps, snapshot)
	if err == nil {
		f.kept, f.KeptOf = name, snapshot
	}
	return err
}

// put saves a snapshot for the next state and returns its file's name.
func (f *Files) put(steps int64, snapshot *checkpoint.Snapshot) (string, error) {
	path, err := f.store.Save(fmt.Sprintf("%06d", f.sequence+1), steps, snapshot)
	return filepath.Base(path), err
}

// write makes s the newest state. The one before it is kept if rotate is true. At last write deletes the snapshots that
// neither of the two refers to. A crash in between leaves one whole state.
func (f *Files) write(s State, rotate bool) error {
	data, err := durable.Seal(&s, &s.Check)
	if err != nil {
		return fmt.Errorf("pbt: state: %w", err)
	}
	if f.last != nil && rotate { // not what the file holds, which may be damaged
		if err := writeFile(filepath.Join(f.dir, PreviousFile), f.last.data); err != nil {
			return err
		}
		f.Before = &f.last.State
	}
	if err := writeFile(filepath.Join(f.dir, File), data); err != nil {
		return err
	}
	f.sequence, f.last = s.Sequence, &Restored{State: s, data: data}
	keep := s.names()
	if f.Before != nil {
		keep = append(keep, f.Before.names()...)
	}
	return f.remove(func(name string) bool {
		return !slices.ContainsFunc(keep, func(file string) bool { return stem(file) == name })
	})
}

// remove deletes the snapshots whose names, without suffixes, are not wanted. The store removes its temporary files.
func (f *Files) remove(unwanted func(name string) bool) error {
	entries, err := os.ReadDir(f.store.Dir())
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	for _, suffix := range []string{".json", ".safetensors"} { // data without a manifest is not reported as damaged
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), suffix)
			if !ok || strings.Contains(name, durable.Temporary) || !unwanted(name) {
				continue
			}
			if err := os.Remove(filepath.Join(f.store.Dir(), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("pbt: %w", err)
			}
		}
	}
	return nil
}

// stem returns the common part of the names of a snapshot's two files.
func stem(name string) string { return strings.TrimSuffix(name, ".safetensors") }

// writeFile replaces a file as a whole, see internal/durable.
func writeFile(path string, data []byte) error {
	if err := checkpoint.WriteFile(path, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}
