package evolution

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// Settings are an evolution's, as a file gives them.
type Settings struct {
	// Options are complete but for New, which the program that trains adds.
	Options Options
	// Network is what the file says of networks, nil where it says nothing.
	Network *Network
	// Algorithm and Environment are the file's sections of these names, as they are, for the program that trains.
	Algorithm, Environment map[string]any
	// Notes say what was accepted and does nothing, and why.
	Notes []string
}

// manifest is the file. The comments of its fields are the meanings in docs/reference/evolution.md.
type manifest struct {
	// Algorithm and Environment are handed to the program that trains, as they are.
	Algorithm   map[string]any `yaml:"algorithm"`
	Environment map[string]any `yaml:"environment"`

	Mutation mutationSection `yaml:"mutation"`
	// Network says what networks begin with and what limits they have; see below.
	Network map[string]any `yaml:"network"`
	// Who goes on, and how that is decided; see below.
	Selection map[string]any  `yaml:"selection_strategy"`
	Training  trainingSection `yaml:"training"`
	// Strict reproduces AgileRL, in mutations and selection.
	Strict bool `yaml:"strict"`
	// Seed makes everything random; without it RandSeed does, and without both 42.
	Seed *int64 `yaml:"seed"`

	known []string // hyperparameters that the caller knows of
}

type mutationSection struct {
	Probabilities probabilities `yaml:"probabilities"`
	// Selection has the hyperparameters that mutate, by their names here or in AgileRL; see below. Default: learning rates,
	// and batch size and learn step of trainees that can change them.
	Selection map[string]tunable `yaml:"rl_hp_selection"`
	// MutationSD is the standard deviation of noise on weights, relative to the weight.
	MutationSD float64 `yaml:"mutation_sd" config:"gt=0"`
	// RandSeed makes everything random where Seed is not given.
	RandSeed *int64 `yaml:"rand_seed" config:"min=0"`
	// MutateElite mutates the elite, too.
	MutateElite bool `yaml:"mutate_elite"`
	// Activations are the activations to choose from.
	Activations []string `yaml:"activation_selection"`
	// Preserve says how weights are carried over an edit of the architecture. Default "function", with Strict "overlap".
	Preserve string `yaml:"preserve" config:"oneof=|function|overlap"`
}

type probabilities struct {
	// None and Architecture are the relative weights of no mutation and of an edit of the architecture.
	None         float64 `yaml:"no_mut" config:"min=0"`
	Architecture float64 `yaml:"arch_mut" config:"min=0"`
	// NewLayer is the probability that an edit of the architecture is one of layers rather than of nodes.
	NewLayer float64 `yaml:"new_layer" config:"min=0,max=1"`
	// Parameters is the relative weight of noise on the policy's weights.
	Parameters float64 `yaml:"params_mut" config:"min=0"`
	// Activation is the relative weight of another activation.
	Activation float64 `yaml:"act_mut" config:"min=0"`
	// RLHP is the relative weight of another value for a hyperparameter.
	RLHP float64 `yaml:"rl_hp_mut" config:"min=0"`
}

// tunable is a hyperparameter that mutates.
type tunable struct {
	// Min and Max are its bounds; both must be given.
	Min float64 `yaml:"min"`
	Max float64 `yaml:"max"`
	// Grow and Shrink are its factors. Default (0): 1.2 and 0.8.
	Grow   float64 `yaml:"grow_factor" config:"min=0"`
	Shrink float64 `yaml:"shrink_factor" config:"min=0"`
	// Kind is that of its values. Default "float".
	Kind string `yaml:"dtype" config:"oneof=|float|int"`
}

