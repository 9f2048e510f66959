package pbt

import (
	"fmt"
	"maps"
)

// apply carries out decisions, one a member and in their order, and returns what became of them.
func (p *Population) apply(decisions []Decision) []Event {
	sources := make(map[int]inheritance)
	for _, d := range decisions {
		if _, taken := sources[d.Source]; d.Action != Replace || taken {
			continue
		}
		s := p.members[d.Source]
		snapshot, err := s.snapshotOf()
		sources[d.Source] = inheritance{snapshot: snapshot, hyperparameters: maps.Clone(s.hyperparameters), steps: s.steps, err: err}
	}
	events := make([]Event, 0, len(decisions))
	for _, d := range decisions {
		m := p.members[d.Member]
		e := p.event(m, EventKind(d.Action), d.Reason)
		trained := m.failure == ""
		var err error
		switch d.Action {
		case Replace:
			s := sources[d.Source]
			e.Parent, e.ParentSteps = d.Source, s.steps
			if err = s.err; err != nil {
				err = fmt.Errorf("source: %w", err)
			} else {
				err = m.replace(&p.opt, p.iteration, s)
			}
			if err == nil {
				m.parent = d.Source
			}
		case SelfMutate:
			err = m.selfMutate(&p.opt, p.iteration)
		}
		if err != nil {
			e.Kind, e.Cause = EventApplyFailed, fmt.Sprintf("%s (%s) could not be applied: %v", d.Action, d.Reason, err)
		} else if d.Action != Keep {
			e.After = maps.Clone(m.hyperparameters)
		}
		events = append(events, e)
		if trained && m.failure != "" { // not even putting it back succeeded
			events = append(events, p.event(m, EventFailed, m.failure))
		}
	}
	return events
}
