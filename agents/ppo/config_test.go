package ppo

import (
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
)

// valued returns small networks for spaces, with the value network that make makes.
func valued[N models.Network](sp spaces.Set, make func() (N, error)) Models {
	return Models{Make: func(seed int64) (models.Policy, models.Network, error) {
		p, v, err := MLPs(sp, []int{8}, "tanh").Make(seed)
		if err != nil {
			return nil, nil, err
		}
		v.Close()
		v, err = make()
		return p, v, err
	}}
}

// Every mistake is an error that says what is wrong, before anything is made.
func TestRefuses(t *testing.T) {
	type settings = map[string]any
	choices := spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewDiscrete(3)}
	schedule := func(compatibility string, kwargs settings) settings {
		return settings{"learning_rate_scheduler": "KLAdaptiveLR", "learning_rate_scheduler_kwargs": kwargs,
			"compatibility": compatibility}
	}
	memory := Recurrent(plain, models.GRU(5), []int{8}, "tanh")
	wide := valued(plain, func() (*models.Net, error) {
		return models.NewMLP(models.MLPConfig{Inputs: 4, Outputs: 2}, 1)
	})
	none := models.DefaultGaussianConfig()
	none.Reduction = "none"
	// "OBSERVATIONS" by the number of the choice it is, as a model in YAML reads it
	indices := spaces.Set{Observation: spaces.NewDiscrete(5), Action: spaces.NewDiscrete(2)}
	net := []any{settings{"name": "net", "input": "one_hot_encoding(OBSERVATION_SPACE, OBSERVATIONS)"}}
	spec := check.Get(models.ParseSpec(settings{"class": "Deterministic", "network": net, "output": "ONE"}))(t)
	oneHot := valued(indices, func() (models.Network, error) { return spec.BuildNetwork(indices, 1) })
	for want, o := range map[string]Options{ // parts of the error, separated by |
		`unknown key "ent_coef" (given 0.5)|" here`: {Dict: settings{"ent_coef": 0.5}}, // of another library
		`"learning_rate" has 3 values`:              {Dict: settings{"learning_rate": []any{1, 1, 1}}},
		`"mixed_precision"|float16|bfloat16`: {Dict: settings{"mixed_precision": true,
			"mixed_precision_dtype": "float16"}},
		`kl_threshold:0.01|"learning_rate_scheduler" is not`: {Dict: settings{
			"learning_rate_scheduler_kwargs": settings{"kl_threshold": 0.01}}},
		`"value_preprocessor_kwargs"|"value_preprocessor" is`: {Dict: settings{
			"value_preprocessor_kwargs": settings{"size": 1}}},
		`"lambda"|"gae_lambda"`:                  {Dict: settings{"lambda": 0.9, "gae_lambda": 0.95}},
		`"ratio_clip"|NaN`:                       {Dict: settings{"ratio_clip": math.NaN()}},
		`"rollouts"|"discount_factor"|"roluots"`: {Dict: settings{"rollouts": -1, "discount_factor": 2, "roluots": 3}},
		`"mini_batches" is 7`: {NumEnvs: 2, Dict: settings{"rollouts": 3, "mini_batches": 7,
			"compatibility": "skrl-2.0"}},
		`Models|ppo.MLPs`: {Models: Models{Policy: nil}},
		`3|2`: {Models: MLPs(spaces.Set{Observation: plain.Observation,
			Action: spaces.Unbounded(3)}, nil, "")},
		`value|(N, 1)`: {Models: wide},
		`log-probabilities|sum`: {Models: Models{Make: func(seed int64) (models.Policy, models.Network, error) {
			return models.ActorCritic(plain, []int{8}, "tanh", none, seed)
		}}},
		`action`: {Spaces: spaces.Set{Observation: plain.Observation}},
		`ppo: PPO is for one agent|seats for 1 (red)|IPPO or MAPPO`: {Spaces: spaces.NewSeats(spaces.Space{},
			spaces.Seat{Name: "red", Observation: plain.Observation, Action: plain.Action})},

		`"adam_betas" is []|list of 2`: {Dict: settings{"adam_betas": []any{}}},

		// rl_games' settings
		`"bounds_loss_scale"|not Gaussian`: {Spaces: choices, Dict: settings{"bounds_loss_scale": 1e-4}},
		`"divergence" is gaussian|estimate`: {Spaces: choices,
			Dict: schedule("", settings{"divergence": "gaussian"})},
		`"step"|skrl-2.1`:                       {Dict: schedule("skrl-2.1", settings{"step": "minibatch"})},
		`"mini_batch_size" is 6|"rollouts" 7`:   {NumEnvs: 3, Dict: settings{"rollouts": 7, "mini_batch_size": 6}},
		`"sequence_length" is 3|"rollouts" (8)`: {Models: memory, Dict: settings{"rollouts": 8, "sequence_length": 3}},
		`"mini_batches" is 7|only 6 sequences`: {NumEnvs: 3, Models: memory,
			Dict: settings{"rollouts": 8, "sequence_length": 4, "mini_batches": 7}},

		// a scaler before indices of choices would make them none of the choices
		`scales the choices that the value network`: {Spaces: indices, Models: oneHot,
			Dict: settings{"observation_preprocessor": "RunningStandardScaler"}},
	} {
		t.Run(want, func(t *testing.T) {
			if strings.Contains(want, "mixed_precision") {
				testdevice.SkipHere(t, "it is refused for the CPU")
			}
			if o.Spaces.Observation.Kind == spaces.None && o.Spaces.Action.Kind == spaces.None {
				o.Spaces = plain
			}
			if o.Models.Make == nil && want != `Models|ppo.MLPs` {
				o.Models = MLPs(o.Spaces, []int{8}, "tanh")
			}
			check.RefusedAs(New(o))(t, want, strings.Split(want, "|")...)
		})
	}
	a := newAgent(t, choices, 1, nil)
	err := a.SetHyperparameters(map[string]float64{"bounds_loss_scale": 1, "ratio_clip": 0.1})
	if err == nil || a.Hyperparameters()["ratio_clip"] != 0.2 {
		t.Errorf("%v; the settings are %v", err, a.Hyperparameters())
	}
}

