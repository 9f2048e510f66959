package evolution

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// LimitedEvaluator is a pbt.Evaluator whose evaluations can be limited, such as a *trainers.Trainee. New calls
// LimitEvaluation once for every member that it builds, with Options.EvalSteps and Options.EvalLoop.
type LimitedEvaluator interface {
	// LimitEvaluation makes later evaluations play at least loops episodes in every environment, and ends an episode
	// after so many environment steps. 0 means no such limit.
	LimitEvaluation(steps, loops int) error
}

// Options describe an evolution. Only New must be given. Step counts are per member. What the pointers, maps and slices
// refer to must not be changed while the evolution is in use.
type Options struct {
	// Options are the population's, with AgileRL's defaults: 4 Members, 1 000 000 TotalSteps, 10 000 IntervalSteps (a
	// generation), "episode.return" for Objective, strategy.DefaultTournament() for Strategy, 1 for
	// Measure.EvaluationEpisodes, and at least 10 intervals before Target ends training. The MutateElite of a
	// tournament is that of Mutations.
	//
	// Measure.EvaluationEpisodes is the number of episodes that every environment of a member plays, with the mean
	// action, to measure the member's fitness. Raise it if returns are noisy. Trainees must be a pbt.Evaluator. A
	// negative number switches the evaluation off: the fitness is then the figure that training reports.
	//
	// Diversify mutates every member once before training, by the weights of [Mutations] without NoMutation. [New] sets
	// Evolve. If m.Restoring is not nil, New of a member must build networks of the architectures in that snapshot,
	// which [Architectures] reads.
	pbt.Options
	// EvalSteps ends the episodes of an evaluation after so many environment steps. Default 0: at their end. Limit them
	// if good agents' episodes are very long. Trainees must then be a [LimitedEvaluator], as a trainers.Trainee is.
	EvalSteps int
	// Checkpoint is the number of environment steps after which a checkpoint of every member is written, at the end of
	// the generation. Default 0: none. A population continues from Directory without them. Write them to compare
	// members later.
	Checkpoint int64
	// CheckpointPath is the folder of the checkpoints, with a folder for each member. Default: "checkpoints" in
	// Directory.
	CheckpointPath string
	// OverwriteCheckpoints keeps only the last checkpoint of every member, which saves disk space.
	OverwriteCheckpoints bool
	// SaveElite writes the elite to ElitePath whenever there is a better one: the best member at the end of any
	// generation so far, before its mutation. See [LoadElite].
	SaveElite bool
	// ElitePath is the folder of the elite. Default: "elite" in Directory.
	ElitePath string
	// Mutations say how members are mutated after selection. Default: [DefaultMutations].
	Mutations *Mutations
	// Registry says which networks, optimizers and settings evolve. Default: what [RegistryOf] finds in the first
	// member, which suits gorl's agents. Give one for trainees of your own.
	Registry *Registry
}

func (o Options) withDefaults() Options {
	o.Members = cmp.Or(o.Members, 4)
	o.TotalSteps, o.IntervalSteps = cmp.Or(o.TotalSteps, 1_000_000), cmp.Or(o.IntervalSteps, 10_000)
	o.Measure.EvaluationEpisodes = max(cmp.Or(o.Measure.EvaluationEpisodes, 1), 0)
	o.Measure.EvaluationSeed = cmp.Or(o.Measure.EvaluationSeed, o.Seed)
	o.Objective = cmp.Or(o.Objective, "episode.return")
	if o.Target != nil {
		o.Target = &pbt.Target{Figure: o.Target.Figure, Generations: cmp.Or(o.Target.Generations, 10)}
	}
	m := DefaultMutations()
	if o.Mutations != nil {
		m = *o.Mutations
	}
	o.Mutations = &m
	if o.Strategy == nil {
		o.Strategy = strategy.DefaultTournament()
	}
	if t, ok := o.Strategy.(strategy.Tournament); ok {
		t.MutateElite = m.MutateElite
		o.Strategy = t
	}
	return o
}

// Notes lists, before training, settings that probably have an unwanted effect; see [pbt.Options.Notes].
func (o Options) Notes() []string { return o.withDefaults().Options.Notes() }

// validate checks what only this package knows. pbt.New checks the rest.
func (o Options) validate() error {
	switch {
	case o.EvalSteps < 0:
		return fmt.Errorf("evolution: EvalSteps is %d; give a number of environment steps, or 0 for whole episodes",
			o.EvalSteps)
	case o.EvalSteps > 0 && o.Measure.EvaluationEpisodes == 0:
		return errors.New("evolution: EvalSteps is set, but with a negative Measure.EvaluationEpisodes nothing is " +
			"evaluated; leave one of them out")
	case o.Checkpoint < 0:
		return fmt.Errorf("evolution: Checkpoint is %d; give a number of environment steps, or 0 for none",
			o.Checkpoint)
	case o.Checkpoint > 0 && o.CheckpointPath == "" && o.Directory == "":
		return errors.New("evolution: checkpoint_steps are set without a checkpoint_path or a directory; name one " +
			"of them")
	case o.SaveElite && o.ElitePath == "" && o.Directory == "":
		return errors.New("evolution: save_elite is set without an elite_path or a directory; name one of them")
	case o.New == nil:
		return errors.New("evolution: New is nil; give a function that builds a member")
	}
	if err := o.Mutations.Validate(); err != nil {
		return err
	}
	if o.Registry != nil {
		return o.Registry.Validate()
	}
	return nil
}
