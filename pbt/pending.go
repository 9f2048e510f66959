package pbt

import (
	"errors"
	"fmt"
	"maps"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// pending is a decision that the next process applies, because the member must be built from the new hyperparameters
// and Options.New works only once in a process (ProcessOptions.RestartProcess).
type pending struct {
	events []journal.Event // what came before the decision
	event  journal.Event   // the decision itself, as announced
	values map[string]float64
	source source // for Replace
}

// savedPending is a pending decision in a state file.
type savedPending struct {
	Events []journal.Event `json:"events,omitempty"`
	Event  journal.Event   `json:"event"`
	Values number.Map      `json:"values"`
	// Source is the member that is copied, SourceSteps its own environment steps then, SourceWeightSteps those behind its
	// weights, and Snapshot the name of the copied weights in the private folder.
	Source            int    `json:"source,omitempty"`
	SourceSteps       int64  `json:"source_steps,omitempty"`
	SourceWeightSteps int64  `json:"source_weight_steps,omitempty"`
	Snapshot          string `json:"snapshot,omitempty"`
}

// save stores the weights to copy in the private folder and returns what the state file refers to.
func (p *pending) save(f *files) (*savedPending, error) {
	saved := &savedPending{Events: p.events, Event: p.event, Values: number.MapOf(p.values)}
	if p.event.Kind == journal.Replace {
		saved.Source, saved.SourceSteps, saved.SourceWeightSteps = p.source.member, p.source.steps, p.source.weightSteps
		var err error
		if saved.Snapshot, err = f.put(p.source.weightSteps, p.source.snapshot); err != nil {
			return nil, err
		}
	}
	return saved, nil
}

// check checks a pending decision against the state that it is part of.
func (p *savedPending) check(s savedState) error {
	if p.Event.Member != s.Policy || p.Event.Iteration != s.Iteration || p.Source < 0 || p.Source >= s.Members ||
		min(p.SourceSteps, p.SourceWeightSteps) < 0 {
		return fmt.Errorf("the pending decision is of member %d at iteration %d, source %d with %d environment steps",
			p.Event.Member, p.Event.Iteration, p.Source, p.SourceSteps)
	}
	switch p.Event.Kind {
	case journal.Replace:
		if p.Snapshot == "" || p.Source == s.Policy {
			return fmt.Errorf("the pending decision takes over weights %q of %d", p.Snapshot, p.Source)
		}
	case journal.SelfMutate:
	default:
		return fmt.Errorf("the pending decision is %q", p.Event.Kind)
	}
	return nil
}

// resume applies the pending decision of the last process: it builds the member from the new hyperparameters. If that
// fails, the member is built as it was before, and the journal says so.
func (w *worker) resume(saved *restored) error {
	g, p, state := w.group, saved.state.Pending, saved.state
	m := &member{opt: g.opt, id: w.id, parent: -1, seed: seed(g.opt.Seed, streamSeed, int64(w.id))}
	m.load(state.Member)
	m.hyperparameters = state.Member.Hyperparameters.Floats()
	values := p.Values.Floats()
	var err error
	switch p.Event.Kind {
	case journal.Replace:
		src := source{member: p.Source, snapshot: saved.source, steps: p.SourceSteps, weightSteps: p.SourceWeightSteps}
		var snapshot *checkpoint.Snapshot
		if snapshot, err = m.combine(src, saved.snapshot); err == nil {
			err = m.rebuildCopying(g.iteration, src, snapshot, values)
		}
	case journal.SelfMutate:
		if !m.status().Diverged() {
			m.snapshot = saved.snapshot
		}
		err = m.rebuildMutated(g.iteration, values)
	}
	if w.m = m; err == nil {
		p.Event.After, p.Event.Rebuilt = maps.Clone(m.hyperparameters), true
		if p.Event.Kind == journal.Replace {
			w.copies++
		}
	} else {
		p.Event.Cause = fmt.Sprintf("%s (%s) could not be applied: %v", p.Event.Kind, p.Event.Cause, err)
		p.Event.Kind = journal.ApplyFailed
		var broken error
		if w.m, broken = w.build(&state.Member, saved.snapshot); broken != nil {
			return errors.Join(broken, err)
		}
	}
	w.m.restartProcess = g.cfg.RestartProcess
	w.cause = p.Event.Cause
	return g.proceed(append(p.Events, p.Event))
}
