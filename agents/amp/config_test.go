package amp

import (
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
)

// source is a function that shows motion.
type source func(n int) ([]float32, error)

func (f source) CollectReferenceMotions(n int, _ *rand.Rand) ([]float32, error) { return f(n) }

// opaque hides which weights of a network are linear layers'.
type opaque struct{ models.Network }

// standard are the models that a change of one network starts from.
var standard = MLPs(plain, []int{8}, "tanh")

// judgedBy returns the standard models with another discriminator.
func judgedBy(cfg models.MLPConfig) Models {
	return Models{Make: func(seed int64) (Models, error) {
		m, err := standard.Make(seed)
		if err != nil {
			return m, err
		}
		m.Discriminator.Close()
		m.Discriminator, err = models.NewMLP(cfg, seed)
		return m, err
	}}
}

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
		o.Models = conditioned(plain, 2, 5)
		return o
	}
	latents := func(m Models) Options { return Options{Models: m, Dict: settings{"latent_size": 2}} }
	motions := func(f source) Options { return Options{Motions: f} }
	choices := plain
	choices.Action = spaces.NewDiscrete(3)
	pictures, unseen := plain, plain
	pictures.AMPObservation, unseen.AMPObservation = spaces.NewPicture(4, 4, 1), spaces.Space{}
	hidden := Models{Make: func(seed int64) (Models, error) {
		m, err := standard.Make(seed)
		m.Discriminator = opaque{m.Discriminator}
		return m, err
	}}
	for want, o := range map[string]Options{ // parts of the error, separated by |
		`"task_reward_scale"|"style_reward_scale"`: dict("task_reward_scale", 0, "style_reward_scale", 0),
		`"learning_rate" has 2 values|3`:           dict("learning_rate", []any{1e-4, 1e-4}),
		`skrl-2.0|bce`:                             dict("compatibility", "skrl-2.0", "discriminator_loss", "lsgan"),
		`"amp_observation_frames" is 2|3 values`:   dict("amp_observation_frames", 2),
		`task_reward_weight|task_reward_scale`:     dict("task_reward_weight", 0.3, "task_reward_scale", 0.5),
		`"discriminator_masked_features"|" x"|3-`:  dict("discriminator_masked_features", "1, x"),
		`nothing to see`:                           dict("discriminator_masked_features", "0-1, 2"),

		// the ends of episodes
		`overlap|termination`: dict("termination_style_reward", 0.1, "overlap", true),

		`amp: AMP is for one agent|seats for 1 (red)|IPPO or MAPPO`: {Spaces: spaces.NewSeats(spaces.Space{},
			spaces.Seat{Name: "red", Observation: plain.Observation, Action: plain.Action})},

		// differences
		`RunningMeanAbsScaler|0 must stay 0`: dict("discriminator_mode", "differential", "amp_observation_preprocessor",
			"RunningStandardScaler"),
		`discriminator_gradient_penalty_samples|both`: dict("discriminator_mode", "differential",
			"discriminator_gradient_penalty_samples", "interpolated"),
		`discriminator_mode|pictures`: {Spaces: pictures, Dict: settings{"discriminator_mode": "differential"}},

		// latents
		`"latent_size" is 4|wrappers.NewSkills`: dict("latent_size", 4),
		`"latent_size"|"separate_critics"`:      dict("latent_size", 2, "separate_critics", true),
		`encoder|(N, 2)`:                        latents(WithSeparateEncoder(standard, plain, 3, nil, "")),
		`latent_size|without memory`:            latents(WithEncoder(Recurrent(plain, models.GRU(4), nil, ""), 2)),
		`diversity_loss_scale|Gaussian`: {Spaces: choices, Models: WithEncoder(MLPs(choices, []int{8}, ""),
			2), Dict: settings{"latent_size": 2}},
		`calm|overlap`:              calm(Options{}, "overlap", true),
		`CollectOverlappingMotions`: calm(Options{Motions: &agenttest.Motion{Width: 3}}),
		`want 50 pairs`:             calm(Options{Motions: &halved{}}, "motion_dataset_size", 50),
		`WithConditionalDiscriminator`: {Models: WithSeparateEncoder(standard, plain, 2, nil, ""),
			Motions: &overlapping{agenttest.Motion{Width: 3}}, Dict: settings{"latent_mode": "calm", "latent_size": 2}},

		// motion and networks
		`the source (amp.source) panicked|out of range|at amp.TestRefuses`: motions(func(n int) ([]float32, error) {
			return make([]float32, 5)[n:], nil
		}),
		`60 values|3`: motions(func(n int) ([]float32, error) { return make([]float32, n*2), nil }),
		`reference motion|NaN`: motions(func(n int) ([]float32, error) {
			x := make([]float32, n*3)
			x[4] = float32(math.NaN())
			return x, nil
		}),
		`Motions is missing`:                              {},
		`AMP observation`:                                 {Spaces: unseen},
		`discriminator|(N, 1)`:                            {Models: judgedBy(models.MLPConfig{Inputs: 3, Outputs: 2})},
		`discriminator does not fit`:                      {Models: judgedBy(models.MLPConfig{Inputs: 4, Outputs: 1})},
		`models.Linears|discriminator_weight_decay_scale`: {Models: hidden},
		`amp.MLPs`: {Models: Models{}},
	} {
		t.Run(want, func(t *testing.T) {
			if o.Spaces.Action.Kind == spaces.None {
				o.Spaces = plain
			}
			if o.Models.Make == nil && want != `amp.MLPs` {
				o.Models = standard
			}
			if o.Motions == nil && want != `Motions is missing` {
				o.Motions = &agenttest.Motion{Width: 3}
			}
			all := settings{"motion_dataset_size": 30}
			maps.Copy(all, o.Dict)
			o.Dict = all
			check.RefusedAs(New(o))(t, want, strings.Split(want, "|")...)
		})
	}
}

// Each network has its rate, and the discriminator's own optimizer the discriminator's. Settings change both.
func TestOptimizers(t *testing.T) {
	a := newAgent(t, plain, 1, map[string]any{"discriminator_optimizer": "separate", "separate_critics": true,
		"learning_rate": []any{1e-3, 2e-3, 3e-3}})
	rates := map[string]float64{}
	for _, g := range append(a.learner.Optimizer.Groups, a.learner.separate.Groups...) {
		rates[g.Name] = g.LearningRate
	}
	check.Equal(t, "rates", map[string]float64{"policy": 1e-3, "value": 2e-3, "style_value": 3e-3,
		"discriminator": 5e-5}, rates)
	must(t, a.SetHyperparameters(map[string]float64{"discriminator_learning_rate": 3e-4,
		"discriminator_grad_norm_clip": 7}))
	check.Is(t, a.learner.separate.Groups[0].LearningRate, 3e-4, "the discriminator's rate")
	check.Is(t, a.learner.separate.Clips[0].MaxNorm, 7, "the discriminator's clip")
	none := map[string]float64{"task_reward_scale": 0, "style_reward_scale": 0}
	check.RefuseAs(t, "no rewards", a.SetHyperparameters(none), "reward_scale")
}
