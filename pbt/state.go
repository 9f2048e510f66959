// What a population saves, and how a population and a worker write their states: two files, the newest state and the
// one before, each sealed by a checksum, that refer to snapshots in folders beside them. Either file may be lost or
// damaged without losing the run; load.go reads them.

package pbt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/runfile"
)

// StateFile is the name of the population's state in its directory. Where it exists New continues.
const StateFile = "state.json"

// The newest state, and the one saved before it. The snapshots of both are kept, so that a crash at any moment, or a
// damaged file, leaves one whole population.
const (
	stateFile         = StateFile
	previousStateFile = "state.previous.json"
	stateSchema       = 1
)

// savedState is a population in a state file. Members refer to snapshots by name.
type savedState struct {
	Schema  int           `json:"schema"`
	Members []savedMember `json:"members"`
	savedRun
	// Iteration is the interval in progress.
	Iteration int64 `json:"iteration"`
	// Sequence is the number of this save.
	Sequence       int64 `json:"sequence"`
	ObjectiveKnown bool  `json:"objective_known"`
	// Finished is set when training ended; the journal's last events follow JournalLength.
	Finished bool `json:"finished"`
	// JournalLength is the journal's length in bytes at this state.
	JournalLength int64      `json:"journal_length"`
	Best          *savedBest `json:"best,omitempty"`
	// Check is the state's checksum.
	Check string `json:"check,omitempty"`
}

// savedRun are the options that must stay the same while a population trains. Their keys stand beside those of a state.
type savedRun struct {
	Objective     string `json:"objective"`
	IntervalSteps int64  `json:"interval_steps"`
	Seed          int64  `json:"seed"`
	Minimise      bool   `json:"minimise,omitempty"`
}

// savedRun returns the options that states of this run have.
func (o *Options) savedRun() savedRun {
	return savedRun{o.Objective, o.IntervalSteps, o.Seed, o.Measure.Minimise}
}

// savedBest is the best member in a state file.
type savedBest struct {
	Member          int        `json:"member"`
	Iteration       int64      `json:"iteration"`
	Steps           int64      `json:"steps"`
	Objective       float64    `json:"objective"`
	Hyperparameters number.Map `json:"hyperparameters"`
	// Snapshot is the name of the snapshot in the folder "best".
	Snapshot string `json:"snapshot"`
}

