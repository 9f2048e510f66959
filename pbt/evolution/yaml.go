package evolution

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// Settings are an evolution's, as a file gives them.
type Settings struct {
	// Options are complete except for New, which the program that trains adds.
	Options Options
	// Network is what the file says of networks, nil if the file has no section network.
	Network *Network
	// Algorithm and Environment are the file's sections of these names, unchanged, for the program that trains.
	Algorithm, Environment map[string]any
	// Notes name the keys that were accepted and do nothing, each with the reason.
	Notes []string

	manifest manifest
}

// Dict returns the sections strict, network, mutation, selection_strategy and training with every default in them, but
// for those that depend on the agent; network only where the file has it. [FromDict] reads the same settings of them
// and of seed.
func (s *Settings) Dict() map[string]any {
	full := config.Dict(s.manifest)
	for _, key := range []string{"algorithm", "environment", "seed"} {
		delete(full, key)
	}
	mutation, selection := full["mutation"].(map[string]any), full["selection_strategy"].(map[string]any)
	if selection["n_individuals_per_subpopulation"] == 0 {
		delete(selection, "n_individuals_per_subpopulation")
	}
	for _, section := range []map[string]any{full, mutation, selection, full["training"].(map[string]any)} {
		maps.DeleteFunc(section, func(_ string, v any) bool {
			list, isList := v.([]any)
			dict, isDict := v.(map[string]any)
			return v == nil || isList && len(list) == 0 || isDict && len(dict) == 0
		})
	}
	return full
}

// manifest is the file. The comments of its fields are the meanings in docs/reference/evolution.md.
type manifest struct {
	// Algorithm and Environment are passed to the program that trains, unchanged.
	Algorithm   map[string]any `yaml:"algorithm"`
	Environment map[string]any `yaml:"environment"`

	Mutation mutationSection `yaml:"mutation"`
	// Network is the first networks and their limits (table below).
	Network map[string]any `yaml:"network"`
	// Selection is the way to select members (tables below).
	Selection map[string]any  `yaml:"selection_strategy"`
	Training  trainingSection `yaml:"training"`
	// Strict reproduces AgileRL's mutations and selection.
	Strict bool `yaml:"strict"`
	// Seed is the seed of everything random. Default: RandSeed, else 42.
	Seed *int64 `yaml:"seed"`

	known []string // hyperparameters that the caller knows of
}

type mutationSection struct {
	Mutations `yaml:",inline"`
	// RandSeed is the seed if the file has no key `seed`.
	RandSeed *int64 `yaml:"rand_seed" config:"min=0"`
}

// trainingSection is the section training; [Options] say more.
type trainingSection struct {
	// PopulationSize is the number of members.
	//
	// More search more widely; each costs one training run. Raise it first if seeds give different results.
	PopulationSize int `yaml:"pop_size" config:"min=1"`
	// MaxSteps is the number of environment steps of every member.
	MaxSteps int64 `yaml:"max_steps" config:"min=1"`
	// EvoSteps is the number of environment steps between two selections. Several updates and episodes should fit.
	//
	// Fewer select more often, but before a mutation shows its effect; more train bad members longer.
	EvoSteps int64 `yaml:"evo_steps" config:"min=1"`
	// EvalSteps is the number of environment steps at which episodes of an evaluation end; 0 is their own end.
	EvalSteps int `yaml:"eval_steps" config:"min=0"`
	// EvalLoop is the number of episodes that every environment plays with the mean action to measure fitness.
	//
	// More are less noisy and take longer.
	EvalLoop int `yaml:"eval_loop" config:"min=1"`
	// Target ends training when the mean of the last ten fitnesses of every member reaches it; null never does.
	Target *float64 `yaml:"target_score"`
	// TargetGenerations is the least number of generations before Target counts; 0 is 10, with strict 100 (AgileRL).
	TargetGenerations int64 `yaml:"target_generations" config:"min=0"`
	// Checkpoint is the number of environment steps between checkpoints of every member, rounded up to generations;
	// 0 writes none. Directory continues a population without them.
	Checkpoint int64 `yaml:"checkpoint_steps" config:"min=0"`
	// CheckpointPath is the folder of the checkpoints. Default: "checkpoints" in Directory.
	CheckpointPath string `yaml:"checkpoint_path"`
	// OverwriteCheckpoints keeps every member's last checkpoint only.
	OverwriteCheckpoints bool `yaml:"overwrite_checkpoints"`
	// SaveElite writes the best member so far to ElitePath, before its mutation. See [LoadElite].
	SaveElite bool `yaml:"save_elite"`
	// ElitePath is the folder of the elite. Default: "elite" in Directory.
	ElitePath string `yaml:"elite_path"`
	// PreTrainingMutation mutates every member once before training, by the weights other than no_mut.
	PreTrainingMutation bool `yaml:"pre_training_mutation"`
	// Objective is the figure to judge by. Default: "episode.return".
	Objective string `yaml:"objective"`
	// Directory is the folder of the population, from which the same program continues it. Default: nothing is kept.
	Directory string `yaml:"directory"`
	// Parallel is the number of members that train at a time; 0 is the number of processors. Results do not depend on
	// it.
	//
	// Lower it to save memory.
	Parallel int `yaml:"parallel" config:"min=0"`
	// ProgressSteps is the number of environment steps between calls of Progress within a generation; 0 calls it at
	// the end only.
	ProgressSteps int64 `yaml:"progress_steps" config:"min=0"`
	// HPO false selects and mutates nothing, as a control.
	HPO bool `yaml:"hpo"`
}

