package amp

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// source is a function that shows motion.
type source func(n int) ([]float32, error)

func (f source) CollectReferenceMotions(n int, _ *rand.Rand) ([]float32, error) { return f(n) }

// opaque hides which weights of a network are linear layers'.
type opaque struct{ models.Network }

// Every mistake is an error that says what is wrong, before any training, and nothing is left behind.
func TestRefuses(t *testing.T) {
	nan := float32(math.NaN())
	config := func(settings map[string]any) func(o *Options) { return func(o *Options) { o.Dict = settings } }
	discriminator := func(in, out int, wrap func(models.Network) models.Network) func(o *Options) {
		return func(o *Options) {
			standard := MLPs(plain, []int{8}, "tanh")
			o.Models = Models{Make: func(seed int64) (Models, error) {
				m, err := standard.Make(seed)
				if err != nil {
					return m, err
				}
				m.Discriminator.Close()
				net, err := models.NewMLP(models.MLPConfig{Inputs: in, Outputs: out, Hidden: []int{8},
					Activation: "tanh"}, seed)
				m.Discriminator = wrap(net)
				return m, err
			}}
		}
	}
	same := func(n models.Network) models.Network { return n }
	for name, test := range map[string]struct {
		spoil func(o *Options)
		want  string
	}{
		"nothing to learn": {config(map[string]any{"task_reward_scale": 0, "style_reward_scale": 0}),
			`"task_reward_scale"|"style_reward_scale"`},
		"two rates": {config(map[string]any{"learning_rate": []any{1e-4, 1e-4}}),
			`"learning_rate" has 2 values|3`},
		"three rates for two": {config(map[string]any{"learning_rate": []any{1e-4, 1e-4, 1e-4},
			"discriminator_optimizer": "separate"}), `"learning_rate" has 3 values|2`},
		"mixed precision": {config(map[string]any{"mixed_precision": true, "mixed_precision_dtype": "float16"}),
			`"mixed_precision"|float16|bfloat16`},
		"skrl with lsgan": {config(map[string]any{"compatibility": "skrl-2.0", "discriminator_loss": "lsgan"}),
			`skrl-2.0|bce`},
		"centred differences": {config(map[string]any{"discriminator_mode": "differential",
			"amp_observation_preprocessor": "RunningStandardScaler"}), `RunningMeanAbsScaler|0 must stay 0`},
		"interpolated differences": {config(map[string]any{"discriminator_mode": "differential",
			"discriminator_gradient_penalty_samples": "interpolated"}), `discriminator_gradient_penalty_samples|both`},
		"differences of pictures": {func(o *Options) {
			o.Spaces.AMPObservation, o.Dict = spaces.NewPicture(4, 4, 1),
				map[string]any{"discriminator_mode": "differential"}
		}, `discriminator_mode|pictures`},
		"latents without encoder": {config(map[string]any{"latent_size": 2}), `latent_size|amp.WithEncoder`},
		"latent wider than rows":  {config(map[string]any{"latent_size": 4}), `"latent_size" is 4|wrappers.NewSkills`},
		"latents and two critics": {config(map[string]any{"latent_size": 2, "separate_critics": true}),
			`"latent_size"|"separate_critics"`},
		"skrl with latents": {config(map[string]any{"latent_size": 2, "compatibility": "skrl-2.0"}),
			`skrl-2.0|no latents`},
		"encoder of another size": {func(o *Options) {
			o.Models, o.Dict = WithSeparateEncoder(o.Models, plain, 3, []int{4}, "tanh"),
				map[string]any{"latent_size": 2}
		}, `encoder|(N, 2)`},
		"encoder of no models": {func(o *Options) {
			o.Models, o.Dict = WithEncoder(Models{}, 2), map[string]any{"latent_size": 2}
		}, `WithEncoder|Make`},
		"latents and memory": {func(o *Options) {
			o.Models = WithEncoder(Recurrent(plain, models.GRU(4), []int{8}, "tanh"), 2)
			o.Dict = map[string]any{"latent_size": 2}
		}, `latent_size|without memory`},
		"diversity of choices": {func(o *Options) {
			o.Spaces.Action = spaces.NewDiscrete(3)
			o.Models = WithEncoder(MLPs(o.Spaces, []int{8}, "tanh"), 2)
			o.Dict = map[string]any{"latent_size": 2}
		}, `diversity_loss_scale|Gaussian`},
		"frames that do not fit": {config(map[string]any{"amp_observation_frames": 2}),
			`"amp_observation_frames" is 2|3 values`},
		"masked text": {config(map[string]any{"discriminator_masked_features": "1, x"}),
			`"discriminator_masked_features"|" x"|3-7`},
		"masked backwards": {config(map[string]any{"discriminator_masked_features": "2-1"}),
			`"discriminator_masked_features"|"2-1"`},
		"masked in another frame": {config(map[string]any{"discriminator_masked_features": "1",
			"amp_observation_frames": 3}),
			`"discriminator_masked_features"|0 to 0`},
		"all masked": {config(map[string]any{"discriminator_masked_features": "0-1, 2"}), `nothing to see`},
		"old and new name": {config(map[string]any{"task_reward_weight": 0.3, "task_reward_scale": 0.5}),
			`task_reward_weight|task_reward_scale`},
		"old and new product": {config(map[string]any{"style_reward_weight": 0.3, "style_reward_scale": 0.5}),
			`style_reward_weight|style_reward_scale`},
		"preprocessor size": {config(map[string]any{"amp_observation_preprocessor": "RunningStandardScaler",
			"amp_observation_preprocessor_kwargs": map[string]any{"size": 9}}), `size is 9`},
		"no motions": {func(o *Options) { o.Motions = nil }, `Motions is missing`},
		"failing motions": {func(o *Options) {
			o.Motions = source(func(int) ([]float32, error) { return nil, errors.New("no clip") })
		}, `no clip`},
		"panicking motions": {func(o *Options) {
			o.Motions = source(func(n int) ([]float32, error) { return make([]float32, 5)[n:], nil })
		}, `the source (amp.source) panicked|out of range|at amp.TestRefuses (config_test.go:`},
		"short motions": {func(o *Options) {
			o.Motions = source(func(n int) ([]float32, error) { return make([]float32, n*2), nil })
		}, `3`},
		"NaN motions": {func(o *Options) {
			o.Motions = source(func(n int) ([]float32, error) { x := make([]float32, n*3); x[4] = nan; return x, nil })
		}, `reference motion|NaN`},
		"no AMP observations": {func(o *Options) { o.Spaces.AMPObservation = spaces.Space{} }, `AMP observation`},
		"discrete AMP": {func(o *Options) { o.Spaces.AMPObservation = spaces.NewDiscrete(4) },
			`AMP observation|Box`},
		"wide discriminator":  {discriminator(3, 2, same), `discriminator|(N, 1)`},
		"other discriminator": {discriminator(4, 1, same), `discriminator`},
		"opaque discriminator": {discriminator(3, 1, func(n models.Network) models.Network { return opaque{n} }),
			`models.Linears|discriminator_weight_decay_scale`},
		"no models": {func(o *Options) { o.Models = Models{} }, `amp.MLPs`},
		"no second critic": {func(o *Options) {
			o.Dict = map[string]any{"separate_critics": true}
			standard := o.Models
			o.Models = Models{Make: func(seed int64) (Models, error) {
				m, err := standard.Make(seed)
				m.StyleValue.Close()
				m.StyleValue = nil
				return m, err
			}}
		}, `StyleValue`},
		"wide second critic": {func(o *Options) {
			o.Dict = map[string]any{"separate_critics": true}
			standard := o.Models
			o.Models = Models{Make: func(seed int64) (Models, error) {
				m, err := standard.Make(seed)
				if err != nil {
					return m, err
				}
				m.StyleValue.Close()
				m.StyleValue, err = models.NewMLP(models.MLPConfig{Inputs: 4, Outputs: 2, Hidden: []int{8},
					Activation: "tanh"}, seed)
				return m, err
			}}
		}, `second critic|(N, 1)`},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "mixed precision" {
				testdevice.SkipHere(t, "it is refused for the CPU")
			}
			before := tensor.Live()
			o := Options{Spaces: plain, Models: MLPs(plain, []int{8}, "tanh"), Motions: &agenttest.Motion{Width: 3},
				Dict: map[string]any{"motion_dataset_size": 30}}
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

// Every setting beside PPO's is read under skrl 2.0's name, and where skrl 1.4 had another under that.
func TestNames(t *testing.T) {
	kwargs := map[string]any{"epsilon": 1e-6}
	for name, test := range map[string]struct {
		settings map[string]any
		get      func(c Config) any
		want     any
	}{
		"amp_state_preprocessor": {map[string]any{"amp_state_preprocessor": "RunningStandardScaler"},
			func(c Config) any { return c.AMPObservationPreprocessor }, "RunningStandardScaler"},
		"amp_state_preprocessor_kwargs": {map[string]any{"amp_state_preprocessor": "RunningStandardScaler",
			"amp_state_preprocessor_kwargs": kwargs},
			func(c Config) any { return c.AMPObservationPreprocessorKwargs }, kwargs},
		"task_reward_weight": {map[string]any{"task_reward_weight": 0.3},
			func(c Config) any { return c.TaskRewardScale }, 0.3},
		"style_reward_weight": {map[string]any{"style_reward_weight": 0.5},
			func(c Config) any { return c.StyleRewardScale }, 1.0},
		"discriminator_reward_scale": {map[string]any{"discriminator_reward_scale": 3},
			func(c Config) any { return c.StyleRewardScale }, 3.0},
		"both factors": {map[string]any{"style_reward_weight": 0.5, "discriminator_reward_scale": 3},
			func(c Config) any { return c.StyleRewardScale }, 1.5},
		"replay_buffer_size": {map[string]any{"replay_buffer_size": 64},
			func(c Config) any { return c.ReplayBufferSize }, 64},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := FromDict(test.settings, plain)
			must(t, err)
			if got := test.get(c); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// The discriminator's own rate and clip reach its optimizer.
func TestDiscriminatorHyperparameters(t *testing.T) {
	a := newAgent(t, plain, 1, map[string]any{"discriminator_optimizer": "separate"})
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

// Some networks without the others are refused and closed, also where Make could build all of them.
func TestSomeModelsGiven(t *testing.T) {
	before := tensor.Live()
	standard := MLPs(plain, []int{8}, "tanh")
	for name, keep := range map[string]func(m, made *Models){
		"value":         func(m, made *Models) { m.Value, made.Value = made.Value, nil },
		"discriminator": func(m, made *Models) { m.Discriminator, made.Discriminator = made.Discriminator, nil },
		"style value":   func(m, made *Models) { m.StyleValue, made.StyleValue = made.StyleValue, nil },
	} {
		made, err := standard.Make(1)
		must(t, err)
		given := Models{Make: standard.Make}
		keep(&given, &made)
		made.close()
		a, err := New(Options{Spaces: plain, Models: given, Motions: &agenttest.Motion{Width: 3},
			Dict: map[string]any{"motion_dataset_size": 30}})
		if err == nil {
			_ = a.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "Options.Models needs") {
			t.Errorf("only the %s is given: %v", name, err)
		}
		if n := tensor.Live(); n != before {
			t.Errorf("only the %s is given: %d tensors are left", name, n-before)
		}
	}
}
