package evolution

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// LimitedEvaluator is a pbt.Evaluator whose evaluations can be limited, such as a *trainers.Trainee. New calls
// LimitEvaluation once for every member that it builds, with Options.EvalSteps and Options.EvalLoop.
type LimitedEvaluator interface {
	// LimitEvaluation makes later evaluations play at least loops episodes in every environment, and ends an episode
	// after so many environment steps. 0 means no such limit.
	LimitEvaluation(steps, loops int) error
}

// Options describe an evolution. Only New must be given. Environment steps are those of each member. What the pointers,
// maps and slices refer to must not be changed while the evolution is in use. The yaml tags are the keys of the section
// training of a manifest, see [FromYAML].
type Options struct {
	// PopulationSize is the number of members, default 4. More members search more widely; each costs as much compute
	// as one training run. Raise it before anything else where runs end with different results for different seeds.
	PopulationSize int `yaml:"pop_size" config:"min=1"`
	// MaxSteps is the number of environment steps that every member trains in all, default 1 000 000.
	MaxSteps int64 `yaml:"max_steps" config:"min=1"`
	// EvoSteps is the number of environment steps of a generation: between two selections. Default 10 000. Short
	// generations select and mutate more often, but judge a mutation before its effect shows; long ones waste training on
	// bad members. Several updates of the agent and several episodes should fit.
	EvoSteps int64 `yaml:"evo_steps" config:"min=1"`
	// EvalSteps ends the episodes of an evaluation after so many environment steps. Default 0: they are played to their
	// end. Limit them where good agents' episodes are very long. Trainees must then be a [LimitedEvaluator], as a
	// trainers.Trainee is.
	EvalSteps int `yaml:"eval_steps" config:"min=0"`
	// EvalLoop is the number of episodes that every environment of a member plays, with the mean action, to measure
	// the member's fitness at the end of a generation. Default 1. Raise it where returns are noisy: selection then
	// picks good members more often than lucky ones, and evaluation takes longer. Trainees must be a pbt.Evaluator.
	// In Go a negative number switches the evaluation off: the fitness is then the figure that training reports.
	EvalLoop int `yaml:"eval_loop" config:"min=1"`
	// Target ends training early, once the mean of the last ten fitnesses of every member has reached it. Default:
	// none.
	Target *float64 `yaml:"target_score"`
	// TargetGenerations is the least number of generations before Target ends training. Default (0): 10, and 100 in a
	// manifest with strict, as in AgileRL. A larger one guards against ending by luck.
	TargetGenerations int64 `yaml:"target_generations" config:"min=0"`
	// Checkpoint is the number of environment steps after which a checkpoint of every member is written, at the end of the
	// generation. Default (0): none. A population continues from Directory without them; write them to compare
	// members later.
	Checkpoint int64 `yaml:"checkpoint_steps" config:"min=0"`
	// CheckpointPath is the folder of the checkpoints, with a folder for each member. Default: "checkpoints" in
	// Directory.
	CheckpointPath string `yaml:"checkpoint_path"`
	// OverwriteCheckpoints keeps only the last checkpoint of every member, which saves disk space.
	OverwriteCheckpoints bool `yaml:"overwrite_checkpoints"`
	// SaveElite writes the elite to ElitePath whenever there is a better one: the best that any member has been at
	// the end of a generation, before it was mutated. See [LoadElite].
	SaveElite bool `yaml:"save_elite"`
	// ElitePath is the folder that the elite is written to. Default: "elite" in Directory.
	ElitePath string `yaml:"elite_path"`
	// PreTrainingMutation mutates every member once before training, so that members begin different. The mutation is
	// drawn by the weights of [Mutations] without NoMutation.
	PreTrainingMutation bool `yaml:"pre_training_mutation"`
	// Objective names the fitness among the figures that trainees report. Default "episode.return".
	Objective string `yaml:"objective"`
	// Directory is the folder that keeps the population, so that the same program continues where an earlier run
	// ended or was killed. Default: nothing is kept.
	Directory string `yaml:"directory"`
	// Parallel is the greatest number of members that train at a time. Default (0): the number of processors that Go
	// uses. It does not change results. Lower it where members together need too much memory.
	Parallel int `yaml:"parallel" config:"min=0"`
	// ProgressSteps is the number of environment steps after which a training member is reported to Progress. Default (0):
	// at the end of a generation only.
	ProgressSteps int64 `yaml:"progress_steps" config:"min=0"`
	// Progress is called with news of members, for displays, as in pbt.Options.
	Progress func(pbt.Update) `yaml:"-"`
	// Selection decides which members stay and which are replaced: a strategy.Tournament, a strategy.MultiFrequency
	// or any other strategy. Default strategy.DefaultTournament(). The MutateElite of a tournament is overwritten
	// with that of Mutations.
	Selection strategy.Strategy `yaml:"-"`
	// Mutations say how members are mutated after selection. Default DefaultMutations().
	Mutations *Mutations `yaml:"-"`
	// Registry says which networks, optimizers and settings evolve. Default: what [RegistryOf] finds in the first
	// member, which suits gorl's agents. Give one for trainees of your own.
	Registry *Registry `yaml:"-"`
	// Initial are hyperparameters that members begin with, as in pbt.Options.
	Initial []map[string]float64 `yaml:"-"`
	// Sample are ranges that members' first hyperparameters are drawn from, by name, as in pbt.Options.
	Sample map[string]explore.Range `yaml:"-"`
	// Copy says what a replaced member takes over besides the weights, as in pbt.Options. Default: everything.
	Copy pbt.CopyOptions `yaml:"-"`
	// Seed is the seed of everything random: the members' own seeds, selection and mutations. Equal seeds give equal
	// runs.
	Seed int64 `yaml:"-"`
	// New builds a member. Where m.Restoring is not nil, the networks must have the architectures recorded in that
	// snapshot, which [Architectures] reads; otherwise they have the architectures that members begin with.
	New func(m pbt.Member) (pbt.Trainee, error) `yaml:"-"`
}

