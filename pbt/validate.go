package pbt

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// validate checks everything that can be checked before members exist. What depends on the hyperparameters that members
// have is checked by checkMember, for the first and every other one.
func (o Options) validate() error {
	for _, x := range []struct {
		name         string
		value, least int64
	}{
		{"Members", int64(o.Members), 1}, {"IntervalSteps", o.IntervalSteps, 1}, {"TotalSteps", o.TotalSteps, 1},
		{"StartAfter", o.StartAfter, 0}, {"InitialDelay", o.InitialDelay, 0}, {"ProgressSteps", o.ProgressSteps, 0},
		{"SaveSteps", o.SaveSteps, 0}, {"Slack", o.Slack, 0}, {"Parallel", int64(o.Parallel), 1},
	} {
		if x.value < x.least {
			return fmt.Errorf("pbt: %s is %d; give at least %d", x.name, x.value, x.least)
		}
	}
	switch {
	case o.Members > journal.MaxMembers:
		return fmt.Errorf("pbt: Members is %d; give 1 to %d", o.Members, journal.MaxMembers)
	case o.Objective == "":
		return errors.New("pbt: Objective is empty; name the metric to maximise, e.g. \"episode.length\"")
	case o.Evolve != nil && o.Explore != nil:
		return errors.New("pbt: Evolve and Explore both say what changes; give one of the two")
	case o.Target != nil && (!number.Finite(o.Target.Figure) || o.Target.Generations < 0):
		return fmt.Errorf("pbt: Target is %+v; give a finite Figure, and 0 or more Generations", *o.Target)
	case o.Asynchronous && o.needsAll():
		return errors.New("pbt: Options.Evolve, Target and OnInterval need members that wait for each other; leave " +
			"Asynchronous out")
	case o.New == nil:
		return errors.New("pbt: New is nil; give a function that builds a member")
	case len(o.Initial) > 1 && len(o.Initial) != o.Members:
		return fmt.Errorf("pbt: Initial has %d maps for %d members; give none, one, or one a member", len(o.Initial),
			o.Members)
	}
	if err := strategy.Check(o.Strategy, o.Members); err != nil {
		return err
	}
	if err := cmp.Or(o.Measure.validate(), o.Copy.validate()); err != nil {
		return err
	}
	for i, id := range o.Reference {
		if id < 0 || id >= o.Members {
			return fmt.Errorf("pbt: Reference names member %d; members are 0 to %d", id, o.Members-1)
		}
		if slices.Contains(o.Reference[:i], id) {
			return fmt.Errorf("pbt: Reference names member %d twice", id)
		}
	}
	for i, values := range o.Initial {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if !number.Finite(values[key]) {
				return fmt.Errorf("pbt: Initial[%d][%q] is %v; give a finite number", i, key, values[key])
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o.Sample)) {
		if err := o.Sample[key].Check(); err != nil {
			return fmt.Errorf("pbt: Sample[%q] %w", key, err)
		}
	}
	return nil
}

// Notes lists, before training, settings that probably have an unwanted effect: a population of one member, in which
// nothing can be copied, and a run that ends before the first decision that copies or mutates. Such settings are not
// errors: a run may be continued with a larger TotalSteps, and a single member is enough to check everything else.
func (o Options) Notes() (notes []string) {
	o = o.withDefaults()
	if _, never := o.Strategy.(strategy.Never); never { // its name says that nothing is copied
		return nil
	}
	if o.Members == 1 {
		notes = append(notes, "the population has 1 member: no weights are copied, as a copy needs two members")
	}
	if o.IntervalSteps < 1 || o.TotalSteps < 1 {
		return notes
	}
	last := (o.lastIteration() - 1) * o.IntervalSteps // the environment steps at the last decision
	switch {
	case last == 0:
		notes = append(notes, fmt.Sprintf("no member is copied or mutated: the first decision comes after an "+
			"interval of %d environment steps, and the run has %d; make the interval shorter or the run "+
			"longer", o.IntervalSteps, o.TotalSteps))
	case o.InitialDelay > last || o.StartAfter > last:
		notes = append(notes, fmt.Sprintf("no member is copied or mutated: the last decision comes after %d "+
			"environment steps, and a member must have trained %d before; make the initial delay or the time "+
			"between copies shorter, or the run longer", last, max(o.InitialDelay, o.StartAfter)))
	}
	return notes
}

// validate checks each setting by its config tag, and the settings against each other.
func (m Measure) validate() error {
	if err := config.Check(m, "pbt: measure"); err != nil {
		return err
	}
	switch {
	case m.Reducer != "" && m.Window == 0:
		return fmt.Errorf("pbt: measure.reducer is %q, but there is nothing to reduce; give a window, the number of "+
			"measurements", m.Reducer)
	case m.EvaluationEpisodes > 0 && m.Window > 0:
		return errors.New("pbt: measure has evaluation_episodes and a window; an evaluation is a measurement of its " +
			"own, give one of the two")
	case m.EvaluationEpisodes > 0 && m.MinSamples > m.EvaluationEpisodes:
		return fmt.Errorf("pbt: measure.min_samples is %d, but an evaluation has %d episodes; make "+
			"evaluation_episodes greater", m.MinSamples, m.EvaluationEpisodes)
	}
	return nil
}

// unknownObjective says why no member has an objective although it is time: too few measurements, or a name that no
// trainee reports.
func (g *group) unknownObjective() error {
	o, iteration := g.opt, g.iteration
	names, reported, most := make(map[string]bool), "", 0
	for _, w := range g.workers {
		m := w.m
		figures := m.metrics
		if o.Measure.EvaluationEpisodes > 0 {
			figures = m.evaluation
		}
		for name := range figures {
			names[name] = true
		}
		if m.Figure != "" {
			reported, most = m.Figure, max(most, m.Samples)
		}
	}
	later := "if it takes longer to appear, make the interval or the initial delay longer"
	if reported != "" {
		return fmt.Errorf("pbt: no member had the %d measurements of %q that measure.min_samples wants by the end "+
			"of interval %d, at most %d; %s", o.Measure.MinSamples, reported, iteration, most, later)
	}
	return fmt.Errorf("pbt: no member reported the objective %q by the end of interval %d: %s; %s", o.Objective,
		iteration, config.Among(o.Objective, slices.Sorted(maps.Keys(names))), later)
}

// validate checks each part by its config tag, and MomentDecay against Optimizer.
func (o CopyOptions) validate() error {
	if err := config.Check(o, "pbt: inherit"); err != nil {
		return err
	}
	switch decays := o.Optimizer == DecayPart; {
	case decays && o.MomentDecay == 0:
		return fmt.Errorf("pbt: inherit.moment_decay is 0; give a factor above 0, at most 1, or make optimizer %q "+
			"to have no moments", ResetPart)
	case !decays && o.MomentDecay != 0:
		return fmt.Errorf("pbt: inherit.moment_decay is %v, but inherit.optimizer is %q; make that %q, or leave "+
			"moment_decay out", o.MomentDecay, o.Optimizer, DecayPart)
	}
	return nil
}
