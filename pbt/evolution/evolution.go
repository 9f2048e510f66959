package evolution

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// Evolution is a population whose members evolve: their hyperparameters, their weights and the architecture of their
// networks. Only one goroutine may use it at a time; it trains several members at once by itself (Options.Parallel).
type Evolution struct {
	opt         Options
	population  *pbt.Population
	evolver     *Evolver            // empty until the first member is built, whose networks it is checked against
	checkpoints []*checkpoint.Store // one a member; empty where Options.Checkpoint is 0
	elite       *checkpoint.Store   // nil where Options.SaveElite is false
	written     int64               // the generation of the elite written last
}

// New checks the options and builds the members. Where Options.Directory holds a population already, members are
// restored to the state and the architectures that they had there. Nothing is trained yet: see [Evolution.Train]. The
// caller releases the members with Close.
//
// Errors name the option that is wrong and what to give instead. Options that depend on the members (Registry, the
// names of hyperparameters) are checked against the first member.
func New(o Options) (*Evolution, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	e := &Evolution{opt: o, evolver: &Evolver{}}
	if err := e.openStores(); err != nil {
		return nil, err
	}
	p, after := o.Options, o.OnInterval
	p.Evolve, p.New = e.evolver, e.member
	p.OnInterval = func(p *pbt.Population) error {
		if err := e.write(p); err != nil || after == nil {
			return err
		}
		return after(p)
	}
	var err error
	if e.population, err = pbt.New(p); err != nil {
		return nil, err
	}
	return e, nil
}

// Train trains all members to Options.TotalSteps, or until they reach Options.Target. It returns the elite: the best
// that any member was at the end of a generation, before it was mutated. A cancelled context interrupts training with
// the context's error; call Train again to continue. See pbt.Population.Train for what else interrupts it.
func (e *Evolution) Train(ctx context.Context) (*pbt.Result, error) { return e.population.Train(ctx) }

// Population returns the underlying population, for its journal, its table and package report's pictures.
func (e *Evolution) Population() *pbt.Population { return e.population }

// Elite returns the best that any member has been at the end of a generation so far, nil before the first generation
// has ended. Pass its snapshot to [Build] to get the agent.
func (e *Evolution) Elite() *pbt.Result { return e.population.Best() }

// Evolver returns what carries out the mutations, for instance to describe a snapshot with [Evolver.Architecture].
func (e *Evolution) Evolver() *Evolver { return e.evolver }

// Close releases all members. It may be called twice.
func (e *Evolution) Close() error { return e.population.Close() }

// Build makes a trainee with the networks recorded in a snapshot, such as an elite's, and restores the snapshot into it
// together with the hyperparameters recorded there. create builds the trainee as Options.New does, and may return a
// concrete type, which Build then returns as well:
//
//	elite, err := evolution.Build(func(m pbt.Member) (*trainers.Trainee, error) { ... }, best.Snapshot, seed)
//	// elite.Evaluate and elite.Agent can be called without a type assertion
//
// create gets seed in Member.Seed (0 for a negative one) and the snapshot in Member.Restoring. The caller closes the
// trainee. Where restoring fails, Build closes it.
func Build[T pbt.Trainee](create func(pbt.Member) (T, error), snapshot *checkpoint.Snapshot, seed int64) (T, error) {
	var none T
	t, err := create(pbt.Member{Seed: max(seed, 0), Restoring: snapshot})
	if err != nil {
		return none, fmt.Errorf("evolution: building a member: %w", err)
	}
	if err := restore(t, snapshot); err != nil {
		return none, errors.Join(fmt.Errorf("evolution: restoring a member: %w", err), t.Close())
	}
	return t, nil
}

// restore puts a snapshot into t, then the hyperparameters that the snapshot records, of those that t has.
func restore(t pbt.Trainee, snapshot *checkpoint.Snapshot) (err error) {
	now, values := t.Hyperparameters(), map[string]float64{}
	for _, p := range partsOf(snapshot) {
		for name := range layout.Map(p.snap.Values, layout.Hyperparameters) {
			if _, ok := now[p.prefix+name]; !ok {
				continue
			}
			if values[p.prefix+name], err = p.snap.Float(layout.Hyperparameters, name); err != nil {
				return err
			}
		}
	}
	if err := t.Restore(snapshot); err != nil || len(values) == 0 {
		return err
	}
	return t.SetHyperparameters(values)
}

// member is pbt.Options.New: it builds a member, limits its evaluations, and completes the evolver from the first one.
func (e *Evolution) member(m pbt.Member) (pbt.Trainee, error) {
	t, err := e.opt.New(m)
	if err != nil || t == nil {
		return t, err
	}
	if l, ok := t.(LimitedEvaluator); ok && e.opt.Measure.EvaluationEpisodes > 0 {
		err = l.LimitEvaluation(e.opt.EvalSteps, e.opt.Measure.EvaluationEpisodes)
	} else if e.opt.EvalSteps > 0 {
		err = fmt.Errorf(
			"evolution: EvalSteps needs trainees with a method LimitEvaluation, which a %T does not have; leave it "+
				"0", t)
	}
	if err == nil && e.evolver.registry.Groups == nil {
		err = e.prepare(m, t)
	}
	if err != nil {
		return t, errors.Join(err, t.Close())
	}
	return t, nil
}

// prepare completes the evolver by the first member: t, which was built as m says.
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
		mutations.Hyperparameters = r.defaults(partsOf(snap), e.firstValues(values))
		for name, p := range mutations.Hyperparameters {
			// The default bounds lie around the first member's values. Values that other members begin with, by
			// Sample or Initial, must lie within them, too.
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
	}
	complete, err := NewEvolver(mutations, r, snap, values)
	if err == nil {
		*e.evolver = *complete
	}
	return err
}

// firstValues returns the hyperparameters that the first member had before any training: now for a new population,
// and as the journal records them for one that continues. Default bounds depend on them, and must be the same in both
// cases.
func (e *Evolution) firstValues(now map[string]float64) map[string]float64 {
	if e.opt.Directory == "" {
		return now
	}
	events, _ := journal.Read(e.opt.Directory) // pbt.New reports a damaged journal
	for _, event := range events {
		if event.Kind == journal.Start && event.Member == 0 {
			if event.Before != nil { // what the mutation before training changed
				return event.Before
			}
			return event.After
		}
	}
	return now
}
