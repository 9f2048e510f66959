package ppo

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// Every mistake is an error that says what is wrong, before anything is made.
func TestRefuses(t *testing.T) {
	nan := math.NaN()
	config := func(settings map[string]any) func(o *Options) { return func(o *Options) { o.Dict = settings } }
	mlps := func(observations, actions int) func(o *Options) {
		return func(o *Options) {
			o.Models = MLPs(spaces.Set{Observation: spaces.Unbounded(observations), Action: spaces.NewBox(-1, 1,
				actions)}, []int{8}, "tanh")
		}
	}
	for name, test := range map[string]struct {
		spoil func(o *Options)
		want  string // parts, separated by |
	}{
		"unknown key": {config(map[string]any{"learning_rte": 1e-3}), `"learning_rte"|learning_rate`},
		"three rates": {config(map[string]any{"learning_rate": []any{1e-3, 1e-3, 1e-3}}),
			`"learning_rate" has 3 values`},
		"three clips": {config(map[string]any{"grad_norm_clip": []any{1, 1, 1}}), `"grad_norm_clip" has 3 values`},
		"mixed precision": {config(map[string]any{"mixed_precision": true, "mixed_precision_dtype": "float16"}),
			`"mixed_precision"|float16|bfloat16`},
		"store separately": {config(map[string]any{"experiment": map[string]any{"store_separately": true}}),
			`store_separately`},
		"unknown scheduler": {config(map[string]any{"learning_rate_scheduler": "KLAdaptve"}),
			`KLAdaptve|KLAdaptive`},
		"unknown scheduler kwarg": {config(map[string]any{"learning_rate_scheduler": "KLAdaptiveLR",
			"learning_rate_scheduler_kwargs": map[string]any{"kl_treshold": 1}}), `kl_treshold|kl_threshold`},
		"preprocessor size": {config(map[string]any{"observation_preprocessor": "RunningStandardScaler",
			"observation_preprocessor_kwargs": map[string]any{"size": 7}}), `size is 7|4`},
		"kwargs of no scheduler": {config(map[string]any{"learning_rate_scheduler_kwargs": map[string]any{"kl_threshold": 0.01}}), `"learning_rate_scheduler_kwargs" is map[kl_threshold:0.01]|"learning_rate_scheduler" is not set`},
		"kwargs of no observation preprocessor": {config(map[string]any{"observation_preprocessor": nil,
			"observation_preprocessor_kwargs": map[string]any{"epsilon": 1}}),
			`"observation_preprocessor_kwargs"|"observation_preprocessor" is not set`},
		"kwargs of no value preprocessor": {config(map[string]any{"value_preprocessor_kwargs": map[string]any{"size": 1}}), `"value_preprocessor_kwargs"|"value_preprocessor" is not set`},
		"momentum of adam": {config(map[string]any{"sgd_momentum": 0.9}),
			`"sgd_momentum" is 0.9|"optimizer"|sgd`},
		"unknown device": {config(map[string]any{"device": "gpu"}), `"device"`},
		"old and new name": {config(map[string]any{"lambda": 0.9, "gae_lambda": 0.95}),
			`"lambda"|"gae_lambda"`},
		"old name of a flag": {config(map[string]any{"clip_predicted_values": 1}),
			`"clip_predicted_values"|true or false`},
		"another agent's key": {config(map[string]any{"style_reward_scale": 1}),
			`"style_reward_scale"`},
		"no number": {config(map[string]any{"ratio_clip": nan}), `"ratio_clip"|NaN`},
		"no models": {func(o *Options) { o.Models = Models{} }, `Models|ppo.MLPs`},
		"failing models": {func(o *Options) {
			o.Models = Models{Make: func(int64) (models.Policy, models.Network, error) {
				return nil, nil,
					errors.New("no luck")
			}}
		}, `no luck`},
		"no hidden width":       {func(o *Options) { o.Models = MLPs(plain, []int{-8}, "tanh") }, `-8`},
		"other observations":    {mlps(5, 2), `4`},
		"other actions":         {mlps(4, 3), `3|2`},
		"no observations":       {func(o *Options) { o.Spaces.Observation = spaces.Space{} }, `observation`},
		"no actions":            {func(o *Options) { o.Spaces.Action = spaces.Space{} }, `action`},
		"empty choice":          {func(o *Options) { o.Spaces.Action = spaces.NewDiscrete(0) }, `Discrete`},
		"negative environments": {func(o *Options) { o.NumEnvs = -1 }, `NumEnvs is -1`},
		"one row": {func(o *Options) { o.NumEnvs, o.Dict = 1, map[string]any{"rollouts": 1} },
			`rollouts`},
		"more minibatches than rows in skrl": {func(o *Options) {
			o.NumEnvs, o.Dict = 2, map[string]any{"rollouts": 3, "mini_batches": 7, "compatibility": agents.SKRL2}
		}, `"mini_batches" is 7`},
		"wide value": {func(o *Options) { o.Models = wideValue(t) }, `value|(N, 1)`},
		"no joint probability": {func(o *Options) {
			o.Models = Models{Make: func(seed int64) (models.Policy, models.Network, error) {
				g := models.DefaultGaussianConfig()
				g.Reduction = "none"
				return models.ActorCritic(plain, []int{8}, "tanh", g, seed)
			}}
		}, `log-probabilities|sum`},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "mixed precision" {
				testdevice.SkipHere(t, "it is refused for the CPU")
			}
			before := tensor.Live()
			o := Options{Spaces: plain, Models: MLPs(plain, []int{8}, "tanh"), Dict: map[string]any{}}
			test.spoil(&o)
			a, err := New(o)
			if err == nil {
				_ = a.Close()
				t.Fatal("accepted")
			}
			if a != nil {
				t.Error("an agent came with the error")
			}
			for _, part := range strings.Split(test.want, "|") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v\n does not say %q", err, part)
				}
			}
			if after := tensor.Live(); after != before {
				t.Errorf("%d tensors are alive, %d were before", after, before)
			}
		})
	}
}

