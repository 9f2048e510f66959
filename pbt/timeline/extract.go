package timeline

// This file extracts a timeline from a population's journal. Package journal finds the ancestors of the weights. This
// file joins the part of the training that each ancestor contributed.

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// Extract returns the hyperparameters that a member's current weights were trained with, those of all ancestors
// included.
// The timeline has the tuned hyperparameters, or all of them if the journal does not say which were tuned. In a
// population that evolves networks it also has their architectures. Edits of networks and noise on weights are not
// recorded.
func Extract(h *journal.History, member int) (Timeline, error) {
	return extract(h, true, member, 0)
}

// ExtractAt is [Extract] for the weights that a member had at the end of an interval, before the decision there. The
// weights of a [pbt.Result] are such.
func ExtractAt(h *journal.History, member int, iteration int64) (Timeline, error) {
	return extract(h, false, member, iteration)
}

// extract collects the hyperparameters that the ancestors were given. An ancestor's part ends when its weights were
// copied. If current is true, the timeline includes the decision at the end of the last interval; otherwise it ends
// with the interval iteration.
func extract(h *journal.History, current bool, member int, iteration int64) (Timeline, error) {
	ancestry, err := h.AncestryAt(member, iteration)
	if current {
		ancestry, err = h.Ancestry(member)
	}
	if err != nil {
		return Timeline{}, fmt.Errorf("timeline: %w", err)
	}
	s := Timeline{Objective: h.Run.Objective, Member: ancestry[len(ancestry)-1].Member}
	changes := make(map[int][]journal.Event) // by member, the events that set hyperparameters
	for _, e := range h.Events {
		if e.After != nil {
			changes[e.Member] = append(changes[e.Member], e)
		}
	}
	// From the oldest ancestor to the member itself. s.Steps counts the steps collected so far.
	for i, a := range ancestry {
		last := i == len(ancestry)-1
		var first *journal.Event // the values at the start of the part
		var later []journal.Event
		// Later values count only if the weights were trained with them: before the copy in an ancestor, before the end
		// in the member itself.
		for _, e := range changes[a.Member] {
			switch {
			case e.Iteration <= a.From:
				first = &e
			case !last && e.Steps < a.ToSteps, last && (current || e.Iteration < a.To):
				later = append(later, e)
			}
		}
		switch {
		case first == nil:
			return Timeline{}, fmt.Errorf("timeline: the journal does not say which hyperparameters member %d "+
				"began with", a.Member)
		case a.ToSteps < a.FromSteps:
			return Timeline{}, fmt.Errorf("timeline: the journal contradicts itself: member %d was copied at "+
				"environment step %d after it had taken over weights at environment step "+
				"%d", a.Member, a.ToSteps, a.FromSteps)
		case i == 0: // the only ancestor that was initialised; the others are copies
			s.Seed = first.Seed
		}
		if err := s.add(h.Run.Tuned, s.Steps, *first); err != nil {
			return Timeline{}, err
		}
		// Events count the member's own environment steps. Subtracting FromSteps counts those of the weights.
		for _, e := range later {
			if err := s.add(h.Run.Tuned, s.Steps+e.Steps-a.FromSteps, e); err != nil {
				return Timeline{}, err
			}
		}
		s.Steps += a.ToSteps - a.FromSteps
	}
	if err := s.Validate(); err != nil {
		return Timeline{}, fmt.Errorf("%w (in the journal of member %d's ancestors)", err, s.Member)
	}
	return s, nil
}

// add appends a phase. It replaces a phase that starts at the same step, since nothing was trained with that one.
func (s *Timeline) add(tuned []string, from int64, e journal.Event) error {
	p := Phase{From: from, Member: e.Member, Hyperparameters: maps.Clone(e.After), Architecture: e.Architecture}
	if len(tuned) > 0 {
		p.Hyperparameters = make(map[string]float64, len(tuned))
		for _, key := range tuned {
			v, ok := e.After[key]
			if !ok {
				return fmt.Errorf("timeline: the journal does not have the tuned hyperparameter %q of member %d at "+
					"environment step %d", key, e.Member, from)
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

// sorted returns the names in values in order, so that messages are equal on every run.
func sorted(values map[string]float64) []string { return slices.Sorted(maps.Keys(values)) }
