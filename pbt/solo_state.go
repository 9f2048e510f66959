package pbt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
)

// soloSnapshots is the folder of a policy's private snapshots in its own.
const soloSnapshots = "state"

// soloState is a policy's private state. It is kept together with the last one before it that refers to another snapshot,
// so that any one file may be damaged.
type soloState struct {
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
	// Best is the best objective that the policy ever had, of which more is better.
	Best    *number       `json:"best,omitempty"`
	Member  savedMember   `json:"member"`
	Pending *savedPending `json:"pending,omitempty"`
	// WaitingSince is, by the board's clock, when a policy joined that has had to wait for others ever since.
	WaitingSince *time.Time `json:"waiting_since,omitempty"`
	// Check is the state's checksum.
	Check string `json:"check,omitempty"`
}

// soloRestored is a state with the snapshots that it refers to.
type soloRestored struct {
	state    soloState
	data     []byte
	snapshot *checkpoint.Snapshot // nil where there was none to keep
	source   *checkpoint.Snapshot // what a pending decision takes over
}

// names are the snapshots that a state refers to.
func (s soloState) names() []string {
	names := []string{s.Member.Snapshot}
	if s.Pending != nil {
		names = append(names, s.Pending.Snapshot)
	}
	return names
}

// decodeSoloState reads and checks a policy's state file.
func decodeSoloState(data []byte) (soloState, error) {
	var s soloState
	if err := openState(data, &s, &s.Check); err != nil {
		return s, fmt.Errorf("not a policy's state: %w", err)
	}
	if s.Iteration < 1 || s.Sequence < 1 || s.JournalLength < 0 || s.Copies < 0 || s.Members < 1 || s.Policy < 0 || s.Policy >= s.Members {
		return s, fmt.Errorf("policy %d of %d, iteration %d, sequence %d, journal length %d and %d copies do not make a policy", s.Policy, s.Members, s.Iteration, s.Sequence, s.JournalLength, s.Copies)
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

// load returns the policy's state, or the one before where that is damaged; nil where there is none yet.
func (s *Solo) load() (*soloRestored, error) {
	dir := s.seat.Dir()
	if dir == "" {
		return nil, nil
	}
	var err error
	if s.store, err = checkpoint.NewStore(filepath.Join(dir, soloSnapshots), checkpoint.Options{}); err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	var damage error
	for _, name := range []string{stateFile, previousStateFile} {
		path := filepath.Join(dir, name)
		r, err := s.loadState(path)
		switch {
		case err == nil:
			s.recovered = damage
			if name == stateFile {
				s.before = s.readBefore()
			}
			return r, nil
		case errors.Is(err, errOtherPopulation):
			return nil, err
		case exists(path):
			damage = errors.Join(damage, err)
		}
	}
	if damage != nil {
		return nil, fmt.Errorf("pbt: policy %d cannot be continued; remove %s to begin it anew: %w", s.place.Policy, dir, damage)
	}
	return nil, nil
}

// readBefore is the state before the one that is used; nil where there is none that can be read.
func (s *Solo) readBefore() *soloState {
	data, err := os.ReadFile(filepath.Join(s.seat.Dir(), previousStateFile))
	if err != nil {
		return nil
	}
	state, err := decodeSoloState(data)
	if err != nil {
		return nil
	}
	return &state
}

func (s *Solo) loadState(path string) (*soloRestored, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	state, err := decodeSoloState(data)
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	for _, c := range []struct {
		name        string
		saved, want any
	}{
		{"Policy", state.Policy, s.place.Policy}, {"Members", state.Members, s.opt.Members}, {"Objective", state.Objective, s.opt.Objective},
		{"IntervalSteps", state.IntervalSteps, s.opt.IntervalSteps}, {"Seed", state.Seed, s.opt.Seed},
		{"Measure.Minimise", state.Minimise, s.opt.Measure.Minimise},
	} {
		if c.saved != c.want {
			return nil, fmt.Errorf("pbt: %s: %s is %v there and %v here: %w", path, c.name, c.saved, c.want, errOtherPopulation)
		}
	}
	r := &soloRestored{state: state, data: data}
	if r.snapshot, err = s.get(state.Member.Snapshot); err == nil && state.Pending != nil {
		r.source, err = s.get(state.Pending.Snapshot)
	}
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	return r, nil
}

// get reads a private snapshot; "" names none.
func (s *Solo) get(name string) (*checkpoint.Snapshot, error) {
	if name == "" {
		return nil, nil
	}
	return get(s.store, name)
}

// restore builds the member, as new or as saved.
func (s *Solo) restore(saved *soloRestored) (err error) {
	if saved == nil {
		if err := s.announce(savedMember{}); err != nil {
			return err
		}
		s.m, err = newMember(&s.opt, s.place.Policy, nil, nil)
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
	if s.m, err = newMember(&s.opt, s.place.Policy, &state.Member, saved.snapshot); err != nil {
		return err
	}
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
