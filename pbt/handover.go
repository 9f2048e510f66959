package pbt

import (
	"errors"
	"fmt"
	"maps"

	"github.com/gorl-dev/gorl/checkpoint"
)

// inheritance is what a source hands on, taken before any decision is applied.
type inheritance struct {
	member          int
	snapshot        *checkpoint.Snapshot
	hyperparameters map[string]float64
	// steps are the source's own, weightSteps those behind its weights.
	steps, weightSteps int64
	// scores are those that the weights went through, the last of them of the interval scoredAt.
	scores   []float64
	scoredAt int64
	err      error
}

// bequeath is what the member hands on as it stands.
func (m *member) bequeath() inheritance {
	snapshot, err := m.snapshotOf()
	return inheritance{member: m.id, snapshot: snapshot, hyperparameters: maps.Clone(m.hyperparameters), steps: m.steps, weightSteps: m.weightSteps(), scores: m.scores, scoredAt: m.scoredAt, err: err}
}

// explorerAt is what changes a member's hyperparameters at an interval's end. events is called where the explorer learns;
// see Informed for what it returns.
func (o *Options) explorerAt(iteration int64, id int, events func() []Event) Explorer {
	if e, ok := o.explorer().(Informed); ok {
		return e.Inform(events(), stream(o.Seed, streamInform, iteration, int64(id)))
	}
	return o.explorer()
}

// carryOut does what was decided about the member, and returns the events of it. s is only looked at to replace, and known
// called for an explorer that learns.
func (m *member) carryOut(o *Options, iteration int64, d Decision, s inheritance, known func() []Event) []Event {
	e := m.event(o, iteration, EventKind(d.Action), d.Reason)
	trained := m.failure == ""
	var err error
	switch d.Action {
	case Replace:
		e.Parent, e.ParentSteps = d.Source, s.steps
		if err = s.err; err != nil {
			err = fmt.Errorf("source: %w", err)
		} else {
			e.Rebuilt, e.Mutation, err = m.replace(o, iteration, d, s, known)
		}
	case SelfMutate:
		e.Rebuilt, e.Mutation, err = m.selfMutate(o, iteration, known)
	}
	if err != nil {
		e.Kind, e.Mutation, e.Rebuilt, e.Cause = EventApplyFailed, "", false, fmt.Sprintf("%s (%s) could not be applied: %v", d.Action, d.Reason, err)
	} else if d.Action != Keep {
		e.After = maps.Clone(m.hyperparameters)
	}
	e.Architecture = m.describe(o)
	events := []Event{e}
	if trained && m.failure != "" { // not even putting it back succeeded
		events = append(events, m.event(o, iteration, EventFailed, m.failure))
	}
	return events
}

// mutate returns a mutated copy of values for a member at an interval's end.
func (o *Options) mutate(id int, iteration int64, values map[string]float64, known func() []Event) map[string]float64 {
	return o.explorerAt(iteration, id, known).Apply(maps.Clone(values), stream(o.Seed, streamMutate, iteration, int64(id)))
}

// selfMutate changes a member's hyperparameters and, where the population does not evolve, nothing else.
func (m *member) selfMutate(o *Options, iteration int64, known func() []Event) (rebuilt bool, mutation string, err error) {
	if m.failure != "" {
		return false, "", errors.New("the member failed; only another's weights can rescue it")
	}
	if o.Evolve != nil {
		id := int64(m.id)
		return m.evolveInPlace(o, iteration, seed(o.Seed, streamRebuild, iteration, id), stream(o.Seed, streamMutate, iteration, id))
	}
	old := maps.Clone(m.hyperparameters)
	var values map[string]float64
	err = guarded(func() error {
		values = o.mutate(m.id, iteration, old, known)
		if o.needsRebuild(old, values) {
			return ErrRebuild
		}
		return m.adopt(values)
	})
	if errors.Is(err, ErrRebuild) {
		if rebuilt, err = true, m.rebuildAsIs(o, iteration, values); err == nil {
			return rebuilt, "", nil
		}
	}
	if err != nil {
		if undo := guarded(func() error { return m.adopt(old) }); undo != nil {
			m.fail(iteration, fmt.Errorf("hyperparameters could not be put back: %w", undo))
			m.hyperparameters = old
		}
		return false, "", err
	}
	m.snapshot, m.changedAt = nil, m.steps
	return false, "", nil
}

// replace gives the member the source's weights first and the mutated hyperparameters last, or, on error, leaves it
// as it was.
func (m *member) replace(o *Options, iteration int64, d Decision, s inheritance, known func() []Event) (rebuilt bool, mutation string, err error) {
	values := s.hyperparameters
	if d.OwnHyperparameters {
		values = m.hyperparameters
	}
	if !d.Unmutated && o.Evolve == nil {
		if err := guarded(func() error { values = o.mutate(m.id, iteration, values, known); return nil }); err != nil {
			return false, "", fmt.Errorf("mutation: %w", err)
		}
	}
	values = maps.Clone(values)
	var rollback *checkpoint.Snapshot
	if m.failure == "" {
		rollback, _ = m.snapshotOf() // without one it cannot be put back if anything goes wrong, and must not be touched
	}
	own := rollback
	if m.status().Diverged() { // what it has of its own is not worth keeping
		own = nil
	}
	snapshot, err := o.combine(s, own)
	if err != nil {
		return false, "", err
	}
	if !d.Unmutated && o.Evolve != nil {
		in := Heritage{Member: m.id, Iteration: iteration, Snapshot: snapshot, Hyperparameters: values}
		out, what, err := o.evolve(in, stream(o.Seed, streamMutate, iteration, int64(m.id)))
		if err != nil {
			return false, "", err
		}
		snapshot, values, mutation = out.Snapshot, maps.Clone(out.Hyperparameters), what
	}
	if rollback == nil || o.needsRebuild(m.hyperparameters, values) || otherArchitectures(rollback, snapshot) {
		return true, mutation, m.rebuildTaking(o, iteration, s, snapshot, values)
	}
	old := m.hyperparameters
	err = guarded(func() error { return m.take(o, iteration, snapshot, values) })
	if errors.Is(err, ErrRebuild) {
		if err = m.rebuildTaking(o, iteration, s, snapshot, values); err == nil {
			return true, mutation, nil
		}
	}
	if err != nil {
		undo := guarded(func() error {
			if err := m.trainee.Restore(rollback); err != nil {
				return err
			}
			return m.adopt(old)
		})
		if undo != nil {
			m.fail(iteration, fmt.Errorf("could not be put back after a failed copy: %w", undo))
			m.hyperparameters = old
		}
		return false, "", err
	}
	m.renew(s)
	return false, mutation, nil
}

// combine is what comes from a source by Options.Inherit. own is the member's snapshot, nil where it has nothing of its
// own to keep.
func (o *Options) combine(s inheritance, own *checkpoint.Snapshot) (snapshot *checkpoint.Snapshot, err error) {
	err = guarded(func() (err error) {
		snapshot, err = o.Inherit.combine(s.snapshot, own)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("inheritance: %w", err)
	}
	return snapshot, nil
}

// take is the order in which everything is handed on.
func (m *member) take(o *Options, iteration int64, snapshot *checkpoint.Snapshot, values map[string]float64) error {
	if err := m.trainee.Restore(snapshot); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if r, ok := m.trainee.(Reseeder); ok {
		if err := r.Reseed(seed(o.Seed, streamReseed, iteration, int64(m.id))); err != nil {
			return fmt.Errorf("reseed: %w", err)
		}
	}
	return m.adopt(values)
}
