package evolution

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/spaces"
)

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
	limits := DefaultLimits()
	limits.MaxLayers, limits.MinNodes = 2, 8
	must.Equal(t, "the options", Options{
		Options: pbt.Options{Members: 16, TotalSteps: 6_000_000, IntervalSteps: 10_240, Directory: "out",
			Measure: pbt.Measure{EvaluationEpisodes: 3}, Seed: 7, Diversify: true, Target: &pbt.Target{Figure: 250},
			Strategy: strategy.MultiFrequency{Subpopulations: 2, Ratios: []int{1, 4}, Winners: 2, Open: 2, Losers: 4,
				EvalLoop: 1}},
		Checkpoint: 5000, SaveElite: true, ElitePath: "out/elite",
		Mutations: &Mutations{Probabilities: Probabilities{NoMutation: 0.3, Architecture: 0.1, NewLayerProb: 0.5,
			Parameters: 0.15, Activation: 0.05, RLHP: 0.4},
			MutationSD: 0.2, MutateElite: true, ActivationSelection: []string{"relu", "elu", "gelu"},
			Limits: limits,
			Hyperparameters: HyperparameterConfig{
				"learning_rate":      {Min: 1e-4, Max: 0.01},
				"entropy_loss_scale": {Min: 0.001, Max: 0.1, GrowFactor: 1.5, ShrinkFactor: 0.75},
				"horizon":            {Min: 1, Max: 9, Kind: KindInt},
			}},
	}, s.Options)
	a := must.Get(s.Network.Architecture(spaces.NewBox(-1, 1, 4)))(t)
	must.Is(t, a.String(), "4→[16]→32→[16 24] tanh", "the architecture")
	if s.Algorithm["name"] != "PPO" || s.Environment["num_envs"] != 16 {
		t.Errorf("sections %v, %v", s.Algorithm, s.Environment)
	}
	if len(s.Notes) != 2 || !strings.Contains(s.Notes[0], "batch_size does nothing") ||
		!strings.Contains(s.Notes[1], "layer_norm does nothing") {
		t.Errorf("notes %q", s.Notes)
	}
}

// A file says of pictures and memory what networks begin with, and their limits.
func TestFromYAMLPicturesAndMemory(t *testing.T) {
	s := must.Get(FromYAML([]byte(`
network:
  arch: cnn
  latent_dim: 32
  encoder_config: {channel_size: [16, 24], kernel_size: [4, 3], stride_size: [2, 1], max_channel_size: 48,
    hidden_size: [8]}
  recurrent: {kind: gru, hidden_state_size: 40, num_layers: 2, max_hidden_state_size: 80}
  head_config: {hidden_size: [16]}
`)))(t)
	a := must.Get(s.Network.Architecture(spaces.NewDict(map[string]spaces.Space{
		"camera": spaces.NewPicture(12, 16, 3), "goal": spaces.Unbounded(2)})))(t)
	must.Is(t, a.String(), "12×16×3→[16k4s2 24k3] + 2→[8]→32→gru[40 40]→[16] relu", "the architecture")
	if l := s.Options.Mutations.Limits; l.MaxChannels != 48 || l.MaxHidden != 80 || l.MinChannels != 16 {
		t.Errorf("limits %+v", l)
	}
	must.Refused(s.Network.Architecture(spaces.NewPicture(5, 5, 1)))(t, "too small for it")
	must.Equal(t, "what Dict gives", s.Network, must.Get(FromDict(s.Dict()))(t).Network)
	s = must.Get(FromYAML([]byte("network: {arch: lstm, latent_dim: 0, recurrent: {hidden_state_size: 48}}")))(t)
	a = must.Get(s.Network.Architecture(spaces.Unbounded(3)))(t)
	must.Is(t, a.String(), "3→lstm[48]→[64] relu", "the architecture")
}

func TestFromYAMLOlderNames(t *testing.T) {
	o := must.Get(FromYAML([]byte(`
strict: true
seed: 5
mutation: {rand_seed: 9}
tournament_selection: {tournament_size: 3, elitism: false, eval_loop: 2}
training: {population_size: 5, target: 1, hpo: true}
`)))(t).Options
	must.Equal(t, "the options", Options{
		Options: pbt.Options{Members: 5, TotalSteps: 1_000_000, IntervalSteps: 10_000, Seed: 5, Diversify: true,
			Measure: pbt.Measure{EvaluationEpisodes: 1}, Target: &pbt.Target{Figure: 1, Generations: 100},
			Strategy: strategy.Tournament{TournamentSize: 3, EvalLoop: 2, Strict: true}},
		Mutations: &Mutations{Probabilities: DefaultMutations().Probabilities, Strict: true, MutationSD: 0.1,
			ActivationSelection: []string{"relu", "elu", "gelu"}},
	}, o)
	o = must.Get(FromYAML([]byte("training: {hpo: false}")))(t).Options
	if o.Strategy != (strategy.Never{}) || o.Diversify {
		t.Errorf("without optimisation: %+v", o)
	}
}

// refusals are manifests with what their errors say.
const refusals = `mutations: {} => unknown key "mutations" ; did you mean "mutation"?
mutation: {probabilities: {no_mutt: 1}} => "mutation.probabilities.no_mutt" ; no_mut"?
mutation: {rl_hp_selection: {larning_rate: {min: 1, max: 2}}} => no such hyperparameter ; did you mean "learning_rate"?
mutation: {rl_hp_selection: {lr: {min: 1, max: 2}, learning_rate: {min: 1, max: 2}}} => under another name as well
mutation: {preserve: overlop} => did you mean "overlap"?
selection_strategy: {strategy: turnament} => did you mean "tournament"?
{selection_strategy: {strategy: multi_frequency, n_winners: 2, n_losers: 5}, training: {pop_size: 8}} => together 8;
{selection_strategy: {strategy: multi_frequency}, training: {pop_size: 5}} => a population of 5 cannot be cut
network: {encoder_config: {channel_size: [16, 32], kernel_size: [3]}} => kernel_size 1 and stride_size 0
network: {encoder_config: {activation: Tanh}} => encoder and head begin with one activation
[1, 2] => mapping`

func TestFromYAMLRefuses(t *testing.T) {
	for row := range strings.Lines(refusals) {
		text, wants, _ := strings.Cut(strings.TrimSpace(row), " => ")
		must.RefusedAs(FromYAML([]byte(text)))(t, text, strings.Split(wants, " ; ")...)
	}
}

func FuzzFromYAML(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("strict: true\nmutation: {probabilities: {no_mut: 1}}\n"))
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
