package pbt

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// workerSnapshots is the folder of private snapshots in a member's folder of the workspace.
const workerSnapshots = "state"

// workerState is a member's private state. It is kept together with the last one before it that refers to another
// snapshot, so that any one file may be damaged. The key "policy" is the member's number; keys are older than the
// names.
type workerState struct {
	Schema  int `json:"schema"`
	Policy  int `json:"policy"`
	Members int `json:"members"`
	savedRun
	Phase phase `json:"phase"`
	// Iteration is the interval in progress, Sequence the number of this save.
	Iteration      int64 `json:"iteration"`
	Sequence       int64 `json:"sequence"`
	Copies         int64 `json:"copies"`
	ObjectiveKnown bool  `json:"objective_known"`
	// JournalLength is the journal's length in bytes at this state.
	JournalLength int64 `json:"journal_length"`
	// Best is the best objective that the member ever had, of which more is better.
	Best    *number.JSON  `json:"best,omitempty"`
	Member  savedMember   `json:"member"`
	Pending *savedPending `json:"pending,omitempty"`
	// WaitingSince is the time, by the store's clock, since when a member that yields whenever it would have to wait has
	// been waiting for its peers.
	WaitingSince *time.Time `json:"waiting_since,omitempty"`
	// Check is the state's checksum.
	Check string `json:"check,omitempty"`
}

// restoredWorker is a state as read, with the snapshots that it refers to.
type restoredWorker struct {
	state    workerState
	data     []byte
	snapshot *checkpoint.Snapshot // nil where there was none to keep
	source   *checkpoint.Snapshot // what a pending decision takes over
}

// names returns the names of the snapshots that a state refers to; they must not be deleted.
func (s workerState) names() []string {
	names := []string{s.Member.Snapshot}
	if s.Pending != nil {
		names = append(names, s.Pending.Snapshot)
	}
	return names
}

// decodeWorkerState reads a member's state file and checks that its parts agree, so that the rest of the package can
// rely on it.
func decodeWorkerState(data []byte) (workerState, error) {
	var s workerState
	if err := openState(data, &s, &s.Check); err != nil {
		return s, fmt.Errorf("not a member's state: %w", err)
	}
	if s.Iteration < 1 || s.Sequence < 1 || s.JournalLength < 0 || s.Copies < 0 || s.Members < 1 || s.Policy < 0 ||
		s.Policy >= s.Members {
		return s, fmt.Errorf("member %d of %d, iteration %d, sequence %d, journal length %d and %d copies do not make a member", s.Policy, s.Members, s.Iteration, s.Sequence, s.JournalLength, s.Copies)
	}
	switch s.Phase {
	case phaseTraining, phaseTrained, phaseDecided, phaseFinished:
	default:
		return s, fmt.Errorf("phase %q is none of this format", s.Phase)
	}
	if (s.Phase == phaseDecided) != (s.Pending != nil) {
		return s, fmt.Errorf("phase %q, and a pending decision: %t", s.Phase, s.Pending != nil)
	}
	if p := s.Pending; p != nil {
		if err := p.check(s); err != nil {
			return s, err
		}
	}
	if m := s.Member; m.Steps < 0 || m.parent() < -1 || m.parent() >= s.Members || m.CopiedAt < 0 || max(m.CopiedAt,
		m.ChangedAt) > m.Steps || m.Inherited < 0 {
		return s, fmt.Errorf("environment steps %d, parent %d, took over weights of %d environment steps at %d", m.Steps,
			m.parent(), m.Inherited, m.CopiedAt)
	}
	return s, nil
}

// load returns the member's state, or the one before where that is damaged; nil where there is none yet.
func (w *Worker) load() (*restoredWorker, error) {
	dir := w.lease.Dir()
	if dir == "" {
		return nil, nil
	}
	var err error
	if w.store, err = checkpoint.NewStore(filepath.Join(dir, workerSnapshots), checkpoint.Options{}); err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	r, name, damage, err := loadState(dir, w.loadState)
	switch {
	case err != nil:
		return nil, err
	case r != nil:
		if w.recovered = damage; name == stateFile {
			w.before = w.readBefore()
		}
	case damage != nil:
		return nil, fmt.Errorf("pbt: member %d cannot be continued; remove %s to begin it anew: %w", w.cfg.Member, dir,
			damage)
	}
	return r, nil
}

