package evolution

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/spaces"
)

func TestFromYAMLDefaults(t *testing.T) {
	s := must.Get(FromYAML(nil))(t)
	want := Options{
		Options: pbt.Options{Members: 4, TotalSteps: 1_000_000, IntervalSteps: 10_000,
			Measure: pbt.Measure{EvaluationEpisodes: 1}, Seed: 42, Diversify: true,
			Strategy: strategy.Tournament{TournamentSize: 2, Elitism: true, EvalLoop: 1}},
		Mutations: &Mutations{NoMutation: 0.4, Architecture: 0.2, Parameters: 0.2, RLHP: 0.2, NewLayerProb: 0.2,
			MutationSD: 0.1, ActivationSelection: []string{"relu", "elu", "gelu"}},
	}
	must.Equal(t, "s.Options", want, s.Options, cmp.Comparer(func(a, b func(pbt.Member) (pbt.Trainee,
		error)) bool {
		return a == nil && b == nil
	}), cmp.Comparer(func(a, b func(pbt.Update)) bool {
		return a == nil &&
			b == nil
	}))
}

const example = `
algorithm: {name: PPO, lr: 0.001, batch_size: 128}
environment: {name: CartPole-v1, num_envs: 16}
mutation:
  probabilities: {no_mut: 0.3, arch_mut: 0.1, new_layer: 0.5, params_mut: 0.15, act_mut: 0.05, rl_hp_mut: 0.4}
  rl_hp_selection:
    lr: {min: 1e-4, max: 0.01}
    batch_size: {min: 8, max: 1024}
    ent_coef: {min: 0.001, max: 0.1, grow_factor: 1.5, shrink_factor: 0.75}
    horizon: {min: 1, max: 9, dtype: int}
  mutation_sd: 0.2
  rand_seed: 7
  mutate_elite: true
network:
  latent_dim: 32
  arch: mlp
  encoder_config: {hidden_size: [16], activation: Tanh, min_mlp_nodes: 8, layer_norm: true}
  head_config: {hidden_size: [16, 24], activation: Tanh, min_hidden_layers: 1, max_hidden_layers: 2, min_mlp_nodes: 16,
    max_mlp_nodes: 100}
selection_strategy:
  strategy: multi_frequency
  n_subpopulations: 2
  n_winners: 2
  evolution_frequency_ratios: [1, 4]
training:
  max_steps: 6_000_000
  target_score: 250.0
  pop_size: 16
  evo_steps: 10_240
  eval_steps:
  eval_loop: 3
  checkpoint: 5000
  save_elite: true
  elite_path: out/elite
  directory: out
`

func TestFromYAML(t *testing.T) {
	s := must.Get(FromYAML([]byte(example), "horizon"))(t)
	o := s.Options
	m := o.Mutations
	if m.NoMutation != 0.3 || m.Architecture != 0.1 || m.NewLayerProb != 0.5 || m.Parameters != 0.15 ||
		m.Activation != 0.05 || m.RLHP != 0.4 || m.MutationSD != 0.2 || !m.MutateElite || o.Seed != 7 {
		t.Errorf("mutations %+v, seed %d", m, o.Seed)
	}
	must.Equal(t, "m.Hyperparameters", HyperparameterConfig{
		"learning_rate":      {Min: 1e-4, Max: 0.01},
		"entropy_loss_scale": {Min: 0.001, Max: 0.1, GrowFactor: 1.5, ShrinkFactor: 0.75},
		"horizon":            {Min: 1, Max: 9, Kind: KindInt},
	}, m.Hyperparameters)
	if d := cmp.Diff(strategy.Strategy(strategy.MultiFrequency{Subpopulations: 2, Ratios: []int{1, 4}, Winners: 2,
		Open:   2,
		Losers: 4, EvalLoop: 1}), o.Strategy); d != "" {
		t.Error(d)
	}
	if o.TotalSteps != 6_000_000 || o.IntervalSteps != 10_240 || o.Members != 16 || o.Target.Figure != 250 ||
		o.Measure.EvaluationEpisodes != 3 || o.EvalSteps != 0 || o.Checkpoint != 5000 || !o.SaveElite ||
		o.ElitePath != "out/elite" || o.Directory != "out" {
		t.Errorf("training %+v", o)
	}
	want := DefaultLimits()
	want.MaxLayers, want.MinNodes = 2, 8
	if m.Limits != want {
		t.Errorf("limits %+v", m.Limits)
	}
	a, err := s.Network.Architecture(spaces.NewBox(-1, 1, 4))
	if err != nil || a.String() != "4→[16]→32→[16 24] tanh" {
		t.Errorf("architecture %v, %v", a, err)
	}
	if s.Algorithm["name"] != "PPO" || s.Environment["num_envs"] != 16 {
		t.Errorf("sections %v, %v", s.Algorithm, s.Environment)
	}
	if len(s.Notes) != 2 || !strings.Contains(s.Notes[0], "batch_size does nothing") || !strings.Contains(s.Notes[1],
		"layer_norm does nothing") {
		t.Errorf("notes %q", s.Notes)
	}
}