// options returns the section as options.
func (t trainingSection) options() Options {
	return Options{
		Options: pbt.Options{Members: t.PopulationSize, TotalSteps: t.MaxSteps, IntervalSteps: t.EvoSteps,
			Measure:   pbt.Measure{EvaluationEpisodes: t.EvalLoop},
			Diversify: t.PreTrainingMutation, Objective: t.Objective, Directory: t.Directory, Parallel: t.Parallel,
			ProgressSteps: t.ProgressSteps},
		EvalSteps: t.EvalSteps, Checkpoint: t.Checkpoint, CheckpointPath: t.CheckpointPath,
		OverwriteCheckpoints: t.OverwriteCheckpoints, SaveElite: t.SaveElite, ElitePath: t.ElitePath,
	}
}

// aliases are the names of AgileRL's trainers, and of older manifests.
var aliases = map[string]config.Alias{
	"training.population_size": {Key: "training.pop_size"},
	"training.target":          {Key: "training.target_score"},
	"training.checkpoint":      {Key: "training.checkpoint_steps"},
	"tournament_selection":     {Key: "selection_strategy", Note: "the section's older name"},
}

// FromYAML reads a manifest as AgileRL's are: the sections mutation, selection_strategy, training and network, with
// AgileRL's keys and defaults. The sections algorithm and environment are handed through. gorl adds the keys strict and
// seed; in mutation activation_selection, preserve and mutate_elite; in training target_generations,
// pre_training_mutation (default true), objective, directory, parallel and progress_steps.
//
// Hyperparameters in rl_hp_selection go by gorl's names or by AgileRL's (lr, gamma, ...), also of one group of IPPO and
// MAPPO (speaker.lr). hyperparameters are further names, of those that only the caller's trainees have.
//
// Unknown keys, and values of the wrong type or out of range, are errors that name the nearest known key.
func FromYAML(data []byte, hyperparameters ...string) (*Settings, error) {
	dict, err := config.FromYAML(data)
	if err != nil {
		return nil, fmt.Errorf("evolution: %w", err)
	}
	return FromDict(dict, hyperparameters...)
}

// FromDict is [FromYAML] for settings that are already a dictionary. The dictionary is not changed.
func FromDict(dict map[string]any, hyperparameters ...string) (*Settings, error) {
	f := manifestDefaults()
	f.known = hyperparameters
	if err := config.Merge(&f, dict, config.Options{Prefix: "evolution", Aliases: aliases}); err != nil {
		return nil, err
	}
	s := &Settings{Options: f.Training.options(), Algorithm: f.Algorithm, Environment: f.Environment}
	o := &s.Options
	switch t := f.Training; {
	case t.Target != nil:
		o.Target = &pbt.Target{Figure: *t.Target, Generations: t.TargetGenerations}
		if f.Strict {
			o.Target.Generations = cmp.Or(t.TargetGenerations, 100) // AgileRL's
		}
	case t.TargetGenerations != 0:
		return nil, fmt.Errorf("evolution: target_generations is %d; give a target_score for it to wait with, or "+
			"leave it out", t.TargetGenerations)
	}
	if err := errors.Join(f.mutations(s), f.selection(s), f.network(s)); err != nil {
		return nil, err
	}
	if !f.Training.HPO {
		o.Strategy, o.Diversify = strategy.Never{}, false
	}
	if s.Network != nil {
		o.Mutations.Limits = s.Network.Limits
	}
	s.manifest = f
	return s, nil
}