type trainingSection struct {
	// MaxSteps is how long every member trains, EvoSteps how long between selections, in environment steps of each.
	MaxSteps int64 `yaml:"max_steps" config:"min=1"`
	EvoSteps int64 `yaml:"evo_steps" config:"min=1"`
	// PopSize is the number of members.
	PopSize int `yaml:"pop_size" config:"min=1"`
	// EvalSteps ends an evaluation's episodes after so many steps. Default (0): they are played to their end.
	EvalSteps int `yaml:"eval_steps" config:"min=0"`
	// EvalLoop is the number of episodes that every environment of a member plays to measure its fitness.
	EvalLoop int `yaml:"eval_loop" config:"min=1"`
	// Target ends training early, as soon as the mean of the last ten fitnesses of every member has reached it.
	Target *float64 `yaml:"target_score"`
	// Checkpoint is the number of steps after which checkpoints of the members are written. Default (0): none.
	Checkpoint int64 `yaml:"checkpoint_steps" config:"min=0"`
	// Path is their folder. Default: the folder checkpoints in Directory.
	Path string `yaml:"checkpoint_path"`
	// Overwrite keeps the last checkpoint of every member only.
	Overwrite bool `yaml:"overwrite_checkpoints"`
	// SaveElite writes the elite whenever there is a better one.
	SaveElite bool `yaml:"save_elite"`
	// ElitePath is the folder that it is written to. Default: the folder elite in Directory.
	ElitePath string `yaml:"elite_path"`
	// HPO is false for a population that is never selected and never mutates: the control.
	HPO bool `yaml:"hpo"`

	// gorl's own

	// TargetGenerations is the least number of generations before Target ends training. Default (0): 10, with Strict 100.
	TargetGenerations int64 `yaml:"target_generations" config:"min=0"`
	// PreTraining mutates all members once before training.
	PreTraining bool `yaml:"pre_training_mutation"`
	// Objective names the fitness among the figures of members. Default "episode.return".
	Objective string `yaml:"objective"`
	// Directory keeps the population, so that the same program continues it. Default: nothing is kept.
	Directory string `yaml:"directory"`
	// Parallel is the greatest number of members that train at a time. Default (0): the number of processors that Go uses.
	Parallel int `yaml:"parallel" config:"min=0"`
	// ProgressSteps is the number of steps after which progress is told of a member. Default (0): at every generation's end.
	ProgressSteps int64 `yaml:"progress_steps" config:"min=0"`
}

// aliases are the names of AgileRL's classes and trainers, and of older manifests.
var aliases = map[string]config.Alias{
	"mutation.no_mutation":     {Key: "mutation.probabilities.no_mut"},
	"mutation.architecture":    {Key: "mutation.probabilities.arch_mut"},
	"mutation.new_layer_prob":  {Key: "mutation.probabilities.new_layer"},
	"mutation.parameters":      {Key: "mutation.probabilities.params_mut"},
	"mutation.activation":      {Key: "mutation.probabilities.act_mut"},
	"mutation.rl_hp":           {Key: "mutation.probabilities.rl_hp_mut"},
	"mutation.hp_config":       {Key: "mutation.rl_hp_selection"},
	"training.population_size": {Key: "training.pop_size"},
	"training.target":          {Key: "training.target_score"},
	"training.checkpoint":      {Key: "training.checkpoint_steps"},
	"tournament_selection":     {Key: "selection_strategy", Note: "the section's older name"},
}

// FromFile reads a YAML file; see [FromYAML].
func FromFile(path string, hyperparameters ...string) (*Settings, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("evolution: %w", err)
	}
	s, err := FromYAML(data, hyperparameters...)
	if err != nil {
		return nil, fmt.Errorf("%w\nevolution: the file is %s", err, path)
	}
	return s, nil
}

// FromYAML reads a manifest as AgileRL's are: the sections mutation, selection_strategy, training and network, with their
// keys and defaults; algorithm and environment are handed through. hyperparameters are names that members have beside
// those of gorl's agents, which go by their own names and by AgileRL's (lr, gamma, ...). Beside them stand gorl's own keys:
// strict and seed; in mutation activation_selection, preserve and mutate_elite; in training target_generations,
// pre_training_mutation (default true), objective, directory, parallel and progress_steps. Unknown keys, and values of the
// wrong type or out of range, are errors with the nearest known name.
func FromYAML(data []byte, hyperparameters ...string) (*Settings, error) {
	dict, err := config.FromYAML(data)
	if err != nil {
		return nil, fmt.Errorf("evolution: %w", err)
	}
	return FromDict(dict, hyperparameters...)
}

// FromDict is FromYAML for settings that are already a dictionary. The dictionary is not changed.
func FromDict(dict map[string]any, hyperparameters ...string) (*Settings, error) {
	f := manifestDefaults()
	f.known = hyperparameters
	if err := config.Merge(&f, dict, config.Options{Prefix: "evolution", Aliases: aliases}); err != nil {
		return nil, err
	}
	s := &Settings{Algorithm: f.Algorithm, Environment: f.Environment}
	err := errors.Join(f.mutations(s), f.selection(s), f.network(s))
	if err != nil {
		return nil, err
	}
	f.training(s)
	return s, nil
}

func manifestDefaults() manifest {
	d := DefaultMutations()
	return manifest{
		Mutation: mutationSection{
			Probabilities: probabilities{d.NoMutation, d.Architecture, d.NewLayerProb, d.Parameters, d.Activation, d.RLHP},
			MutationSD:    d.MutationSD, Activations: d.ActivationSelection,
		},
		Training: trainingSection{MaxSteps: 1_000_000, EvoSteps: 10_000, PopSize: 4, EvalLoop: 1, HPO: true, PreTraining: true},
	}
}