func wideValue(t *testing.T) Models {
	return Models{Make: func(seed int64) (models.Policy, models.Network, error) {
		policy, value, err := models.ActorCritic(plain, []int{8}, "tanh", models.DefaultGaussianConfig(), seed)
		if err != nil {
			return nil, nil, err
		}
		value.Close()
		value, err = models.NewMLP(models.MLPConfig{Inputs: 4, Outputs: 2, Hidden: []int{8}, Activation: "tanh"}, seed)
		return policy, value, err
	}}
}

// Names of skrl 1.4 are read, too. (docs/reference lists the keys of all settings; a test compares.)
func TestNames(t *testing.T) {
	kwargs := map[string]any{"epsilon": 1e-6}
	states := spaces.Set{Observation: spaces.Unbounded(4), State: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 2)}
	for name, test := range map[string]struct {
		settings map[string]any
		sp       spaces.Set
		get      func(c Config) any
		want     any
	}{
		"lambda": {map[string]any{"lambda": 0.5}, plain,
			func(c Config) any { return c.GAELambda }, 0.5},
		"lambda twice": {map[string]any{"lambda": 0.5, "gae_lambda": 0.5}, plain,
			func(c Config) any { return c.GAELambda }, 0.5},
		"learning_rate list": {map[string]any{"learning_rate": []any{2e-3, 1e-3}}, plain,
			func(c Config) any { return c.LearningRate }, []float64{2e-3, 1e-3}},
		"state_preprocessor of 1.4": {map[string]any{"state_preprocessor": "RunningStandardScaler"}, plain,
			func(c Config) any { return [2]string{c.ObservationPreprocessor, c.StatePreprocessor} },
			[2]string{"RunningStandardScaler", ""}},
		"state_preprocessor_kwargs of 1.4": {map[string]any{"state_preprocessor": "RunningStandardScaler",
			"state_preprocessor_kwargs": kwargs}, plain,
			func(c Config) any { return c.ObservationPreprocessorKwargs }, kwargs},
		"state_preprocessor": {map[string]any{"state_preprocessor": "RunningStandardScaler"}, states,
			func(c Config) any { return [2]string{c.ObservationPreprocessor, c.StatePreprocessor} }, [2]string{"",
				"RunningStandardScaler"}},
		"shared_state_preprocessor": {map[string]any{"shared_state_preprocessor": "RunningStandardScaler"},
			states, func(c Config) any { return c.StatePreprocessor }, "RunningStandardScaler"},
		"clip_predicted_values": {map[string]any{"clip_predicted_values": true, "value_clip": 0.3}, plain,
			func(c Config) any { return c.ValueClip }, 0.3},
		"clip_predicted_values off": {map[string]any{"clip_predicted_values": false, "value_clip": 0.3}, plain,
			func(c Config) any { return c.ValueClip }, 0.0},
		"time_limit_bootstrap of skrl": {map[string]any{"compatibility": "skrl-2.0"}, plain,
			func(c Config) any { return c.TimeLimitBootstrap }, false},
		"experiment": {map[string]any{"experiment": map[string]any{"directory": "d", "experiment_name": "n",
			"write_interval": "auto", "checkpoint_interval": 10, "store_separately": false, "wandb": true,
			"wandb_kwargs": map[string]any{"project": "p"}}},
			plain, func(c Config) any {
				return [3]any{c.Experiment.Directory, c.Experiment.ExperimentName, c.Experiment.WandB}
			}, [3]any{"d", "n", true}},
	} {
		t.Run(name, func(t *testing.T) {
			given := maps.Clone(test.settings)
			c, err := FromDict(test.settings, test.sp)
			must(t, err)
			if got := test.get(c); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
			if !reflect.DeepEqual(given, test.settings) {
				t.Error("the dictionary was changed")
			}
		})
	}
}

// All problems are reported together.
func TestProblemsTogether(t *testing.T) {
	_, err := FromDict(map[string]any{"rollouts": -1, "lerning_rate": 1e-3, "ratio_clip": "wide"}, plain)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, part := range []string{"rollouts", "lerning_rate", "ratio_clip"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v\n does not name %q", err, part)
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

// A setting of another library is an error that says what it is here.
func TestForeignKeys(t *testing.T) {
	for _, name := range []string{"gamma", "ent_coef", "e_clip", "horizon_length", "lr"} {
		_, err := FromDict(map[string]any{name: 0.5}, spaces.Set{})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("ppo: unknown key %q (given 0.5): ", name)) ||
			!strings.Contains(err.Error(), `" here`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A slip of the finger is still answered with the nearest key.
	if _, err := FromDict(map[string]any{"roluots": 16}, spaces.Set{}); err == nil || !strings.Contains(err.Error(),
		`did you mean "rollouts"?`) {
		t.Error(err)
	}
}
