package amp

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// source is a function that shows motion.
type source func(n int) ([]float32, error)

func (f source) CollectReferenceMotions(n int, _ *rand.Rand) ([]float32, error) { return f(n) }

// opaque hides which weights of a network are linear layers'.
type opaque struct{ models.Network }

// standard are the models that a change of one network starts from.
var standard = MLPs(plain, []int{8}, "tanh")

// with returns the standard models with another discriminator or second critic.
func with(net func(m *Models) *models.Network, other models.MLPConfig) Models {
	return Models{Make: func(seed int64) (Models, error) {
		m, err := standard.Make(seed)
		if err != nil {
			return m, err
		}
		(*net(&m)).Close()
		made, err := models.NewMLP(other, seed)
		*net(&m) = made
		return m, err
	}}
}

func discriminator(m *Models) *models.Network { return &m.Discriminator }
func styleValue(m *Models) *models.Network    { return &m.StyleValue }

// Every mistake is an error that says what is wrong, before any training, and nothing is left behind.
func TestRefuses(t *testing.T) {
	type settings = map[string]any
	dict := func(key string, value any, more ...any) Options {
		d := settings{key: value}
		for i := 0; i < len(more); i += 2 {
			d[more[i].(string)] = more[i+1]
		}
		return Options{Dict: d}
	}
	calm := func(o Options, more ...any) Options {
		all := settings{"latent_mode": "calm", "latent_size": 2}
		for i := 0; i < len(more); i += 2 {
			all[more[i].(string)] = more[i+1]
		}
		if o.Dict = all; o.Motions == nil {
			o.Motions = &overlapping{agenttest.Motion{Width: 3}}
		}
		if o.Models.Make == nil {
			o.Models = conditioned(plain, 2, 5)
		}
		return o
	}
	latents := func(m Models) Options { return Options{Models: m, Dict: settings{"latent_size": 2}} }
	motions := func(f source) Options { return Options{Motions: f} }
	choices := plain
	choices.Action = spaces.NewDiscrete(3)
	pictures, unseen, indices := plain, plain, plain
	pictures.AMPObservation, unseen.AMPObservation = spaces.NewPicture(4, 4, 1), spaces.Space{}
	indices.AMPObservation = spaces.NewDiscrete(4)
	hidden := Models{Make: func(seed int64) (Models, error) {
		m, err := standard.Make(seed)
		m.Discriminator = opaque{m.Discriminator}
		return m, err
	}}
	architecture := check.Get(description.NewArchitecture(plain.Observation, nil, 0, []int{8}, "elu"))(t)
	given := func(keep func(m, made *Models)) Models { // some networks alone
		made := check.Get(standard.Make(1))(t)
		m := Models{Make: standard.Make}
		keep(&m, &made)
		made.close()
		return m
	}
	for want, o := range map[string]Options{ // parts of the error, separated by |
		`"task_reward_scale"|"style_reward_scale"`: dict("task_reward_scale", 0, "style_reward_scale", 0),
		`"learning_rate" has 2 values|3`:           dict("learning_rate", []any{1e-4, 1e-4}),
		`"learning_rate" has 3 values|2`: dict("learning_rate", []any{1e-4, 1e-4, 1e-4}, "discriminator_optimizer",
			"separate"),
		`skrl-2.0|bce`:                            dict("compatibility", "skrl-2.0", "discriminator_loss", "lsgan"),
		`"amp_observation_frames" is 2|3 values`:  dict("amp_observation_frames", 2),
		`task_reward_weight|task_reward_scale`:    dict("task_reward_weight", 0.3, "task_reward_scale", 0.5),
		`style_reward_weight|style_reward_scale`:  dict("style_reward_weight", 0.3, "style_reward_scale", 0.5),
		`"discriminator_masked_features"|" x"|3-`: dict("discriminator_masked_features", "1, x"),
		`"discriminator_masked_features"|"2-1"`:   dict("discriminator_masked_features", "2-1"),
		`"discriminator_masked_features"|0 to 0`: dict("discriminator_masked_features", "1", "amp_observation_frames",
			3),
		`nothing to see`: dict("discriminator_masked_features", "0-1, 2"),
		`size is 9`: dict("amp_observation_preprocessor", "RunningStandardScaler",
			"amp_observation_preprocessor_kwargs", settings{"size": 9}),

		// the ends of episodes
		`overlap|termination`:      dict("termination_style_reward", 0.1, "overlap", true),
		`termination_steps`:        dict("termination_style_reward", 0.1, "termination_steps", 0),
		`termination_style|skrl-2`: dict("termination_style_reward", 0.1, "compatibility", "skrl-2.0"),
		`termination_style|NaN`:    dict("termination_style_reward", math.NaN()),

		`amp: AMP is for one agent|seats for 1 (red)|IPPO or MAPPO`: {Spaces: spaces.NewSeats(spaces.Space{},
			spaces.Seat{Name: "red", Observation: plain.Observation, Action: plain.Action})},

		// differences
		`RunningMeanAbsScaler|0 must stay 0`: dict("discriminator_mode", "differential", "amp_observation_preprocessor",
			"RunningStandardScaler"),
		`discriminator_gradient_penalty_samples|both`: dict("discriminator_mode", "differential",
			"discriminator_gradient_penalty_samples", "interpolated"),
		`discriminator_mode|pictures`: {Spaces: pictures, Dict: settings{"discriminator_mode": "differential"}},

		// latents
		`latent_size|amp.WithEncoder`:           dict("latent_size", 2),
		`"latent_size" is 4|wrappers.NewSkills`: dict("latent_size", 4),
		`"latent_size"|"separate_critics"`:      dict("latent_size", 2, "separate_critics", true),
		`skrl-2.0|no latents`:                   dict("latent_size", 2, "compatibility", "skrl-2.0"),
		`encoder|(N, 2)`:                        latents(WithSeparateEncoder(standard, plain, 3, nil, "")),
		`WithEncoder|Make`:                      latents(WithEncoder(Models{}, 2)),
		`latent_size|without memory`:            latents(WithEncoder(Recurrent(plain, models.GRU(4), nil, ""), 2)),
		`diversity_loss_scale|Gaussian`: {Spaces: choices, Models: WithEncoder(MLPs(choices, []int{8}, ""),
			2), Dict: settings{"latent_size": 2}},
		`calm|latent_size`:                   calm(Options{}, "latent_size", 0),
		`calm|overlap`:                       calm(Options{}, "overlap", true),
		`calm|discriminator_mode`:            calm(Options{}, "discriminator_mode", "differential"),
		`gradient_penalty_samples" is "both`: calm(Options{}, "discriminator_gradient_penalty_samples", "both"),
		`uniformity_loss_scale`:              calm(Options{}, "uniformity_loss_scale", -1),
		`ase|calm`:                           calm(Options{}, "latent_mode", "clam"),
		`CollectOverlappingMotions`:          calm(Options{Motions: &agenttest.Motion{Width: 3}}),
		`want 50 pairs`:                      calm(Options{Motions: &halved{}}, "motion_dataset_size", 50),
		`WithConditionalDiscriminator`: calm(Options{Models: WithSeparateEncoder(standard, plain, 2, nil,
			"")}),
		`WithConditionalDiscriminator|WithSeparate`: calm(Options{
			Models: WithConditionalDiscriminator(WithEncoder(standard, 2), plain, 2, nil, "")}),

		// motion and networks
		`no clip`: motions(func(int) ([]float32, error) { return nil, errors.New("no clip") }),
		`the source (amp.source) panicked|out of range|at amp.TestRefuses`: motions(func(n int) ([]float32, error) {
			return make([]float32, 5)[n:], nil
		}),
		`60 values|3`: motions(func(n int) ([]float32, error) { return make([]float32, n*2), nil }),
		`reference motion|NaN`: motions(func(n int) ([]float32, error) {
			x := make([]float32, n*3)
			x[4] = float32(math.NaN())
			return x, nil
		}),
		`Motions is missing`:  {},
		`AMP observation`:     {Spaces: unseen},
		`AMP observation|Box`: {Spaces: indices},
		`discriminator|(N, 1)`: {Models: with(discriminator,
			models.MLPConfig{Inputs: 3, Outputs: 2})},
		`discriminator does not fit`: {Models: with(discriminator,
			models.MLPConfig{Inputs: 4, Outputs: 1})},
		`state from row to row`: {Models: with(discriminator,
			models.MLPConfig{Inputs: 3, Outputs: 1, Recurrent: models.GRU(4)})},
		`models.Linears|discriminator_weight_decay_scale`: {Models: hidden},
		`amp.MLPs`: {Models: Models{}},
		`second critic|(N, 1)`: {Models: with(styleValue, models.MLPConfig{Inputs: 4, Outputs: 2}),
			Dict: settings{"separate_critics": true}},
		`amp: discriminator: description: the architecture 4→[8] elu reads 4 columns`: {
			Models: Evolvable(plain, architecture, architecture, architecture, DefaultGaussian())},
		`Options.Models needs`: {
			Models: given(func(m, made *Models) { m.Value, made.Value = made.Value, nil })},
	} {
		t.Run(want, func(t *testing.T) {
			if o.Spaces.Action.Kind == spaces.None {
				o.Spaces = plain
			}
			if o.Models.Make == nil && want != `amp.MLPs` && !strings.Contains(want, "WithEncoder|Make") {
				o.Models = standard
			}
			if o.Motions == nil && want != `Motions is missing` {
				o.Motions = &agenttest.Motion{Width: 3}
			}
			all := settings{"motion_dataset_size": 30}
			for k, v := range o.Dict {
				all[k] = v
			}
			o.Dict = all
			a, err := New(o)
			if err == nil || a != nil {
				t.Fatalf("%v, %v", a, err)
			}
			check.RefuseAs(t, want, err, strings.Split(want, "|")...)
		})
	}
}

