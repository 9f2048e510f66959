package pbt

import (
	"fmt"
	"maps"
	"path/filepath"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// announce gives a sign of life before the member is built, which may take long.
func (s *Solo) announce(m savedMember) error {
	s.pulse.update(func(h *workspace.Heartbeat) {
		h.Member, h.Phase, h.Iteration, h.Copies = s.place.Policy, workspace.Training, s.iteration, s.copies
		h.Steps, h.Total, h.Parent, h.Hyperparameters, h.Note = m.Steps, s.opt.TotalSteps, m.parent(), m.Hyperparameters.floats(), ""
	})
	return s.pulse.send()
}

// outdate makes records stale that the policy published in a course of events that damage has undone.
func (s *Solo) outdate() error {
	view, err := s.place.Board.View()
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	for _, r := range view.Members[s.place.Policy].Records {
		if r.Copies > s.copies {
			s.copies = r.Copies + 1
		}
	}
	return nil
}

// good is the snapshot of weights that are worth keeping, nil where there are none. A trainee that gives no snapshot has
// failed.
func (s *Solo) good() *checkpoint.Snapshot {
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

// persist saves the private state: snapshots first, then the state that refers to them, then what neither it nor the
// one before refers to is deleted. The weights of a member that failed or diverged are not worth keeping: the state
// then refers to the last good ones. On a board in memory it does nothing.
func (s *Solo) persist() error {
	s.savedAt = s.m.steps
	if s.store == nil {
		return nil
	}
	if err := s.lost(); err != nil {
		return err
	}
	sequence, name, of := s.sequence+1, s.kept, s.keptOf
	if snapshot := s.good(); snapshot != nil && (snapshot != of || name == "") {
		var err error
		if name, err = put(s.store, sequence, s.m.steps, snapshot); err != nil {
			return fmt.Errorf("pbt: policy %d: %w", s.place.Policy, err)
		}
		of = snapshot
	}
	state := soloState{
		Schema: stateSchema, Policy: s.place.Policy, Members: s.opt.Members, Objective: s.opt.Objective, IntervalSteps: s.opt.IntervalSteps,
		Seed: s.opt.Seed, Minimise: s.opt.Measure.Minimise, Phase: s.phase, Iteration: s.iteration, Sequence: sequence, Copies: s.copies,
		ObjectiveKnown: s.known, JournalLength: s.journal.length, Member: s.m.state(&s.opt, name),
	}
	if s.hasBest {
		best := number(s.best)
		state.Best = &best
	}
	if s.pending != nil {
		saved, err := s.pending.save(s.store, sequence)
		if err != nil {
			return fmt.Errorf("pbt: policy %d: %w", s.place.Policy, err)
		}
		state.Pending = saved
	}
	data, err := sealState(&state, &state.Check)
	if err != nil {
		return err
	}
	// A state with the same snapshot would be of no use where that is damaged: the one before it stays.
	if s.last != nil && (s.before == nil || s.last.state.Member.Snapshot != name) {
		if err := writeFile(filepath.Join(s.seat.Dir(), previousStateFile), s.last.data); err != nil {
			return err
		}
		s.before = &s.last.state
	}
	if err := writeFile(filepath.Join(s.seat.Dir(), stateFile), data); err != nil {
		return err
	}
	states := []soloState{state}
	if s.before != nil {
		states = append(states, *s.before)
	}
	s.kept, s.keptOf, s.sequence, s.last = name, of, sequence, &soloRestored{state: state, data: data}
	keep := make(map[string]bool)
	for _, state := range states {
		for _, name := range state.names() {
			keep[stem(name)] = true
		}
	}
	return pruneStore(s.store, keep)
}

// keepWaiting notes in the saved state since when the policy has been waiting, for the process that goes on with it.
func (s *Solo) keepWaiting() error {
	if s.last == nil || s.last.state.WaitingSince != nil && s.last.state.WaitingSince.Equal(s.joined) {
		return nil
	}
	state := s.last.state
	state.WaitingSince = &s.joined
	data, err := sealState(&state, &state.Check)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(s.seat.Dir(), stateFile), data); err != nil {
		return err
	}
	s.last.state, s.last.data = state, data
	return nil
}

// finiteOnly leaves out what a record cannot hold.
func finiteOnly(values map[string]float64) map[string]float64 {
	values = maps.Clone(values)
	maps.DeleteFunc(values, func(_ string, v float64) bool { return !finite(v) })
	return values
}