// A file says of pictures and memory what networks begin with, and their limits.
func TestFromYAMLPicturesAndMemory(t *testing.T) {
	s, err := FromYAML([]byte(`
network:
  arch: cnn
  latent_dim: 32
  encoder_config: {channel_size: [16, 24], kernel_size: [4, 3], stride_size: [2, 1], max_channel_size: 48,
    hidden_size: [8]}
  recurrent: {kind: gru, hidden_state_size: 40, num_layers: 2, max_hidden_state_size: 80}
  head_config: {hidden_size: [16]}
`))
	must.Do(t, err)
	space := spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(12, 16, 3),
		"goal": spaces.Unbounded(2)})
	a, err := s.Network.Architecture(space)
	if want := "12×16×3→[16k4s2 24k3] + 2→[8]→32→gru[40 40]→[16] relu"; err != nil || a.String() != want {
		t.Errorf("architecture %v, %v; want %s", a, err, want)
	}
	if l := s.Options.Mutations.Limits; l.MaxChannels != 48 || l.MaxHidden != 80 || l.MinChannels != 16 {
		t.Errorf("limits %+v", l)
	}
	must.Refused(s.Network.Architecture(spaces.NewPicture(5, 5, 1)))(t, "too small for it")
	again, err := FromDict(s.Dict())
	must.Do(t, err)
	must.Equal(t, "again.Network", s.Network, again.Network)
	if s, err = FromYAML(
		[]byte("network: {arch: lstm, latent_dim: 0, recurrent: {hidden_state_size: 48}}")); err != nil {
		t.Fatal(err)
	}
	if a, err := s.Network.Architecture(spaces.Unbounded(3)); err != nil || a.String() != "3→lstm[48]→[64] relu" {
		t.Errorf("%v, %v", a, err)
	}
}

func TestFromYAMLNamesOfClasses(t *testing.T) {
	s, err := FromYAML([]byte(`
strict: true
seed: 5
mutation: {no_mutation: 1, architecture: 2, parameters: 3, activation: 4, rl_hp: 5, new_layer_prob: 0.6, rand_seed: 9}
tournament_selection: {tournament_size: 3, elitism: false, eval_loop: 2}
training: {population_size: 5, target: 1, hpo: true}
`))
	must.Do(t, err)
	m := s.Options.Mutations
	if m.NoMutation != 1 || m.Architecture != 2 || m.Parameters != 3 || m.Activation != 4 || m.RLHP != 5 ||
		m.NewLayerProb != 0.6 || !m.Strict {
		t.Errorf("mutations %+v", m)
	}
	if want := (strategy.Tournament{TournamentSize: 3, EvalLoop: 2,
		Strict: true}); s.Options.Strategy != strategy.Strategy(want) {
		t.Errorf("selection %+v", s.Options.Strategy)
	}
	if s.Options.Seed != 5 || s.Options.Members != 5 || s.Options.Target.Generations != 100 {
		t.Errorf("options %+v", s.Options)
	}
	if s, err = FromYAML([]byte("training: {hpo: false}")); err != nil || s.Options.Strategy != (strategy.Never{}) ||
		s.Options.Diversify {
		t.Errorf("without optimisation: %+v, %v", s.Options, err)
	}
}