// readBefore returns the previous state; nil where there is none that can be read.
func (w *Worker) readBefore() *workerState {
	data, err := os.ReadFile(filepath.Join(w.lease.Dir(), previousStateFile))
	if err != nil {
		return nil
	}
	state, err := decodeWorkerState(data)
	if err != nil {
		return nil
	}
	return &state
}

// loadState reads one state file with its snapshots, and compares it with the options.
func (w *Worker) loadState(path string) (*restoredWorker, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	state, err := decodeWorkerState(data)
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	if err := w.opt.sameRun(path, state.savedRun,
		setting{"the member", state.Policy, w.cfg.Member}, setting{"the number of members", state.Members, w.opt.Members},
	); err != nil {
		return nil, err
	}
	r := &restoredWorker{state: state, data: data}
	if r.snapshot, err = w.get(state.Member.Snapshot); err == nil && state.Pending != nil {
		r.source, err = w.get(state.Pending.Snapshot)
	}
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	return r, nil
}

// get reads a private snapshot; "" names none.
func (w *Worker) get(name string) (*checkpoint.Snapshot, error) {
	if name == "" {
		return nil, nil
	}
	return get(w.store, name)
}

// restore builds the member, as new or as saved, and carries out a pending decision.
func (w *Worker) restore(saved *restoredWorker) (err error) {
	if saved == nil {
		if err := w.announce(savedMember{}); err != nil {
			return err
		}
		w.m, err = newMember(&w.opt, w.cfg.Member, nil, nil)
		return err
	}
	state := saved.state
	w.phase, w.iteration, w.copies, w.sequence, w.known = state.Phase, state.Iteration, state.Copies, state.Sequence, state.ObjectiveKnown
	w.best, w.hasBest = state.Best.Known()
	w.last, w.savedAt, w.kept = saved, state.Member.Steps, state.Member.Snapshot
	if err := w.outdate(); err != nil {
		return err
	}
	if err := w.announce(state.Member); err != nil {
		return err
	}
	if state.Pending != nil {
		return w.resume(saved)
	}
	if w.m, err = newMember(&w.opt, w.cfg.Member, &state.Member, saved.snapshot); err != nil {
		return err
	}
	// Where the last process had trained the interval to its end, this one publishes and decides.
	switch m := w.m; {
	case w.phase == phaseTraining:
	case m.failure == "" && m.steps < w.opt.target(w.iteration): // TotalSteps has grown
		w.phase = phaseTraining
	default:
		w.phase = phaseTrained
		if !m.status().Diverged() { // what is published is what was trained
			m.snapshot = saved.snapshot
		}
	}
	w.keptOf = w.m.snapshot
	saved.snapshot = nil
	return nil
}

// announce sends a heartbeat before the member is built, which may take long.
func (w *Worker) announce(m savedMember) error {
	w.heartbeat.update(func(h *workspace.Heartbeat) {
		h.Member, h.Phase, h.Iteration, h.Copies = w.cfg.Member, workspace.Training, w.iteration, w.copies
		h.Steps, h.Total, h.Parent, h.Hyperparameters, h.Note = m.Steps, w.opt.TotalSteps, m.parent(), m.Hyperparameters.Floats(), ""
	})
	return w.heartbeat.send()
}

// outdate makes records stale that this member published after the state which it now continues from, as after damage
// to the newest state: copies counts the generations of weights, and peers ignore records of older ones.
func (w *Worker) outdate() error {
	view, err := w.cfg.Store.View()
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	for _, r := range view.Members[w.cfg.Member].Records {
		if r.Copies > w.copies {
			w.copies = r.Copies + 1
		}
	}
	return nil
}