func init() {
	m, others := manifestDefaults(), map[string][]string{"multi_frequency": {"n_open"},
		"training": {"population_size", "target", "checkpoint"}}
	for name, defaults := range map[string]any{"mutation": m.Mutation, "training": m.Training,
		"network": networkDefaults(), "tournament": tournamentDefaults(), "multi_frequency": multiFrequencyDefaults()} {
		config.Declare("evolution", name, defaults, others[name]...)
	}
}

func manifestDefaults() manifest {
	d := DefaultMutations()
	d.Preserve = "" // it depends on strict
	return manifest{
		Mutation: mutationSection{Mutations: d},
		Training: trainingSection{PopulationSize: 4, MaxSteps: 1_000_000, EvoSteps: 10_000, EvalLoop: 1,
			PreTrainingMutation: true, HPO: true},
	}
}

// agilerl are AgileRL's names of PPO's settings that may change while gorl's agents train, with gorl's.
var agilerl = map[string]string{
	"lr": "learning_rate", "gamma": "discount_factor", "gae_lambda": "gae_lambda", "clip_coef": "ratio_clip",
	"ent_coef": "entropy_loss_scale", "vf_coef": "value_loss_scale", "max_grad_norm": "grad_norm_clip",
	"target_kl": "kl_threshold",
}

// fixed are settings that AgileRL mutates and that gorl's agents take only when they are built.
var fixed = []string{"batch_size", "learn_step", "update_epochs", "num_minibatches", "action_std_init"}

// mutations completes s.Options.Mutations and the seed from the section mutation. Hyperparameters that gorl's agents
// cannot change become notes.
func (f *manifest) mutations(s *Settings) error {
	m := f.Mutation.Mutations
	m.Hyperparameters, m.Strict = nil, f.Strict
	own := slices.Concat(explore.AgentSettings(), f.known)
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(f.Mutation.Hyperparameters)) {
		given := f.Mutation.Hyperparameters[key]
		group, short := "", key // "speaker." and "lr" of "speaker.lr" in IPPO and MAPPO
		if !strings.HasPrefix(key, "env.") {
			dot := strings.LastIndex(key, ".") + 1
			group, short = key[:dot], key[dot:]
		}
		name, ok := agilerl[short]
		name = group + name
		switch {
		case slices.Contains(own, key) || slices.Contains(own, short):
			name, ok = key, true
		case slices.Contains(fixed, short):
			s.Notes = append(s.Notes, fmt.Sprintf(
				"mutation.rl_hp_selection.%s does nothing: it cannot change while gorl's agents train", key))
			continue
		}
		if _, twice := m.Hyperparameters[name]; !ok || twice {
			reason := "there is no such hyperparameter: want one of " + strings.Join(slices.Sorted(maps.Keys(agilerl)),
				", ") + ", or one of gorl's own"
			if twice {
				reason = fmt.Sprintf("%q is given under another name as well; give one of the two", name)
			}
			near := config.Nearest(key, slices.Concat(slices.Sorted(maps.Keys(agilerl)), own))
			problems = append(problems, &config.Error{Prefix: "evolution", Path: "mutation.rl_hp_selection." + key,
				Given: given.Min, Reason: reason, Nearest: near})
			continue
		}
		if m.Hyperparameters == nil {
			m.Hyperparameters = HyperparameterConfig{}
		}
		m.Hyperparameters[name] = given
	}
	s.Options.Seed = *cmp.Or(f.Seed, f.Mutation.RandSeed, new(int64(42)))
	s.Options.Mutations = &m
	return errors.Join(append(problems, m.Validate())...)
}
