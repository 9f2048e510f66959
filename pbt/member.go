package pbt

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/gorl-dev/gorl/checkpoint"
)

// member is a trainee and what the population remembers about it.
type member struct {
	id      int
	trainee Trainee
	seed    int64
	// steps are the member's own; the trainee's jump when it takes over weights.
	steps           int64
	parent          int
	objective       float64
	hasObjective    bool
	failure         string // "" while the member trains
	cause           error  // of the last failure, which may be over
	failedIteration int64
	hyperparameters map[string]float64
	metrics         map[string]float64
	saved           string // the name of its last saved snapshot, "" for none
	// snapshot is of the present state; nil when not taken since the state changed.
	snapshot *checkpoint.Snapshot
}

// build makes one member, as new or as saved.
func (p *Population) build(id int, saved *restored) error {
	m := &member{id: id, parent: -1, seed: seed(p.opt.Seed, streamSeed, int64(id))}
	values := p.opt.initial(id)
	if saved != nil {
		s := saved.state.Members[id]
		m.steps, m.parent, m.saved = s.Steps, s.parent(), s.Snapshot
		m.failure, m.failedIteration = s.Failure, s.FailedIteration
		if s.Objective != nil {
			m.objective, m.hasObjective = float64(*s.Objective), true
		}
		values = s.Hyperparameters.floats()
	}
	err := guarded(func() (err error) {
		m.trainee, err = p.opt.New(Member{ID: id, Seed: m.seed, Hyperparameters: maps.Clone(values)})
		return err
	})
	if err == nil && m.trainee == nil {
		err = errors.New("New returned nothing")
	}
	if err != nil {
		return fmt.Errorf("pbt: member %d: %w", id, err)
	}
	p.members = append(p.members, m)
	if err := guarded(func() error { return p.opt.checkMember(id, values, m.trainee.Hyperparameters()) }); err != nil {
		return err
	}
	return wrapMember(id, guarded(func() error {
		if saved != nil && saved.snapshots[id] != nil {
			if err := m.trainee.Restore(saved.snapshots[id]); err != nil {
				return fmt.Errorf("restore: %w", err)
			}
		}
		if len(values) > 0 {
			if err := m.trainee.SetHyperparameters(values); err != nil {
				return err
			}
		}
		m.hyperparameters = maps.Clone(m.trainee.Hyperparameters())
		return nil
	}))
}

func wrapMember(id int, err error) error {
	if err != nil {
		return fmt.Errorf("pbt: member %d: %w", id, err)
	}
	return nil
}

// status is where the member stands, sharing nothing with it.
func (m *member) status() Status {
	return Status{Member: m.id, Steps: m.steps, Objective: m.objective, HasObjective: m.hasObjective, Failed: m.failure != "", Hyperparameters: maps.Clone(m.hyperparameters)}
}

// advance trains for some steps, less only when the context is cancelled meanwhile.
func (m *member) advance(ctx context.Context, steps int64, objective string) error {
	before := m.trainee.Steps()
	err := m.trainee.Train(ctx, steps)
	trained := m.trainee.Steps() - before
	m.steps += max(trained, 0)
	stopped := ctx.Err() != nil
	if err != nil && !(stopped && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))) {
		return err
	}
	if trained < 0 || trained == 0 && !stopped {
		return fmt.Errorf("Train(%d) changed the number of steps by %d; it must advance", steps, trained)
	}
	m.observe(objective)
	return nil
}

// observe reads the trainee's figures.
func (m *member) observe(objective string) {
	m.metrics = maps.Clone(m.trainee.Metrics())
	m.hyperparameters = maps.Clone(m.trainee.Hyperparameters())
	if v, ok := m.metrics[objective]; ok {
		m.objective, m.hasObjective = v, true
	}
}

func (m *member) fail(iteration int64, err error) {
	m.failure, m.failedIteration, m.cause = err.Error(), iteration, err
	m.objective, m.hasObjective, m.snapshot = 0, false, nil
}

// adopt sets hyperparameters and reads back what is in effect.
func (m *member) adopt(values map[string]float64) error {
	if err := m.trainee.SetHyperparameters(maps.Clone(values)); err != nil {
		return fmt.Errorf("hyperparameters: %w", err)
	}
	m.hyperparameters = maps.Clone(m.trainee.Hyperparameters())
	return nil
}

// renew forgets what was known about the weights a member had before.
func (m *member) renew() {
	m.snapshot, m.metrics = nil, nil
	m.objective, m.hasObjective = 0, false
	m.failure, m.failedIteration = "", 0
}

// snapshotOf takes the member's snapshot, once until its state changes.
func (m *member) snapshotOf() (*checkpoint.Snapshot, error) {
	if m.snapshot != nil {
		return m.snapshot, nil
	}
	err := guarded(func() (err error) {
		m.snapshot, err = m.trainee.Snapshot()
		return err
	})
	if err == nil && m.snapshot == nil {
		err = errors.New("the trainee returned no snapshot")
	}
	if err != nil {
		m.snapshot = nil
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return m.snapshot, nil
}