// good returns a snapshot of weights that are worth keeping, nil where there are none. A trainee that gives no snapshot
// has failed.
func (w *Worker) good() *checkpoint.Snapshot {
	m := w.m
	if m.failure != "" || m.status().Diverged() {
		return nil
	}
	snapshot, err := m.snapshotOf()
	if err != nil {
		m.fail(w.iteration, err)
		return nil
	}
	if snapshot != w.keptOf && snapshot.CheckFinite() != nil {
		return nil
	}
	return snapshot
}

// persist saves the private state: snapshots first, then the state that refers to them; at last it deletes the
// snapshots that neither this state nor the one before refers to. A crash in between leaves one whole state. The
// weights of a member that failed or diverged are not kept: the state then refers to the last good ones. With a store
// in memory it does nothing.
func (w *Worker) persist() error {
	w.savedAt = w.m.steps
	if w.store == nil {
		return nil
	}
	if err := w.lost(); err != nil {
		return err
	}
	// The snapshot is written only where it is good and not the one that was saved last; else the new state refers to the
	// same file as the one before.
	sequence, name, of := w.sequence+1, w.kept, w.keptOf
	if snapshot := w.good(); snapshot != nil && (snapshot != of || name == "") {
		var err error
		if name, err = putFirst(w.store, sequence, w.m.steps, snapshot, w.kept); err != nil {
			return fmt.Errorf("pbt: member %d: %w", w.cfg.Member, err)
		}
		of = snapshot
	}
	state := workerState{
		Schema: stateSchema, Policy: w.cfg.Member, Members: w.opt.Members, savedRun: w.opt.savedRun(), Phase: w.phase,
		Iteration: w.iteration, Sequence: sequence, Copies: w.copies, ObjectiveKnown: w.known, JournalLength: w.journal.Length,
		Best: number.Optional(w.best, w.hasBest), Member: w.m.state(name),
	}
	if w.pending != nil {
		saved, err := w.pending.save(w.store, sequence)
		if err != nil {
			return fmt.Errorf("pbt: member %d: %w", w.cfg.Member, err)
		}
		state.Pending = saved
	}
	data, err := durable.Seal(&state, &state.Check)
	if err != nil {
		return fmt.Errorf("pbt: state: %w", err)
	}
	// A previous state with the same snapshot could not replace this one where the snapshot is damaged: the one before
	// stays.
	var previous []byte
	if w.last != nil && (w.before == nil || w.last.state.Member.Snapshot != name) {
		previous, w.before = w.last.data, &w.last.state
	}
	if err := writeStates(w.lease.Dir(), data, previous); err != nil {
		return err
	}
	states := []workerState{state}
	if w.before != nil {
		states = append(states, *w.before)
	}
	w.kept, w.keptOf, w.sequence, w.last = name, of, sequence, &restoredWorker{state: state, data: data}
	// Only now, with the new state on disk, may snapshots go that neither of the two states refers to.
	var keep []string
	for _, state := range states {
		keep = append(keep, state.names()...)
	}
	return pruneStore(w.store, keep)
}

// keepWaiting saves since when the member has been waiting, for the process that continues it.
func (w *Worker) keepWaiting() error {
	if w.last == nil || w.last.state.WaitingSince != nil && w.last.state.WaitingSince.Equal(w.joined) {
		return nil
	}
	state := w.last.state
	state.WaitingSince = &w.joined
	data, err := durable.Seal(&state, &state.Check)
	if err != nil {
		return fmt.Errorf("pbt: state: %w", err)
	}
	if err := writeFile(filepath.Join(w.lease.Dir(), stateFile), data); err != nil {
		return err
	}
	w.last.state, w.last.data = state, data
	return nil
}

// finiteOnly leaves out values that a record cannot hold.
func finiteOnly(values map[string]float64) map[string]float64 {
	values = maps.Clone(values)
	maps.DeleteFunc(values, func(_ string, v float64) bool { return !number.Finite(v) })
	return values
}