// Names of skrl 1.4 are read, too. (docs/reference lists the keys of all settings; a test compares.)
func TestNames(t *testing.T) {
	type settings = map[string]any
	kwargs, scaler := settings{"epsilon": 1e-6}, "RunningStandardScaler"
	states := spaces.Set{Observation: spaces.Unbounded(4), State: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 2)}
	scalers := func(c Config) any { return [2]string{c.ObservationPreprocessor, c.StatePreprocessor} }
	for name, test := range map[string]struct {
		settings settings
		sp       spaces.Set
		get      func(c Config) any
		want     any
	}{
		"kwargs in 1.4": {settings{"state_preprocessor": scaler, "state_preprocessor_kwargs": kwargs}, plain,
			func(c Config) any { return c.ObservationPreprocessorKwargs }, kwargs},
		"shared": {settings{"shared_state_preprocessor": scaler}, states, scalers, [2]string{"", scaler}},
		"no clip": {settings{"clip_predicted_values": false, "value_clip": 0.3}, plain,
			func(c Config) any { return c.ValueClip }, 0.0},
		"no clip in YAML 1.1": {settings{"clip_predicted_values": "no"}, plain,
			func(c Config) any { return c.ValueClip }, 0.0},
		"time_limit_bootstrap of skrl": {settings{"compatibility": agents.SKRL2}, plain,
			func(c Config) any { return c.TimeLimitBootstrap }, false},
		"experiment": {settings{"experiment": settings{"directory": "d", "experiment_name": "n", "wandb": true}}, plain,
			func(c Config) any { return [2]any{c.Experiment.Directory, c.Experiment.WandB} }, [2]any{"d", true}},
	} {
		check.Equal(t, name, test.want, test.get(check.Get(FromDict(test.settings, test.sp))(t)))
	}
}
