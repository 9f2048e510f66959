package pbt

import (
	"errors"
	"fmt"
	"maps"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// pending is a decision that the next process applies, because the member must be built from the new hyperparameters and
// Options.New works only once in a process (WorkerOptions.RestartProcess).
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
	// Source is the member that is copied, SourceSteps its own steps then, SourceWeightSteps those behind its weights, and
	// Snapshot the name of the copied weights in the private folder.
	Source            int    `json:"source,omitempty"`
	SourceSteps       int64  `json:"source_steps,omitempty"`
	SourceWeightSteps int64  `json:"source_weight_steps,omitempty"`
	Snapshot          string `json:"snapshot,omitempty"`
}

// save stores the weights to copy in the private folder and returns what the state file refers to.
func (p *pending) save(store *checkpoint.Store, sequence int64) (*savedPending, error) {
	saved := &savedPending{Events: p.events, Event: p.event, Values: number.MapOf(p.values)}
	if p.event.Kind == journal.Replace {
		saved.Source, saved.SourceSteps, saved.SourceWeightSteps = p.source.member, p.source.steps, p.source.weightSteps
		var err error
		if saved.Snapshot, err = put(store, sequence, p.source.weightSteps, p.source.snapshot); err != nil {
			return nil, err
		}
	}
	return saved, nil
}

// check checks a pending decision against the state that it is part of.
func (p *savedPending) check(s workerState) error {
	if p.Event.Member != s.Policy || p.Event.Iteration != s.Iteration || p.Source < 0 || p.Source >= s.Members || min(p.SourceSteps, p.SourceWeightSteps) < 0 {
		return fmt.Errorf("the pending decision is of member %d at iteration %d, source %d with %d steps", p.Event.Member, p.Event.Iteration, p.Source, p.SourceSteps)
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

// resume applies the pending decision of the last process: it builds the member from the new hyperparameters. Where that
// fails, the member is built as it was before, and the journal says so.
func (s *Worker) resume(saved *restoredWorker) error {
	p, state := saved.state.Pending, saved.state
	m := &member{opt: &s.opt, id: s.cfg.Member, parent: -1, seed: seed(s.opt.Seed, streamSeed, int64(s.cfg.Member))}
	m.load(state.Member)
	m.hyperparameters = state.Member.Hyperparameters.Floats()
	values := p.Values.Floats()
	var err error
	switch p.Event.Kind {
	case journal.Replace:
		src := source{member: p.Source, snapshot: saved.source, steps: p.SourceSteps, weightSteps: p.SourceWeightSteps}
		var snapshot *checkpoint.Snapshot
		if snapshot, err = m.combine(src, saved.snapshot); err == nil {
			err = m.rebuildCopying(s.iteration, src, snapshot, values)
		}
	case journal.SelfMutate:
		if !m.status().Diverged() {
			m.snapshot = saved.snapshot
		}
		err = m.rebuildMutated(s.iteration, values)
	}
	if s.m = m; err == nil {
		p.Event.After, p.Event.Rebuilt = maps.Clone(m.hyperparameters), true
		if p.Event.Kind == journal.Replace {
			s.copies++
		}
	} else {
		p.Event.Cause = fmt.Sprintf("%s (%s) could not be applied: %v", p.Event.Kind, p.Event.Cause, err)
		p.Event.Kind = journal.ApplyFailed
		var broken error
		if s.m, broken = newMember(&s.opt, s.cfg.Member, &state.Member, saved.snapshot); broken != nil {
			return errors.Join(broken, err)
		}
	}
	s.cause = p.Event.Cause
	return s.proceed(append(p.Events, p.Event))
}
