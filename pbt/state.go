package pbt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/number"
)

// savedState is a population in a state file. Members refer to snapshots by name.
type savedState struct {
	Schema        int           `json:"schema"`
	Members       []savedMember `json:"members"`
	Objective     string        `json:"objective"`
	IntervalSteps int64         `json:"interval_steps"`
	Seed          int64         `json:"seed"`
	Minimise      bool          `json:"minimise,omitempty"`
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

// restored is a state as read, with the snapshots that it refers to; a failed member may have none.
type restored struct {
	state     savedState
	data      []byte // the state as read
	snapshots []*checkpoint.Snapshot
	best      *Result
	damage    error // why there is no best although the state names one
}

// save writes the members' snapshots, then the state that refers to them, and at last deletes the snapshots that neither it
// nor the state before refers to. A crash at any moment leaves a state whose snapshots are all there. Without a directory
// save does nothing.
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
			names[m.id], err = put(p.stores.members[m.id], sequence, m.steps, snapshot)
		}
		return wrapMember(m.id, err)
	}); err != nil {
		return err
	}
	if b := p.best; b != nil && b.file == "" {
		var err error
		if b.file, err = put(p.stores.best, b.Iteration, b.Steps, b.Snapshot); err != nil {
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
		Schema: stateSchema, Objective: p.opt.Objective, IntervalSteps: p.opt.IntervalSteps, Seed: p.opt.Seed, Minimise: p.opt.Measure.Minimise,
		Iteration: p.iteration, Sequence: sequence, ObjectiveKnown: p.known, Finished: finished, JournalLength: p.journal.Length,
	}
	if b := p.best; b != nil {
		s.Best = &savedBest{Member: b.Member, Iteration: b.Iteration, Steps: b.Steps, Objective: b.Objective, Hyperparameters: number.MapOf(b.Hyperparameters), Snapshot: b.file}
	}
	for i, m := range p.members {
		s.Members = append(s.Members, m.state(names[i]))
	}
	return s
}

// load returns the directory's population, or the one before where that is damaged; nil where there is none yet.
func (p *Population) load() (*restored, error) {
	r, _, damage, err := loadState(p.opt.Directory, p.loadState)
	switch {
	case err != nil:
		return nil, err
	case r != nil:
		p.recovered = errors.Join(damage, r.damage)
	case damage != nil:
		return nil, fmt.Errorf("pbt: the population in %s cannot be continued; choose another directory to begin anew: %w", p.opt.Directory, damage)
	}
	return r, nil
}

// loadState reads one state file with all snapshots that it refers to, and compares it with the options. Only the best
// member may be missing.
func (p *Population) loadState(path string) (*restored, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	s, err := decodeState(data)
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	if err := sameRun(path,
		setting{"Members", len(s.Members), p.opt.Members}, setting{"Objective", s.Objective, p.opt.Objective},
		setting{"IntervalSteps", s.IntervalSteps, p.opt.IntervalSteps}, setting{"Seed", s.Seed, p.opt.Seed},
		setting{"Measure.Minimise", s.Minimise, p.opt.Measure.Minimise},
	); err != nil {
		return nil, err
	}
	r := &restored{state: s, data: data, snapshots: make([]*checkpoint.Snapshot, len(s.Members))}
	for id, m := range s.Members {
		if m.Snapshot == "" {
			continue
		}
		if r.snapshots[id], err = get(p.stores.members[id], m.Snapshot); err != nil {
			return nil, fmt.Errorf("pbt: %s: member %d: %w", path, id, err)
		}
	}
	if b := s.Best; b != nil {
		snapshot, err := get(p.stores.best, b.Snapshot)
		if err != nil { // training can go on without it
			r.damage = fmt.Errorf("pbt: %s: best member: %w", path, err)
			return r, nil
		}
		r.best = &Result{Member: b.Member, Iteration: b.Iteration, Steps: b.Steps, Objective: b.Objective, Hyperparameters: b.Hyperparameters.Floats(), Snapshot: snapshot, file: b.Snapshot}
	}
	return r, nil
}

// decodeState reads a state file and checks that its parts agree, so that the rest of the package can rely on it.
func decodeState(data []byte) (savedState, error) {
	var s savedState
	if err := openState(data, &s, &s.Check); err != nil {
		return s, fmt.Errorf("not a population's state: %w", err)
	}
	if s.Iteration < 1 || s.Sequence < 1 || s.JournalLength < 0 || len(s.Members) == 0 {
		return s, fmt.Errorf("iteration %d, sequence %d, journal length %d and %d members do not make a population", s.Iteration, s.Sequence, s.JournalLength, len(s.Members))
	}
	for id, m := range s.Members {
		if m.Steps < 0 || m.Snapshot == "" && m.Failure == "" || m.parent() < -1 || m.parent() >= len(s.Members) || m.CopiedAt < 0 || max(m.CopiedAt, m.ChangedAt) > m.Steps || m.Inherited < 0 {
			return s, fmt.Errorf("member %d: steps %d, snapshot %q, parent %d, took over weights of %d steps at %d", id, m.Steps, m.Snapshot, m.parent(), m.Inherited, m.CopiedAt)
		}
	}
	if b := s.Best; b != nil && (b.Member < 0 || b.Member >= len(s.Members) || b.Iteration < 1) {
		return s, fmt.Errorf("best member %d of iteration %d", b.Member, b.Iteration)
	}
	return s, nil
}

// stores are the folders of snapshots in a population's directory: members/000, members/001, ... and best. The states decide
// which snapshots are kept, not their age: however often a run dies while saving, a snapshot that the last state needs is
// never deleted.
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
		keep := make(map[string]bool)
		for _, state := range states {
			keep[stem(state.Members[id].Snapshot)] = true
		}
		errs = append(errs, pruneStore(store, keep))
	}
	keep := make(map[string]bool)
	for _, state := range states {
		if state.Best != nil {
			keep[stem(state.Best.Snapshot)] = true
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
	return unlock, nil
}
