package evolution

import (
	"errors"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// LimitedEvaluator is a pbt.Evaluator whose evaluations can be limited, as a trainers.Trainee's can. Every member is given
// EvalSteps and EvalLoop when it is built.
type LimitedEvaluator interface {
	// LimitEvaluation makes later evaluations play at least loops episodes in every environment, and ends an episode after
	// steps steps. 0 means no such limit.
	LimitEvaluation(steps, loops int) error
}

// Options describe an evolution. Steps are environment steps of each member.
type Options struct {
	// PopulationSize is the number of members. Default 4.
	PopulationSize int
	// MaxSteps is how long every member trains, EvoSteps how long between selections. Defaults 1 000 000 and 10 000.
	MaxSteps, EvoSteps int64
	// EvalLoop is the number of episodes that every environment of a member plays, with the mean action, to measure its
	// fitness at the end of a generation. Default 1. A negative number measures nothing: the fitness is the figure as
	// training reports it. Otherwise trainees must be a pbt.Evaluator.
	EvalLoop int
	// EvalSteps ends these episodes after so many steps. Default 0: they are played to their end. Otherwise trainees must be
	// a [LimitedEvaluator].
	EvalSteps int
	// Objective names the fitness among the figures of trainees. Default "episode.return".
	Objective string
	// Target, when not nil, ends training early: after TargetGenerations generations (default 10), as soon as the mean of the
	// last ten fitnesses of every member has reached it.
	Target            *float64
	TargetGenerations int64
	// Selection decides who goes on: a [Tournament], a [MultiFrequency] or another strategy. Default DefaultTournament().
	Selection strategy.Strategy
	// Mutations say what happens to those who do. Default DefaultMutations().
	Mutations *Mutations
	// Registry says which networks, optimizers and settings evolve. Default: what [RegistryOf] finds in the first member.
	Registry *Registry
	// PreTrainingMutation mutates all members before training, each in one of the ways that have a weight.
	PreTrainingMutation bool
	// Initial and Sample are hyperparameters to begin with, as in pbt.Options.
	Initial []map[string]float64
	Sample  map[string]explore.Range
	// Copy says what a replaced member takes over beside the weights, as in pbt.Options. Default: everything.
	Copy pbt.CopyOptions
	// Seed makes everything random: the members' seeds, selection and mutations.
	Seed int64
	// Parallel is the greatest number of members that train at a time, which does not change results. Default: the number
	// of processors that Go uses.
	Parallel int
	// Directory keeps the population, so that the same options continue where an earlier run ended. Default: nothing is
	// kept.
	Directory string
	// Checkpoint is the number of steps after which a checkpoint of every member is written to CheckpointPath, at the end of
	// the generation then. Default 0: none. The population's own state, from which it continues, does not need them.
	// OverwriteCheckpoints keeps the last of every member only. CheckpointPath is by default the folder "checkpoints" in
	// Directory; each member has a folder in it.
	Checkpoint           int64
	CheckpointPath       string
	OverwriteCheckpoints bool
	// SaveElite writes the best that any member has been at the end of a generation, as it was before it was mutated,
	// to the folder ElitePath, by default "elite" in Directory, whenever there is a better one. See [LoadElite].
	SaveElite bool
	ElitePath string
	// Progress and ProgressSteps are as in pbt.Options.
	Progress      func(pbt.Update)
	ProgressSteps int64
	// New builds a member. Where m.Restoring is not nil, its networks must be of the architectures recorded there, which
	// [Architectures] reads; else of those that members begin with.
	New func(m pbt.Member) (pbt.Trainee, error)
}

func (o Options) withDefaults() Options {
	if o.PopulationSize == 0 {
		o.PopulationSize = 4
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = 1_000_000
	}
	if o.EvoSteps == 0 {
		o.EvoSteps = 10_000
	}
	if o.EvalLoop == 0 {
		o.EvalLoop = 1
	}
	if o.Objective == "" {
		o.Objective = "episode.return"
	}
	if o.Target != nil && o.TargetGenerations == 0 {
		o.TargetGenerations = 10
	}
	if o.Mutations == nil {
		m := DefaultMutations()
		o.Mutations = &m
	}
	switch s := o.Selection.(type) {
	case nil:
		t := strategy.DefaultTournament()
		t.MutateElite = o.Mutations.MutateElite
		o.Selection = t
	case strategy.Tournament:
		s.MutateElite = o.Mutations.MutateElite
		o.Selection = s
	}
	return o
}

// validate checks what is this package's; the rest is pbt's.
func (o Options) validate() error {
	switch {
	case o.PopulationSize < 1:
		return fmt.Errorf("evolution: PopulationSize is %d; give at least 1", o.PopulationSize)
	case o.MaxSteps < 1 || o.EvoSteps < 1:
		return fmt.Errorf("evolution: MaxSteps is %d and EvoSteps is %d; give at least 1 each", o.MaxSteps, o.EvoSteps)
	case o.EvalSteps < 0:
		return fmt.Errorf("evolution: EvalSteps is %d; give a number of steps, or 0 for whole episodes", o.EvalSteps)
	case o.EvalSteps > 0 && o.EvalLoop < 0:
		return errors.New("evolution: EvalSteps is set, but with a negative EvalLoop nothing is evaluated; leave one of them out")
	case o.Target != nil && (math.IsNaN(*o.Target) || math.IsInf(*o.Target, 0)):
		return fmt.Errorf("evolution: Target is %v; give a finite fitness, or nil for none", *o.Target)
	case o.TargetGenerations < 0 || o.TargetGenerations > 0 && o.Target == nil:
		return fmt.Errorf("evolution: TargetGenerations is %d; give 0 or more generations, together with a Target", o.TargetGenerations)
	case o.Checkpoint < 0:
		return fmt.Errorf("evolution: Checkpoint is %d; give a number of steps, or 0 for none", o.Checkpoint)
	case o.Checkpoint > 0 && o.CheckpointPath == "" && o.Directory == "":
		return errors.New("evolution: Checkpoint is set without a CheckpointPath or a Directory; name one of them")
	case o.SaveElite && o.ElitePath == "" && o.Directory == "":
		return errors.New("evolution: SaveElite is set without an ElitePath or a Directory; name one of them")
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
