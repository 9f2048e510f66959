package ppo

import (
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// changed returns the models of a builder, with what change makes of them.
func changed(m Models, change func(p models.Policy, v models.Network) (models.Policy, models.Network, error)) Models {
	return Models{Make: func(seed int64) (models.Policy, models.Network, error) {
		p, v, err := m.Make(seed)
		if err != nil {
			return nil, nil, err
		}
		return change(p, v)
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
	wide := changed(MLPs(plain, []int{8}, "tanh"), func(p models.Policy, v models.Network) (models.Policy,
		models.Network, error) {
		v.Close()
		v, err := models.NewMLP(models.MLPConfig{Inputs: 4, Outputs: 2}, 1)
		return p, v, err
	})
	none := models.DefaultGaussianConfig()
	none.Reduction = "none"
	parts, err := description.NewArchitecture(choices.Action, nil, 4, []int{8}, "tanh")
	must(t, err)
	// "OBSERVATIONS" by the number of the choice it is, as a model in YAML reads it
	indices := spaces.Set{Observation: spaces.NewDiscrete(5), Action: spaces.NewDiscrete(2)}
	net := []any{settings{"name": "net", "input": "one_hot_encoding(OBSERVATION_SPACE, OBSERVATIONS)"}}
	spec := check.Get(models.ParseSpec(settings{"class": "Deterministic", "network": net, "output": "ONE"}))(t)
	oneHot := changed(MLPs(indices, []int{8}, "tanh"), func(p models.Policy, v models.Network) (models.Policy,
		models.Network, error) {
		v.Close()
		v, err := spec.BuildNetwork(indices, 1)
		return p, v, err
	})
	scaler := settings{"observation_preprocessor": "RunningStandardScaler"}
	for want, o := range map[string]Options{ // parts of the error, separated by |
		`unknown key "ent_coef" (given 0.5)|" here`: {Dict: settings{"ent_coef": 0.5}}, // of another library
		`"learning_rate" has 3 values`:              {Dict: settings{"learning_rate": []any{1, 1, 1}}},
		`"grad_norm_clip" has 3 values`:             {Dict: settings{"grad_norm_clip": []any{1, 1, 1}}},
		`"mixed_precision"|float16|bfloat16`: {Dict: settings{"mixed_precision": true,
			"mixed_precision_dtype": "float16"}},
		`store_separately`: {Dict: settings{
			"experiment": settings{"store_separately": true}}},
		`kl_threshold:0.01|"learning_rate_scheduler" is not`: {Dict: settings{
			"learning_rate_scheduler_kwargs": settings{"kl_threshold": 0.01}}},
		`"value_preprocessor_kwargs"|"value_preprocessor" is`: {Dict: settings{
			"value_preprocessor_kwargs": settings{"size": 1}}},
		`size is 7|4`: {Dict: settings{"observation_preprocessor": "RunningStandardScaler",
			"observation_preprocessor_kwargs": settings{"size": 7}}},
		`"sgd_momentum" is 0.9|"optimizer"|sgd`:  {Dict: settings{"sgd_momentum": 0.9}},
		`"device"`:                               {Dict: settings{"device": "gpu"}},
		`"lambda"|"gae_lambda"`:                  {Dict: settings{"lambda": 0.9, "gae_lambda": 0.95}},
		`"clip_predicted_values"|true or false`:  {Dict: settings{"clip_predicted_values": 1}},
		`"ratio_clip"|NaN`:                       {Dict: settings{"ratio_clip": math.NaN()}},
		`"rollouts"|"discount_factor"|"roluots"`: {Dict: settings{"rollouts": -1, "discount_factor": 2, "roluots": 3}},
		`raise "rollouts"`:                       {NumEnvs: 1, Dict: settings{"rollouts": 1}},
		`"mini_batches" is 7`: {NumEnvs: 2, Dict: settings{"rollouts": 3, "mini_batches": 7,
			"compatibility": "skrl-2.0"}},
		`NumEnvs is -1`:   {NumEnvs: -1},
		`Models|ppo.MLPs`: {Models: Models{Policy: nil}},
		`-8`:              {Models: MLPs(plain, []int{-8}, "tanh")},
		`4`: {Models: MLPs(spaces.Set{Observation: spaces.Unbounded(5),
			Action: plain.Action}, nil, "")},
		`3|2`: {Models: MLPs(spaces.Set{Observation: plain.Observation,
			Action: spaces.Unbounded(3)}, nil, "")},
		`value|(N, 1)`: {Models: wide},
		`log-probabilities|sum`: {Models: Models{Make: func(seed int64) (models.Policy, models.Network, error) {
			return models.ActorCritic(plain, []int{8}, "tanh", none, seed)
		}}},
		`observation`: {Spaces: spaces.Set{Action: plain.Action}},
		`action`:      {Spaces: spaces.Set{Observation: plain.Observation}},
		`ppo: PPO is for one agent|seats for 1 (red)|IPPO or MAPPO`: {Spaces: spaces.NewSeats(spaces.Space{},
			spaces.Seat{Name: "red", Observation: plain.Observation, Action: plain.Action})},
		`Discrete`: {Spaces: spaces.Set{Observation: plain.Observation, Action: spaces.NewDiscrete(0)}},

		// rl_games' settings
		`"bounds_loss_scale"|not Gaussian`: {Spaces: choices, Dict: settings{"bounds_loss_scale": 1e-4}},
		`"divergence" is gaussian|estimate`: {Spaces: choices,
			Dict: schedule("", settings{"divergence": "gaussian"})},
		`bounds_loss_scale|skrl-2.0`:          {Dict: settings{"bounds_loss_scale": 1, "compatibility": "skrl-2.0"}},
		`"step"|skrl-2.1`:                     {Dict: schedule("skrl-2.1", settings{"step": "minibatch"})},
		`"mini_batch_size" is 6|"rollouts" 7`: {NumEnvs: 3, Dict: settings{"rollouts": 7, "mini_batch_size": 6}},
		`"mini_batch_size" is 6|4 timesteps`: {NumEnvs: 3, Models: memory,
			Dict: settings{"rollouts": 8, "sequence_length": 4, "mini_batch_size": 6}},
		`"sequence_length" is 3|"rollouts" (8)`: {Models: memory, Dict: settings{"rollouts": 8, "sequence_length": 3}},
		`"mini_batches" is 7|only 6 sequences`: {NumEnvs: 3, Models: memory,
			Dict: settings{"rollouts": 8, "sequence_length": 4, "mini_batches": 7}},
		`"mini_batches" is 4|divide the 6 seque`: {NumEnvs: 3, Models: memory,
			Dict: settings{"rollouts": 8, "sequence_length": 4, "mini_batches": 4, "compatibility": "skrl-2.0"}},

		// a scaler before indices of choices would make them none of the choices
		`scales the choices that the policy network`: {Spaces: spaces.Set{Observation: choices.Action,
			Action: choices.Action},
			Models: Evolvable(spaces.Set{Observation: choices.Action, Action: choices.Action}, parts, parts, none),
			Dict:   scaler},
		`scales the choices that the value network`: {Spaces: indices, Models: oneHot, Dict: scaler},
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
			a, err := New(o)
			if err == nil || a != nil {
				t.Fatalf("%v, %v", a, err)
			}
			check.RefuseAs(t, want, err, strings.Split(want, "|")...)
		})
	}
	a := newAgent(t, choices, 1, nil)
	err = a.SetHyperparameters(map[string]float64{"bounds_loss_scale": 1, "ratio_clip": 0.1})
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
		"lambda": {settings{"lambda": 0.5, "gae_lambda": 0.5}, plain, func(c Config) any { return c.GAELambda }, 0.5},
		"list": {settings{"learning_rate": []any{2e-3, 1e-3}}, plain,
			func(c Config) any { return c.LearningRate }, []float64{2e-3, 1e-3}},
		"kwargs in 1.4": {settings{"state_preprocessor": scaler, "state_preprocessor_kwargs": kwargs}, plain,
			func(c Config) any { return c.ObservationPreprocessorKwargs }, kwargs},
		"states": {settings{"state_preprocessor": scaler}, states, scalers, [2]string{"", scaler}},
		"shared": {settings{"shared_state_preprocessor": scaler}, states, scalers, [2]string{"", scaler}},
		"clip": {settings{"clip_predicted_values": true, "value_clip": 0.3}, plain,
			func(c Config) any { return c.ValueClip }, 0.3},
		"no clip": {settings{"clip_predicted_values": false, "value_clip": 0.3}, plain,
			func(c Config) any { return c.ValueClip }, 0.0},
		"time_limit_bootstrap of skrl": {settings{"compatibility": agents.SKRL2}, plain,
			func(c Config) any { return c.TimeLimitBootstrap }, false},
		"experiment": {settings{"experiment": settings{"directory": "d", "experiment_name": "n", "wandb": true}}, plain,
			func(c Config) any { return [2]any{c.Experiment.Directory, c.Experiment.WandB} }, [2]any{"d", true}},
	} {
		given := maps.Clone(test.settings)
		c := check.Get(FromDict(test.settings, test.sp))(t)
		if got := test.get(c); !reflect.DeepEqual(got, test.want) || !reflect.DeepEqual(given, test.settings) {
			t.Errorf("%s: %v, want %v; the dictionary is %v", name, got, test.want, test.settings)
		}
	}
}

// Settings are copied in and out: an agent's are its own.
func TestSettingsAreCopied(t *testing.T) {
	rates := []float64{1e-3, 2e-3}
	a := open(t, Options{Spaces: plain, Models: MLPs(plain, []int{8}, "tanh"),
		Dict: map[string]any{"learning_rate": rates}})
	rates[0] = 7
	a.Settings().LearningRate[0], a.Settings().GradNormClip[0] = 8, 8
	if h := a.Hyperparameters(); h["learning_rate"] != 1e-3 || h["grad_norm_clip"] != 0.5 {
		t.Errorf("%v", h)
	}
}