func (o Options) withDefaults() Options {
	o.PopulationSize = cmp.Or(o.PopulationSize, 4)
	o.MaxSteps, o.EvoSteps = cmp.Or(o.MaxSteps, 1_000_000), cmp.Or(o.EvoSteps, 10_000)
	o.EvalLoop = cmp.Or(o.EvalLoop, 1)
	o.Objective = cmp.Or(o.Objective, "episode.return")
	if o.Target != nil {
		o.TargetGenerations = cmp.Or(o.TargetGenerations, 10)
	}
	m := DefaultMutations()
	if o.Mutations != nil {
		m = *o.Mutations
	}
	o.Mutations = &m
	if o.Selection == nil {
		o.Selection = strategy.DefaultTournament()
	}
	if t, ok := o.Selection.(strategy.Tournament); ok {
		t.MutateElite = m.MutateElite
		o.Selection = t
	}
	return o
}

// Notes lists, before training, settings that probably have an unwanted effect; see [pbt.Options.Notes].
func (o Options) Notes() []string {
	o = o.withDefaults()
	p := pbt.Options{Members: o.PopulationSize, IntervalSteps: o.EvoSteps, TotalSteps: o.MaxSteps, Strategy: o.Selection}
	return p.Notes()
}

// validate checks what only this package knows; pbt.New checks the rest.
func (o Options) validate() error {
	switch {
	case o.PopulationSize < 1:
		return fmt.Errorf("evolution: PopulationSize is %d; give at least 1", o.PopulationSize)
	case o.MaxSteps < 1 || o.EvoSteps < 1:
		return fmt.Errorf("evolution: MaxSteps is %d and EvoSteps is %d; give at least 1 each", o.MaxSteps, o.EvoSteps)
	case o.EvalSteps < 0:
		return fmt.Errorf("evolution: EvalSteps is %d; give a number of environment steps, or 0 for whole episodes",
			o.EvalSteps)
	case o.EvalSteps > 0 && o.EvalLoop < 0:
		return errors.New("evolution: EvalSteps is set, but with a negative EvalLoop nothing is evaluated; leave one of them out")
	case o.Checkpoint < 0:
		return fmt.Errorf("evolution: Checkpoint is %d; give a number of environment steps, or 0 for none", o.Checkpoint)
	case o.Checkpoint > 0 && o.CheckpointPath == "" && o.Directory == "":
		return errors.New("evolution: checkpoint_steps are set without a checkpoint_path or a directory; name one of them")
	case o.SaveElite && o.ElitePath == "" && o.Directory == "":
		return errors.New("evolution: save_elite is set without an elite_path or a directory; name one of them")
	case o.TargetGenerations != 0 && o.Target == nil:
		return fmt.Errorf("evolution: target_generations is %d; give a target_score for it to wait with, or leave it out",
			o.TargetGenerations)
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
