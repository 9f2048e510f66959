package schedule

// This file reads a schedule from a population's journal. The journal tells for every member and interval which
// hyperparameters were set and from whom weights were copied; package journal finds the line of ancestors, and this
// file joins their stretches into one course.

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// Extract returns the course of hyperparameters that a member's present weights were trained with, the stretches of
// all their ancestors one after the other. It holds the tuned hyperparameters, or all of them where the journal does
// not say which were tuned. Of a population whose networks evolve it also says which architectures the weights had;
// edits of these and noise on weights are not part of a schedule.
func Extract(h *journal.History, member int) (Schedule, error) {
	if h == nil {
		return Schedule{}, errors.New("schedule: there is no history; make one with pbt.NewHistory")
	}
	ancestry, err := h.Ancestry(member)
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule: %w", err)
	}
	return along(h, ancestry, true)
}

// ExtractAt is the same for the weights that a member had at the end of an interval, before anything was decided there:
// those of a [pbt.Result].
func ExtractAt(h *journal.History, member int, iteration int64) (Schedule, error) {
	if h == nil {
		return Schedule{}, errors.New("schedule: there is no history; make one with pbt.NewHistory")
	}
	ancestry, err := h.AncestryAt(member, iteration)
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule: %w", err)
	}
	return along(h, ancestry, false)
}

// along collects the hyperparameters that were set on the way through a line of ancestors. Every ancestor's stretch
// ends where it was copied; its steps are counted from where its own weights began, so that the phases of all stretches
// follow each other. present includes what was decided at the end of the last interval, which the weights have not
// trained with yet.
func along(h *journal.History, ancestry []journal.Ancestor, present bool) (Schedule, error) {
	s := Schedule{Objective: h.Run.Objective, Member: ancestry[len(ancestry)-1].Member}
	set := make(map[int][]journal.Event) // by member, those that set hyperparameters
	for _, e := range h.Events {
		if e.After != nil {
			set[e.Member] = append(set[e.Member], e)
		}
	}
	// From the first ancestor to the member itself: s.Steps is the number of environment steps behind the weights so far,
	// at which the next stretch is appended.
	for i, a := range ancestry {
		last := i == len(ancestry)-1
		var begin *journal.Event // what the stretch begins with
		var inside []journal.Event
		// The stretch begins with the last values set up to its first interval. Values set later count only if the
		// weights trained with them: before the copy in an ancestor, before the end in the member itself.
		for _, e := range set[a.Member] {
			switch {
			case e.Iteration <= a.From:
				begin = &e
			case !last && e.Steps < a.ToSteps, last && (present || e.Iteration < a.To):
				inside = append(inside, e)
			}
		}
		if begin == nil {
			return Schedule{}, fmt.Errorf("schedule: the journal does not say which hyperparameters member %d began with",
				a.Member)
		}
		// Only the founding member was initialised; the weights of the others are copies.
		if i == 0 {
			s.Seed = begin.Seed
		}
		if a.ToSteps < a.FromSteps {
			return Schedule{}, fmt.Errorf("schedule: the journal is contradictory: member %d was copied at environment step %d after it had taken over weights at environment step %d", a.Member, a.ToSteps, a.FromSteps)
		}
		// Steps in events are the member's own, counted since training began, so a.FromSteps is subtracted to
		// continue the count of the weights.
		if err := s.add(h.Run.Tuned, s.Steps, *begin); err != nil {
			return Schedule{}, err
		}
		for _, e := range inside {
			if err := s.add(h.Run.Tuned, s.Steps+e.Steps-a.FromSteps, e); err != nil {
				return Schedule{}, err
			}
		}
		s.Steps += a.ToSteps - a.FromSteps
	}
	if err := s.Validate(); err != nil {
		return Schedule{}, fmt.Errorf("%w (in the journal of member %d's ancestors)", err, s.Member)
	}
	return s, nil
}

// add begins a phase, which takes the place of one that began at the same step: a member that was copied and mutated in
// one decision never trained with the values before.
func (s *Schedule) add(tuned []string, from int64, e journal.Event) error {
	member, values := e.Member, e.After
	p := Phase{From: from, Member: member, Hyperparameters: maps.Clone(values), Architecture: e.Architecture}
	if len(tuned) > 0 {
		p.Hyperparameters = make(map[string]float64, len(tuned))
		for _, key := range tuned {
			v, ok := values[key]
			if !ok {
				return fmt.Errorf("schedule: the journal does not have the tuned hyperparameter %q of member %d at environment step %d", key, member, from)
			}
			p.Hyperparameters[key] = v
		}
	}
	if n := len(s.Phases); n > 0 && s.Phases[n-1].From == from {
		s.Phases = s.Phases[:n-1]
	}
	s.Phases = append(s.Phases, p)
	return nil
}

// sorted returns the names in values in order, so that messages and files are the same on every run.
func sorted(values map[string]float64) []string { return slices.Sorted(maps.Keys(values)) }