// agilerl are the names of PPO's settings in AgileRL that may change while gorl's agents train.
var agilerl = map[string]string{
	"lr": "learning_rate", "gamma": "discount_factor", "gae_lambda": "gae_lambda", "clip_coef": "ratio_clip", "ent_coef": "entropy_loss_scale",
	"vf_coef": "value_loss_scale", "max_grad_norm": "grad_norm_clip", "target_kl": "kl_threshold",
}

// fixed are those that may not.
var fixed = []string{"batch_size", "learn_step", "update_epochs", "num_minibatches", "action_std_init"}

// tunables are the settings of gorl's agents that may change while training.
var tunables = []string{
	"discount_factor", "discriminator_grad_norm_clip", "discriminator_gradient_penalty_scale", "discriminator_learning_rate",
	"discriminator_logit_regularization_scale", "discriminator_loss_scale", "discriminator_weight_decay_scale",
	"entropy_loss_scale", "gae_lambda", "grad_norm_clip", "kl_threshold", "learning_rate", "ratio_clip",
	"replay_admission_probability", "style_reward_scale", "task_reward_scale", "value_clip", "value_loss_scale",
}

// mutations reads the section mutation.
func (f *manifest) mutations(s *Settings) error {
	x, p := f.Mutation, f.Mutation.Probabilities
	m := Mutations{
		NoMutation: p.None, Architecture: p.Architecture, Parameters: p.Parameters, Activation: p.Activation, RLHP: p.RLHP,
		NewLayerProb: p.NewLayer, MutationSD: x.MutationSD, ActivationSelection: x.Activations, MutateElite: x.MutateElite,
		Preserve: Preserve(x.Preserve), Strict: f.Strict,
	}
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(x.Selection)) {
		given := x.Selection[key]
		name, ok := f.hyperparameter(key)
		if name == "" && ok {
			s.Notes = append(s.Notes, fmt.Sprintf("mutation.rl_hp_selection.%s does nothing: it cannot change while gorl's agents train", key))
			continue
		}
		if _, twice := m.Hyperparameters[name]; !ok || twice {
			reason := "there is no such hyperparameter: want one of " + strings.Join(slices.Sorted(maps.Keys(agilerl)), ", ") + ", or one of gorl's own"
			if twice {
				reason = fmt.Sprintf("%q is given under another name as well; give one of the two", name)
			}
			near := config.Nearest(key, slices.Concat(slices.Collect(maps.Keys(agilerl)), tunables, f.known))
			problems = append(problems, &config.Error{Prefix: "evolution", Path: "mutation.rl_hp_selection." + key, Given: given.Min, Reason: reason, Nearest: near})
			continue
		}
		if m.Hyperparameters == nil {
			m.Hyperparameters = HyperparameterConfig{}
		}
		m.Hyperparameters[name] = RLParameter{Min: given.Min, Max: given.Max, GrowFactor: given.Grow, ShrinkFactor: given.Shrink, Kind: Kind(given.Kind)}
	}
	switch {
	case f.Seed != nil:
		s.Options.Seed = *f.Seed
	case x.RandSeed != nil:
		s.Options.Seed = *x.RandSeed
	default:
		s.Options.Seed = 42
	}
	s.Options.Mutations = &m
	return errors.Join(append(problems, m.Validate())...)
}

// hyperparameter is gorl's name of one; empty for those that cannot change.
func (f *manifest) hyperparameter(key string) (name string, ok bool) {
	switch {
	case slices.Contains(f.known, key) || slices.Contains(tunables, key):
		return key, true
	case agilerl[key] != "":
		return agilerl[key], true
	}
	return "", slices.Contains(fixed, key)
}

// training reads the section training.
func (f *manifest) training(s *Settings) {
	x, o := f.Training, &s.Options
	o.MaxSteps, o.EvoSteps, o.PopulationSize = x.MaxSteps, x.EvoSteps, x.PopSize
	o.EvalSteps, o.EvalLoop, o.Target, o.TargetGenerations = x.EvalSteps, x.EvalLoop, x.Target, x.TargetGenerations
	if f.Strict && x.Target != nil && x.TargetGenerations == 0 {
		o.TargetGenerations = 100 // AgileRL's
	}
	o.Checkpoint, o.CheckpointPath, o.OverwriteCheckpoints = x.Checkpoint, x.Path, x.Overwrite
	o.SaveElite, o.ElitePath = x.SaveElite, x.ElitePath
	o.PreTrainingMutation, o.Objective = x.PreTraining, x.Objective
	o.Directory, o.Parallel, o.ProgressSteps = x.Directory, x.Parallel, x.ProgressSteps
	if !x.HPO {
		o.Selection, o.PreTrainingMutation = strategy.Never{}, false
	}
	if s.Network != nil {
		o.Mutations.Limits = s.Network.Limits
	}
}