// savedMember is a member in a state file: everything that continuing needs beside its snapshot. Objectives are saved
// as figures, so that people can read the file.
type savedMember struct {
	Steps           int64        `json:"steps"`
	Parent          *int         `json:"parent,omitempty"`
	Objective       *number.JSON `json:"objective,omitempty"`
	Failure         string       `json:"failure,omitempty"`
	FailedIteration int64        `json:"failed_iteration,omitempty"`
	Hyperparameters number.Map   `json:"hyperparameters"`
	// CopiedAt are the member's environment steps when it last took over weights, Inherited those behind the weights.
	CopiedAt  int64 `json:"copied_at,omitempty"`
	Inherited int64 `json:"inherited,omitempty"`
	// ChangedAt are the member's environment steps when it last mutated itself, where that was after CopiedAt.
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

// save writes the members' snapshots, then the state that refers to them, and at last deletes the snapshots that
// neither it nor the state before refers to. A crash at any moment leaves a state whose snapshots are all there.
// Without a directory save does nothing.
func (p *Population) save(finished bool) error {
	if p.opt.Directory == "" {
		return nil
	}
	sequence := p.sequence + 1
	names := make([]string, len(p.members))
	if err := p.each(context.Background(), func(m *member) error {
		if m.failure != "" { // what it is now cannot be trusted
			names[m.id] = m.saved
			return nil
		}
		snapshot, err := m.snapshotOf()
		if err == nil {
			names[m.id], err = putFirst(p.stores.members[m.id], sequence, m.steps, snapshot, m.saved)
		}
		return wrapMember(m.id, err)
	}); err != nil {
		return err
	}
	if b := p.best; b != nil && b.file == "" {
		kept := ""
		if p.last != nil && p.last.state.Best != nil {
			kept = p.last.state.Best.Snapshot
		}
		var err error
		if b.file, err = putFirst(p.stores.best, b.Iteration, b.Steps, b.Snapshot, kept); err != nil {
			b.file = ""
			return fmt.Errorf("pbt: best member: %w", err)
		}
	}
	state := p.state(sequence, finished, names)
	data, err := durable.Seal(&state, &state.Check)
	if err != nil {
		return fmt.Errorf("pbt: state: %w", err)
	}
	states := []savedState{state}
	var previous []byte
	if p.last != nil { // not what the file holds, which may be damaged
		previous, states = p.last.data, append(states, p.last.state)
	}
	if err := writeStates(p.opt.Directory, data, previous); err != nil {
		return err
	}
	for i, m := range p.members {
		m.saved = names[i]
	}
	p.sequence, p.last = sequence, &restored{state: state, data: data}
	return p.stores.prune(states...)
}

// state returns the population as it is saved; names are the names of its members' snapshots.
func (p *Population) state(sequence int64, finished bool, names []string) savedState {
	s := savedState{
		Schema: stateSchema, savedRun: p.opt.savedRun(),
		Iteration: p.iteration, Sequence: sequence, ObjectiveKnown: p.known, Finished: finished, JournalLength: p.journal.Length,
	}
	if b := p.best; b != nil {
		s.Best = &savedBest{Member: b.Member, Iteration: b.Iteration, Steps: b.Steps, Objective: b.Objective,
			Hyperparameters: number.MapOf(b.Hyperparameters), Snapshot: b.file}
	}
	for i, m := range p.members {
		s.Members = append(s.Members, m.state(names[i]))
	}
	return s
}

// state returns the member as it is saved; snapshot is the name of its snapshot, "" for none.
func (m *member) state(snapshot string) savedMember {
	s := savedMember{
		Steps: m.steps, Failure: m.failure, FailedIteration: m.failedIteration, Hyperparameters: number.MapOf(m.hyperparameters),
		CopiedAt: m.copiedAt, Inherited: m.inherited, MeasuredAt: m.measuredAt, Samples: m.samples, Figure: m.figure, Diverged: m.diverged,
		ScoredAt: m.scoredAt, Snapshot: snapshot,
		Objective: number.Optional(m.opt.Measure.signed(m.objective), m.hasObjective),
		Peak:      number.Optional(m.opt.Measure.signed(m.peak), m.hasPeak),
	}
	if parent := m.parent; parent >= 0 {
		s.Parent = &parent
	}
	if m.changedAt > m.copiedAt {
		s.ChangedAt = m.changedAt
	}
	for _, r := range m.readings {
		s.Readings = append(s.Readings, number.JSON(r))
	}
	for _, x := range m.scores {
		s.Scores = append(s.Scores, number.JSON(m.opt.Measure.signed(x)))
	}
	return s
}

// writeStates replaces the file of the state before, unless previous is nil, and then the state's own.
func writeStates(dir string, state, previous []byte) error {
	if previous != nil {
		if err := writeFile(filepath.Join(dir, previousStateFile), previous); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(dir, stateFile), state)
}

// writeFile replaces a file as a whole, see internal/durable.
func writeFile(path string, data []byte) error {
	if err := checkpoint.WriteFile(path, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}

// putFirst is put for the first snapshot of a save. Before, it deletes the snapshots of a failed save with the same
// number, so that names do not depend on failures. It does not delete kept, the snapshot to which the last state
// refers.
func putFirst(store *checkpoint.Store, sequence, steps int64, snapshot *checkpoint.Snapshot, kept string) (string,
	error) {
	entries, err := os.ReadDir(store.Dir())
	if err != nil {
		return "", fmt.Errorf("pbt: %w", err)
	}
	for _, e := range entries {
		base, _, _ := strings.Cut(e.Name(), ".")
		number, _, _ := strings.Cut(base, "-")
		// The store itself removes temporary files.
		if number != fmt.Sprintf("%06d", sequence) || base == stem(kept) || strings.Contains(e.Name(), durable.Temporary) {
			continue
		}
		if err := os.Remove(filepath.Join(store.Dir(), e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("pbt: %w", err)
		}
	}
	return put(store, sequence, steps, snapshot)
}

// put saves a snapshot and returns its file's name in the store. sequence numbers the save, so that names are never
// used twice.
func put(store *checkpoint.Store, sequence, steps int64, snapshot *checkpoint.Snapshot) (string, error) {
	path, err := store.Save(fmt.Sprintf("%06d", sequence), steps, snapshot)
	return filepath.Base(path), err
}

// stem returns the common part of the names of a snapshot's two files.
func stem(name string) string { return strings.TrimSuffix(name, ".safetensors") }

// stores are the folders of snapshots in a population's directory: members/000, members/001, ... and best. The states
// decide which snapshots are kept, not their age: however often a run dies while saving, a snapshot that the last state
// needs is never deleted.
type stores struct {
	members []*checkpoint.Store
	best    *checkpoint.Store
}

// openStores opens the folders of snapshots, and makes those that are missing.
func openStores(dir string, members int) (*stores, error) {
	s := &stores{}
	open := func(elem ...string) (*checkpoint.Store, error) {
		store, err := checkpoint.NewStore(filepath.Join(append([]string{dir}, elem...)...), checkpoint.Options{})
		if err != nil {
			return nil, fmt.Errorf("pbt: %w", err)
		}
		return store, nil
	}
	for id := range members {
		store, err := open("members", fmt.Sprintf("%03d", id))
		if err != nil {
			return nil, err
		}
		s.members = append(s.members, store)
	}
	var err error
	s.best, err = open("best")
	return s, err
}

// prune deletes the snapshots that none of the states refers to.
func (s *stores) prune(states ...savedState) error {
	var errs []error
	for id, store := range s.members {
		var keep []string
		for _, state := range states {
			keep = append(keep, state.Members[id].Snapshot)
		}
		errs = append(errs, pruneStore(store, keep))
	}
	var keep []string
	for _, state := range states {
		if state.Best != nil {
			keep = append(keep, state.Best.Snapshot)
		}
	}
	return errors.Join(append(errs, pruneStore(s.best, keep))...)
}

// lockDirectory takes the lock of a directory, so that one population at a time uses it.
func lockDirectory(dir string) (unlock func() error, err error) {
	unlock, err = durable.Lock(dir, "lock")
	switch {
	case errors.Is(err, durable.ErrInUse):
		return nil, fmt.Errorf("pbt: %s is in use by another population; end it or choose another directory: %w", dir, err)
	case err != nil:
		return nil, fmt.Errorf("pbt: lock: %w", err)
	}
	if holds := runfile.In(dir); holds.Run && !holds.Population {
		return nil, errors.Join(fmt.Errorf("pbt: %s holds the run of a single agent; choose another directory: %w", dir,
			fs.ErrExist), unlock())
	}
	return unlock, nil
}

// pruneStore deletes the snapshots that are not in keep, which has the names of their files, damaged ones too.
func pruneStore(store *checkpoint.Store, keep []string) error {
	manifests, damaged, err := store.List()
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	var names []string
	for _, m := range manifests {
		names = append(names, stem(m.File))
	}
	for _, d := range damaged {
		names = append(names, strings.TrimSuffix(stem(filepath.Base(d.Path)), ".json"))
	}
	var errs []error
	for _, name := range names {
		if slices.ContainsFunc(keep, func(file string) bool { return stem(file) == name }) {
			continue
		}
		for _, suffix := range []string{".json", ".safetensors"} {
			if err := os.Remove(filepath.Join(store.Dir(), name+suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, fmt.Errorf("pbt: %w", err))
			}
		}
	}
	return errors.Join(errs...)
}
