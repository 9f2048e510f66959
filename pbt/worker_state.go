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
// snapshot, so that any one file may be damaged. The key "policy" is the member's number; keys are older than the names.
type workerState struct {
	Schema        int    `json:"schema"`
	Policy        int    `json:"policy"`
	Members       int    `json:"members"`
	Objective     string `json:"objective"`
	IntervalSteps int64  `json:"interval_steps"`
	Seed          int64  `json:"seed"`
	Minimise      bool   `json:"minimise,omitempty"`
	Phase         phase  `json:"phase"`
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

// decodeWorkerState reads a member's state file and checks that its parts agree, so that the rest of the package can rely on
// it.
func decodeWorkerState(data []byte) (workerState, error) {
	var s workerState
	if err := openState(data, &s, &s.Check); err != nil {
		return s, fmt.Errorf("not a member's state: %w", err)
	}
	if s.Iteration < 1 || s.Sequence < 1 || s.JournalLength < 0 || s.Copies < 0 || s.Members < 1 || s.Policy < 0 || s.Policy >= s.Members {
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
	if m := s.Member; m.Steps < 0 || m.parent() < -1 || m.parent() >= s.Members || m.CopiedAt < 0 || max(m.CopiedAt, m.ChangedAt) > m.Steps || m.Inherited < 0 {
		return s, fmt.Errorf("steps %d, parent %d, took over weights of %d steps at %d", m.Steps, m.parent(), m.Inherited, m.CopiedAt)
	}
	return s, nil
}

// load returns the member's state, or the one before where that is damaged; nil where there is none yet.
func (s *Worker) load() (*restoredWorker, error) {
	dir := s.lease.Dir()
	if dir == "" {
		return nil, nil
	}
	var err error
	if s.store, err = checkpoint.NewStore(filepath.Join(dir, workerSnapshots), checkpoint.Options{}); err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	r, name, damage, err := loadState(dir, s.loadState)
	switch {
	case err != nil:
		return nil, err
	case r != nil:
		if s.recovered = damage; name == stateFile {
			s.before = s.readBefore()
		}
	case damage != nil:
		return nil, fmt.Errorf("pbt: member %d cannot be continued; remove %s to begin it anew: %w", s.cfg.Member, dir, damage)
	}
	return r, nil
}

// readBefore returns the previous state; nil where there is none that can be read.
func (s *Worker) readBefore() *workerState {
	data, err := os.ReadFile(filepath.Join(s.lease.Dir(), previousStateFile))
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
func (s *Worker) loadState(path string) (*restoredWorker, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	state, err := decodeWorkerState(data)
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	if err := sameRun(path,
		setting{"Policy", state.Policy, s.cfg.Member}, setting{"Members", state.Members, s.opt.Members},
		setting{"Objective", state.Objective, s.opt.Objective}, setting{"IntervalSteps", state.IntervalSteps, s.opt.IntervalSteps},
		setting{"Seed", state.Seed, s.opt.Seed}, setting{"Measure.Minimise", state.Minimise, s.opt.Measure.Minimise},
	); err != nil {
		return nil, err
	}
	r := &restoredWorker{state: state, data: data}
	if r.snapshot, err = s.get(state.Member.Snapshot); err == nil && state.Pending != nil {
		r.source, err = s.get(state.Pending.Snapshot)
	}
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	return r, nil
}

// get reads a private snapshot; "" names none.
func (s *Worker) get(name string) (*checkpoint.Snapshot, error) {
	if name == "" {
		return nil, nil
	}
	return get(s.store, name)
}

// restore builds the member, as new or as saved, and carries out a pending decision.
func (s *Worker) restore(saved *restoredWorker) (err error) {
	if saved == nil {
		if err := s.announce(savedMember{}); err != nil {
			return err
		}
		s.m, err = newMember(&s.opt, s.cfg.Member, nil, nil)
		return err
	}
	state := saved.state
	s.phase, s.iteration, s.copies, s.sequence, s.known = state.Phase, state.Iteration, state.Copies, state.Sequence, state.ObjectiveKnown
	if state.Best != nil {
		s.best, s.hasBest = float64(*state.Best), true
	}
	s.last, s.savedAt, s.kept = saved, state.Member.Steps, state.Member.Snapshot
	if err := s.outdate(); err != nil {
		return err
	}
	if err := s.announce(state.Member); err != nil {
		return err
	}
	if state.Pending != nil {
		return s.resume(saved)
	}
	if s.m, err = newMember(&s.opt, s.cfg.Member, &state.Member, saved.snapshot); err != nil {
		return err
	}
	// Where the last process had trained the interval to its end, this one publishes and decides.
	switch m := s.m; {
	case s.phase == phaseTraining:
	case m.failure == "" && m.steps < s.opt.target(s.iteration): // TotalSteps has grown
		s.phase = phaseTraining
	default:
		s.phase = phaseTrained
		if !m.status().Diverged() { // what is published is what was trained
			m.snapshot = saved.snapshot
		}
	}
	s.keptOf = s.m.snapshot
	saved.snapshot = nil
	return nil
}

// announce sends a heartbeat before the member is built, which may take long.
func (s *Worker) announce(m savedMember) error {
	s.heartbeat.update(func(h *workspace.Heartbeat) {
		h.Member, h.Phase, h.Iteration, h.Copies = s.cfg.Member, workspace.Training, s.iteration, s.copies
		h.Steps, h.Total, h.Parent, h.Hyperparameters, h.Note = m.Steps, s.opt.TotalSteps, m.parent(), m.Hyperparameters.Floats(), ""
	})
	return s.heartbeat.send()
}

// outdate makes records stale that this member published after the state which it now continues from, as after damage to the
// newest state: copies counts the generations of weights, and peers ignore records of older ones.
func (s *Worker) outdate() error {
	view, err := s.cfg.Store.View()
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	for _, r := range view.Members[s.cfg.Member].Records {
		if r.Copies > s.copies {
			s.copies = r.Copies + 1
		}
	}
	return nil
}

// good returns a snapshot of weights that are worth keeping, nil where there are none. A trainee that gives no snapshot has
// failed.
func (s *Worker) good() *checkpoint.Snapshot {
	m := s.m
	if m.failure != "" || m.status().Diverged() {
		return nil
	}
	snapshot, err := m.snapshotOf()
	if err != nil {
		m.fail(s.iteration, err)
		return nil
	}
	if snapshot != s.keptOf && snapshot.CheckFinite() != nil {
		return nil
	}
	return snapshot
}

// persist saves the private state: snapshots first, then the state that refers to them; at last it deletes the snapshots that
// neither this state nor the one before refers to. A crash in between leaves one whole state. The weights of a member that
// failed or diverged are not kept: the state then refers to the last good ones. With a store in memory it does nothing.
func (s *Worker) persist() error {
	s.savedAt = s.m.steps
	if s.store == nil {
		return nil
	}
	if err := s.lost(); err != nil {
		return err
	}
	// The snapshot is written only where it is good and not the one that was saved last; else the new state refers to the
	// same file as the one before.
	sequence, name, of := s.sequence+1, s.kept, s.keptOf
	if snapshot := s.good(); snapshot != nil && (snapshot != of || name == "") {
		var err error
		if name, err = put(s.store, sequence, s.m.steps, snapshot); err != nil {
			return fmt.Errorf("pbt: member %d: %w", s.cfg.Member, err)
		}
		of = snapshot
	}
	state := workerState{
		Schema: stateSchema, Policy: s.cfg.Member, Members: s.opt.Members, Objective: s.opt.Objective, IntervalSteps: s.opt.IntervalSteps,
		Seed: s.opt.Seed, Minimise: s.opt.Measure.Minimise, Phase: s.phase, Iteration: s.iteration, Sequence: sequence, Copies: s.copies,
		ObjectiveKnown: s.known, JournalLength: s.journal.Length, Member: s.m.state(name),
	}
	if s.hasBest {
		best := number.JSON(s.best)
		state.Best = &best
	}
	if s.pending != nil {
		saved, err := s.pending.save(s.store, sequence)
		if err != nil {
			return fmt.Errorf("pbt: member %d: %w", s.cfg.Member, err)
		}
		state.Pending = saved
	}
	data, err := durable.Seal(&state, &state.Check)
	if err != nil {
		return fmt.Errorf("pbt: state: %w", err)
	}
	// A previous state with the same snapshot could not replace this one where the snapshot is damaged: the one before stays.
	var previous []byte
	if s.last != nil && (s.before == nil || s.last.state.Member.Snapshot != name) {
		previous, s.before = s.last.data, &s.last.state
	}
	if err := writeStates(s.lease.Dir(), data, previous); err != nil {
		return err
	}
	states := []workerState{state}
	if s.before != nil {
		states = append(states, *s.before)
	}
	s.kept, s.keptOf, s.sequence, s.last = name, of, sequence, &restoredWorker{state: state, data: data}
	// Only now, with the new state on disk, may snapshots go that neither of the two states refers to.
	keep := make(map[string]bool)
	for _, state := range states {
		for _, name := range state.names() {
			keep[stem(name)] = true
		}
	}
	return pruneStore(s.store, keep)
}

// keepWaiting saves since when the member has been waiting, for the process that continues it.
func (s *Worker) keepWaiting() error {
	if s.last == nil || s.last.state.WaitingSince != nil && s.last.state.WaitingSince.Equal(s.joined) {
		return nil
	}
	state := s.last.state
	state.WaitingSince = &s.joined
	data, err := durable.Seal(&state, &state.Check)
	if err != nil {
		return fmt.Errorf("pbt: state: %w", err)
	}
	if err := writeFile(filepath.Join(s.lease.Dir(), stateFile), data); err != nil {
		return err
	}
	s.last.state, s.last.data = state, data
	return nil
}

// finiteOnly leaves out values that a record cannot hold.
func finiteOnly(values map[string]float64) map[string]float64 {
	values = maps.Clone(values)
	maps.DeleteFunc(values, func(_ string, v float64) bool { return !number.Finite(v) })
	return values
}