// Every setting beside PPO's is read under skrl 2.0's name, and where skrl 1.4 had another under that.
func TestNames(t *testing.T) {
	type settings = map[string]any
	kwargs, scaler := settings{"epsilon": 1e-6}, "RunningStandardScaler"
	style := func(c Config) any { return c.StyleRewardScale }
	for name, test := range map[string]struct {
		settings settings
		get      func(c Config) any
		want     any
	}{
		"scaler": {settings{"amp_state_preprocessor": scaler},
			func(c Config) any { return c.AMPObservationPreprocessor }, scaler},
		"kwargs": {settings{"amp_state_preprocessor": scaler, "amp_state_preprocessor_kwargs": kwargs},
			func(c Config) any { return c.AMPObservationPreprocessorKwargs }, kwargs},
		"task":        {settings{"task_reward_weight": 0.3}, func(c Config) any { return c.TaskRewardScale }, 0.3},
		"style":       {settings{"style_reward_weight": 0.5}, style, 1.0},
		"other style": {settings{"discriminator_reward_scale": 3}, style, 3.0},
		"buffer":      {settings{"replay_buffer_size": 64}, func(c Config) any { return c.ReplayBufferSize }, 64},
		"calm": {settings{"latent_mode": "calm", "latent_size": 2}, func(c Config) any { return c.Validate() },
			nil},
	} {
		c := check.Get(FromDict(test.settings, plain))(t)
		if got := test.get(c); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Each network has its rate, and the discriminator's own optimizer the discriminator's. Settings change both.
func TestOptimizers(t *testing.T) {
	a := newAgent(t, plain, 1, map[string]any{"discriminator_optimizer": "separate", "separate_critics": true,
		"learning_rate": []any{1e-3, 2e-3, 3e-3}})
	var names []string
	for i, g := range append(a.learner.Optimizer.Groups, a.learner.separate.Groups...) {
		names = append(names, g.Name)
		near(t, g.Name, g.LearningRate, []float64{1e-3, 2e-3, 3e-3, 5e-5}[i], 1e-12)
	}
	if strings.Join(names, " ") != "policy value style_value discriminator" {
		t.Errorf("the optimizers step %v", names)
	}
	must(t, a.SetHyperparameters(map[string]float64{"discriminator_learning_rate": 3e-4,
		"discriminator_grad_norm_clip": 7}))
	if rate, clip := a.learner.separate.Groups[0].LearningRate, a.learner.separate.Clips[0].MaxNorm; rate != 3e-4 ||
		clip != 7 {
		t.Errorf("the optimizer has rate %g and clip %g", rate, clip)
	}
	if err := a.SetHyperparameters(map[string]float64{"task_reward_scale": 0, "style_reward_scale": 0}); err == nil ||
		a.Hyperparameters()["style_reward_scale"] != 2 {
		t.Errorf("%v: %v", err, a.Hyperparameters())
	}
}
