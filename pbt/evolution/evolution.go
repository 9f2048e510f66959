package evolution

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// Evolution is a population whose members evolve: their hyperparameters, their weights and the architecture of their
// networks. It is used by one goroutine at a time.
type Evolution struct {
	opt         Options
	population  *pbt.Population
	evolver     *Evolver
	checkpoints []*checkpoint.Store // of members, where checkpoints are written
	elite       *checkpoint.Store
	written     int64 // the generation of the elite written last
}

// New checks the options and builds the members or, where Options.Directory holds a population, puts all of them back to
// where they were, with the architectures that they had. Nothing is trained. Close releases the members.
func New(o Options) (*Evolution, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	m := o.Mutations.clone()
	o.Mutations = &m
	e := &Evolution{opt: o}
	if err := e.openStores(); err != nil {
		return nil, err
	}
	p := pbt.Options{
		Members: o.PopulationSize, Objective: o.Objective, IntervalSteps: o.EvoSteps, TotalSteps: o.MaxSteps,
		Measure:  pbt.Measure{EvaluationEpisodes: max(o.EvalLoop, 0), EvaluationSeed: o.Seed},
		Strategy: o.Selection, Evolve: deferred{e}, Copy: o.Copy, Diversify: o.PreTrainingMutation,
		Initial: o.Initial, Sample: o.Sample, Target: o.Target, TargetGenerations: o.TargetGenerations,
		Seed: o.Seed, Parallel: o.Parallel, Directory: o.Directory, Progress: o.Progress, ProgressSteps: o.ProgressSteps,
		OnInterval: func(p *pbt.Population) error { return e.write(p) }, New: e.member,
	}
	var err error
	if e.population, err = pbt.New(p); err != nil {
		return nil, err
	}
	return e, nil
}

// Train trains all members to Options.MaxSteps, or to the target, and returns the best that any was at the end of a
// generation, before it was mutated. See pbt.Population.Train for what interrupts it.
func (e *Evolution) Train(ctx context.Context) (*pbt.Result, error) { return e.population.Train(ctx) }

// Population is the population behind it, for its journal, table and pictures.
func (e *Evolution) Population() *pbt.Population { return e.population }

// Elite is the best that any member has been at the end of a generation; nil before the first one. See Build.
func (e *Evolution) Elite() *pbt.Result { return e.population.Best() }

// Evolver carries out the mutations.
func (e *Evolution) Evolver() *Evolver { return e.evolver }

// Close releases all members. It may be called twice.
func (e *Evolution) Close() error { return e.population.Close() }

// Build makes a trainee of the architectures in a snapshot, such as the elite's, and puts the snapshot into it. The caller
// closes it.
func (e *Evolution) Build(snapshot *checkpoint.Snapshot) (pbt.Trainee, error) {
	return Build(e.opt.New, snapshot, e.opt.Seed)
}

// Build makes a trainee of the architectures in a snapshot with a function as [Options] has, and puts the snapshot into
// it, with the hyperparameters that the snapshot records.
func Build(make func(pbt.Member) (pbt.Trainee, error), snapshot *checkpoint.Snapshot, seed int64) (pbt.Trainee, error) {
	t, err := make(pbt.Member{Seed: max(seed, 0), Restoring: snapshot})
	if err != nil {
		return nil, fmt.Errorf("evolution: building a member: %w", err)
	}
	values := map[string]float64{}
	if recorded, ok := snapshot.Values["hyperparameters"].(map[string]any); ok {
		for name := range t.Hyperparameters() {
			if _, ok := recorded[name]; !ok {
				continue
			}
			if values[name], err = snapshot.Float("hyperparameters", name); err != nil {
				break
			}
		}
	}
	if err == nil {
		err = t.Restore(snapshot)
	}
	if err == nil && len(values) > 0 {
		err = t.SetHyperparameters(values)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("evolution: restoring a member: %w", err), t.Close())
	}
	return t, nil
}

// member builds one, and makes the evolver from the first.
func (e *Evolution) member(m pbt.Member) (t pbt.Trainee, err error) {
	t, err = e.opt.New(m)
	if err != nil || t == nil {
		return t, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if l, ok := t.(LimitedEvaluator); ok && e.opt.EvalLoop > 0 {
		if err := l.LimitEvaluation(e.opt.EvalSteps, e.opt.EvalLoop); err != nil {
			return t, err
		}
	} else if e.opt.EvalSteps > 0 {
		return t, fmt.Errorf("evolution: EvalSteps needs trainees with a method LimitEvaluation, which a %T does not have; leave it 0", t)
	}
	if e.evolver != nil {
		return t, nil
	}
	return t, e.prepare(m, t)
}

// prepare makes the evolver.
func (e *Evolution) prepare(m pbt.Member, t pbt.Trainee) error {
	snap, err := t.Snapshot()
	if err != nil {
		return fmt.Errorf("evolution: the first member's snapshot: %w", err)
	}
	values := t.Hyperparameters()
	maps.Copy(values, m.Hyperparameters)
	var r Registry
	if e.opt.Registry != nil {
		r = *e.opt.Registry
	} else if r, err = RegistryOf(snap); err != nil {
		return err
	}
	mutations := *e.opt.Mutations
	if mutations.Hyperparameters == nil && mutations.RLHP > 0 {
		first := values
		if began, ok := e.beginnings(); ok {
			first = began
		}
		mutations.Hyperparameters = DefaultHyperparameters(first)
		for name, p := range mutations.Hyperparameters {
			if s, ok := e.opt.Sample[name]; ok {
				p.Min, p.Max = min(p.Min, s.Low), max(p.Max, s.High)
			}
			for _, initial := range e.opt.Initial {
				if v, ok := initial[name]; ok {
					p.Min, p.Max = min(p.Min, v), max(p.Max, v)
				}
			}
			mutations.Hyperparameters[name] = p
		}
		if r.Hyperparameters != nil {
			maps.DeleteFunc(mutations.Hyperparameters, func(name string, _ RLParameter) bool { return !slices.Contains(r.Hyperparameters, name) })
		}
	}
	e.evolver, err = NewEvolver(mutations, r, snap, values)
	return err
}

// beginnings are the hyperparameters that the first member of a population that continues had before training, so that what
// is made of them by default is the same as then.
func (e *Evolution) beginnings() (map[string]float64, bool) {
	if e.opt.Directory == "" {
		return nil, false
	}
	if _, err := os.Stat(filepath.Join(e.opt.Directory, pbt.StateFile)); err != nil {
		return nil, false
	}
	events, err := journal.Read(filepath.Join(e.opt.Directory, journal.File))
	if err != nil {
		return nil, false // New says what is wrong with it
	}
	for _, event := range events {
		if event.Kind == journal.Start && event.Member == 0 {
			if event.Before != nil {
				return event.Before, true
			}
			return event.After, true
		}
	}
	return nil, false
}

// deferred is the evolver, which is made from the first member.
type deferred struct{ e *Evolution }

func (d deferred) Evolve(in pbt.Candidate, rng *rand.Rand) (pbt.Candidate, string, error) {
	return d.e.evolver.Evolve(in, rng)
}

func (d deferred) Validate(hyperparameters []string) error {
	return d.e.evolver.Validate(hyperparameters)
}

func (d deferred) Keys() []string { return d.e.evolver.Keys() }

func (d deferred) Architecture(s *checkpoint.Snapshot) string { return d.e.evolver.Architecture(s) }