// refusals are manifests with what their errors say.
const refusals = `mutations: {} => unknown key "mutations" ; did you mean "mutation"?
mutation: {probabilities: {no_mutt: 1}} => "mutation.probabilities.no_mutt" ; no_mut"?
mutation: {no_mutation: 1, rl_ph: 2} => "mutation.rl_ph" ; rl_hp"?
mutation: {mutation_sd: 0} => "mutation.mutation_sd" is 0
mutation: {rl_hp_selection: {lr: {mn: 1}}} => "mutation.rl_hp_selection.lr.mn" ; min"?
mutation: {rl_hp_selection: {larning_rate: {min: 1, max: 2}}} => no such hyperparameter ; did you mean "learning_rate"?
mutation: {rl_hp_selection: {speaker.larning_rate: {min: 1, max: 2}}} => no such hyperparameter
mutation: {rl_hp_selection: {env.lr: {min: 1, max: 2}}} => no such hyperparameter
mutation: {rl_hp_selection: {lr: {min: 1, max: 2}, learning_rate: {min: 1, max: 2}}} => under another name as well
mutation: {rl_hp_selection: {a.lr: {min: 1, max: 2}, a.learning_rate: {min: 1, max: 2}}} => under another name as well
mutation: {rl_hp_selection: {lr: {min: a, max: 2}}} => "mutation.rl_hp_selection.lr.min" is "a"
mutation: {rl_hp_selection: {lr: {min: 3, max: 2}}} => ascending
mutation: {preserve: overlop} => did you mean "overlap"?
selection_strategy: {strategy: turnament} => did you mean "tournament"?
selection_strategy: {tournament_sise: 2} => tournament_size"?
selection_strategy: {tournament_size: 0} => "selection_strategy.tournament_size" is 0
selection_strategy: {strategy: multi_frequency, n_winers: 2} => n_winners"?
{selection_strategy: {strategy: multi_frequency, n_winners: 2, n_losers: 5}, training: {pop_size: 8}} => together 8;
{selection_strategy: {strategy: multi_frequency}, training: {pop_size: 5}} => a population of 5 cannot be cut
training: {max_step: 1} => max_steps"?
training: {evo_steps: 0} => "training.evo_steps" is 0
training: {pop_size: 3, population_size: 4} => population_size
network: {arch: resnet} => "network.arch" is "resnet"
network: {recurrent: {kind: gur}} => "network.recurrent.kind" is "gur" ; want one of "none", "gru"
network: {recurrent: {hidden_size: 3}} => "network.recurrent.hidden_size"
network: {recurrent: {min_hidden_state_size: 600}} => limits of recurrent values are 600 to 512
network: {encoder_config: {channel_size: [16, 32], kernel_size: [3]}} => kernel_size 1 and stride_size 0
network: {encoder_config: {activation: Tanh}} => encoder and head begin with one activation
network: {head_config: {min_hidden_layers: 4}} => limits of hidden layers are 4 to 3
INIT_HP: {POP_SIZE: 3} => unknown key "INIT_HP"
[1, 2] => mapping`

func TestFromYAMLRefuses(t *testing.T) {
	for row := range strings.Lines(refusals) {
		text, wants, _ := strings.Cut(strings.TrimSpace(row), " => ")
		must.RefusedAs(FromYAML([]byte(text)))(t, text, strings.Split(wants, " ; ")...)
	}
}

func FuzzFromYAML(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("strict: true\nmutation: {no_mutation: 1}\n"))
	f.Add([]byte("selection_strategy: {strategy: multi_frequency, n_subpopulations: 0}\ntraining: {pop_size: 9}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := FromYAML(data, "horizon")
		if (s == nil) == (err == nil) {
			t.Fatalf("%v, %v", s, err)
		}
		if err == nil {
			must.Do(t, s.Options.Mutations.Validate())
		}
	})
}
