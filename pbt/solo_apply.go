package pbt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

// announced is the event of a decision before it is carried out.
func (s *Solo) announced(d Decision, sourceSteps int64) Event {
	e := s.m.event(&s.opt, s.iteration, EventKind(d.Action), d.Reason)
	if d.Action == Replace {
		e.Parent, e.ParentSteps = d.Source, sourceSteps
	}
	return e
}

// carryOut does what was decided. Where that takes a new process it is saved for it.
func (s *Solo) carryOut(g Generation, decisions []Decision, records []*workspace.Record, source inheritance, before []Event) ([]Event, error) {
	var fault error
	known := func() []Event {
		events, err := s.learnt(g, decisions, records, before)
		fault = errors.Join(fault, err)
		return events
	}
	var moved *elsewhereError
	if s.opt.elsewhere != nil {
		s.opt.elsewhere = func(values map[string]float64) error {
			moved = &elsewhereError{values: values}
			return moved
		}
	}
	d := decisions[s.place.Policy]
	announced := s.announced(d, source.steps)
	events := s.m.carryOut(&s.opt, s.iteration, d, source, known)
	switch {
	case fault != nil:
		return nil, fault
	case moved != nil:
		s.phase, s.pending = phaseDecided, &pending{events: before, event: announced, values: moved.values, source: source}
		if err := s.persist(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("pbt: policy %d, interval %d: %w", s.place.Policy, s.iteration, ErrRestart)
	}
	if events[0].Kind == EventReplace {
		s.copies++
	}
	return append(before, events...), nil
}

// learnt is what an explorer that learns is told, see [Informed]: the journals of all, and where members stand. Members
// that wait for each other all know the same, and so can tell what those before them were given.
func (s *Solo) learnt(g Generation, decisions []Decision, records []*workspace.Record, before []Event) ([]Event, error) {
	known, err := s.everybody()
	if err != nil {
		return nil, err
	}
	stands := func(i int) Event {
		m := g.Members[i]
		return Event{
			Kind: EventKeep, Iteration: s.iteration, Member: i, Parent: -1, Steps: m.Steps,
			Objective: s.opt.Measure.signed(m.Objective), HasObjective: m.HasObjective, Before: m.Hyperparameters,
		}
	}
	own := s.place.Policy
	if !s.place.Synchronous {
		return append(append(known, before...), stands(own)), nil
	}
	// Others may be ahead: what they have written since must not make a difference.
	known = slices.DeleteFunc(known, func(e Event) bool { return e.Iteration >= s.iteration })
	known = append(known, before...)
	var waiting []Event
	for i := range g.Members {
		waiting = append(waiting, stands(i))
	}
	for i, d := range decisions[:own] {
		e := waiting[i]
		e.Kind, e.Cause = EventKind(d.Action), d.Reason
		values := e.Before
		if d.Action == Replace {
			e.Parent, e.ParentSteps = d.Source, g.Members[d.Source].Steps
			if !d.OwnHyperparameters {
				values = g.Members[d.Source].Hyperparameters
			}
		}
		if d.Action != Keep {
			if e.After = values; !d.Unmutated {
				e.After = s.opt.mutate(i, s.iteration, values, func() []Event { return slices.Concat(known, waiting[i:]) })
			}
		}
		known = append(known, e)
	}
	return append(known, waiting[own:]...), nil
}

// everybody is what the journals of all policies hold, as far as this process can read them: there is less to learn from
// where one is damaged.
func (s *Solo) everybody() ([]Event, error) {
	switch {
	case s.place.chronicle != nil:
		return s.place.chronicle.all()
	case s.seat.Dir() != "":
		journals, _ := readJournals(filepath.Dir(s.seat.Dir()))
		return MergeJournals(journals...)
	}
	return s.Journal(), nil
}

// fetch reads a peer's weights, which are verified by the board. What is damaged or gone is looked for again: its owner
// may have been replacing it.
func (s *Solo) fetch(ctx context.Context, l look, r workspace.Record) (inheritance, error) {
	w := waiter{s: s, brief: true}
	for try := 1; ; try++ {
		snapshot, err := s.place.Board.Fetch(r)
		if err == nil {
			if err = snapshot.CheckFinite(); err == nil {
				return inheritance{member: r.Member, snapshot: snapshot, hyperparameters: r.Hyperparameters, steps: r.Steps, weightSteps: r.WeightSteps}, nil
			}
		}
		if try == 4 {
			return inheritance{}, err
		}
		view, wrong := w.wait(ctx)
		if wrong != nil {
			return inheritance{}, wrong
		}
		again := l.record(view.Members[r.Member])
		if again == nil || again.Weights == nil {
			return inheritance{}, err
		}
		r = *again
	}
}

// goOn writes what became of the policy, and begins the next interval.
func (s *Solo) goOn(view workspace.View, events []Event) error {
	oldest := s.look().oldest(view)
	if err := s.proceed(events); err != nil {
		return err
	}
	// From now on the scores of weights that were given up are stale for everybody.
	if err := s.beat(workspace.Training); err != nil {
		return err
	}
	if err := s.seat.Prune(workspace.Keep{Oldest: oldest}); err != nil {
		return fmt.Errorf("pbt: policy %d: %w", s.place.Policy, err)
	}
	return nil
}

// proceed writes events and saves the policy at the beginning of the next interval.
func (s *Solo) proceed(events []Event) error {
	if err := s.record(events); err != nil {
		return err
	}
	s.iteration++
	s.phase, s.pending = phaseTraining, nil
	s.m.nextInterval()
	return s.persist()
}

// finish saves the end of training; the last events are written after, and again when this is repeated.
func (s *Solo) finish() error {
	s.phase = phaseFinished
	if err := s.persist(); err != nil {
		return err
	}
	if err := s.record(append(s.troubles(), s.m.event(&s.opt, s.iteration, EventFinal, ""))); err != nil {
		return err
	}
	s.done = true
	return s.beat(workspace.Finished)
}
