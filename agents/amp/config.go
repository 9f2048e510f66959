package amp

import (
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
)

// Config are AMP's settings: those it shares with PPO, and the discriminator's. Keys, names and defaults are those of
// skrl's documentation where it has them.
type Config struct {
	agents.OnPolicy `yaml:",inline"`

	// AMPObservationPreprocessor standardises what the discriminator sees: "RunningStandardScaler" or empty. Its statistics
	// learn once an update, from as many rows of the policy as of the reference motion.
	AMPObservationPreprocessor       string         `yaml:"amp_observation_preprocessor" config:"oneof=|RunningStandardScaler"`
	AMPObservationPreprocessorKwargs map[string]any `yaml:"amp_observation_preprocessor_kwargs"`

	// TaskRewardScale and StyleRewardScale weigh the environment's reward and the discriminator's.
	TaskRewardScale  float64 `yaml:"task_reward_scale" config:"min=0"`
	StyleRewardScale float64 `yaml:"style_reward_scale" config:"min=0"`

	// AMPBatchSize is the number of rows of reference motion collected before each update.
	AMPBatchSize int `yaml:"amp_batch_size" config:"min=1"`
	// MotionDatasetSize is the number of rows of reference motion kept, filled before training.
	MotionDatasetSize int `yaml:"motion_dataset_size" config:"min=1"`
	// ReplayBufferSize is the number of rows of the policy's own motion kept for the discriminator.
	ReplayBufferSize int `yaml:"reply_buffer_size" config:"min=1"`
	// ReplayAdmissionProbability is the chance of a rollout's row to enter a replay buffer that is full; until then all do.
	ReplayAdmissionProbability float64 `yaml:"replay_admission_probability" config:"gt=0,max=1"`

	// DiscriminatorBatchSize limits the rows of policy, replay and motion in a minibatch; not positive means no limit.
	DiscriminatorBatchSize int `yaml:"discriminator_batch_size"`
	// DiscriminatorLossScale weighs the discriminator's whole loss.
	DiscriminatorLossScale float64 `yaml:"discriminator_loss_scale" config:"min=0"`
	// DiscriminatorLoss is "bce" (skrl, ASE), "lsgan" (Peng et al. 2021, eq. 6 and 7) or "wasserstein" (a bounded critic).
	DiscriminatorLoss string `yaml:"discriminator_loss" config:"oneof=bce|lsgan|wasserstein"`
	// WassersteinEta scales the critic's output before the tanh that bounds it.
	WassersteinEta float64 `yaml:"wasserstein_eta" config:"gt=0"`
	// DiscriminatorLogitRegularizationScale penalises the squared weights of the output layer.
	DiscriminatorLogitRegularizationScale float64 `yaml:"discriminator_logit_regularization_scale" config:"min=0"`
	// DiscriminatorGradientPenaltyScale penalises the squared gradient of the logit by the observation.
	DiscriminatorGradientPenaltyScale float64 `yaml:"discriminator_gradient_penalty_scale" config:"min=0"`
	// DiscriminatorGradientPenaltySamples says where: at "motion" rows, at "both" motion and policy rows, or at rows
	// "interpolated" between them at random. The wasserstein loss pulls the gradient's norm to 1, the others to 0.
	DiscriminatorGradientPenaltySamples string `yaml:"discriminator_gradient_penalty_samples" config:"oneof=motion|both|interpolated"`
	// DiscriminatorWeightDecayScale penalises the squared weights of all linear layers.
	DiscriminatorWeightDecayScale float64 `yaml:"discriminator_weight_decay_scale" config:"min=0"`

	// DiscriminatorOptimizer is "shared" (one optimizer and one gradient clip for all networks, as in skrl) or "separate":
	// the discriminator then has its own, with DiscriminatorLearningRate and DiscriminatorGradNormClip, and a spike of its
	// gradient cannot shrink the policy's step.
	DiscriminatorOptimizer    string  `yaml:"discriminator_optimizer" config:"oneof=shared|separate"`
	DiscriminatorLearningRate float64 `yaml:"discriminator_learning_rate" config:"gt=0"`
	DiscriminatorGradNormClip float64 `yaml:"discriminator_grad_norm_clip" config:"min=0"`

	// SeparateCritics estimates the advantages of task and style with a value network each, and adds them by the reward
	// scales, instead of with one for the sum.
	SeparateCritics bool `yaml:"separate_critics"`
}

// DefaultConfig returns skrl's defaults for AMP, except that truncated episodes bootstrap (time_limit_bootstrap). What
// skrl does not have is off.
func DefaultConfig() Config {
	c := Config{
		OnPolicy: agents.DefaultOnPolicy(), TaskRewardScale: 0, StyleRewardScale: 2, AMPBatchSize: 512, MotionDatasetSize: 20_000,
		ReplayBufferSize: 100_000, ReplayAdmissionProbability: 1, DiscriminatorBatchSize: -1, DiscriminatorLossScale: 5,
		DiscriminatorLoss: "bce", WassersteinEta: 0.3, DiscriminatorLogitRegularizationScale: 0.05, DiscriminatorGradientPenaltyScale: 5,
		DiscriminatorGradientPenaltySamples: "motion", DiscriminatorWeightDecayScale: 1e-4, DiscriminatorOptimizer: "shared",
		DiscriminatorLearningRate: 5e-5, DiscriminatorGradNormClip: 0.5,
	}
	c.LearningEpochs = 6
	c.LearningRate = []float64{5e-5}
	return c
}

// networks is how many networks the shared optimizer steps.
func (c *Config) networks() int {
	n := 3
	if c.DiscriminatorOptimizer == "separate" {
		n--
	}
	if c.SeparateCritics {
		n++
	}
	return n
}

// Validate says which setting makes no sense.
func (c *Config) Validate() error {
	if err := config.Check(*c, "amp"); err != nil {
		return err
	}
	if c.TaskRewardScale == 0 && c.StyleRewardScale == 0 {
		return fmt.Errorf("amp: \"task_reward_scale\" and \"style_reward_scale\" are both 0: there would be nothing to learn")
	}
	if c.Skrl() && (c.DiscriminatorLoss != "bce" || c.DiscriminatorGradientPenaltySamples != "motion" || c.SeparateCritics || c.DiscriminatorOptimizer != "shared") {
		return fmt.Errorf("amp: \"compatibility\" is %q, which has only the bce loss, its penalty at motion rows, one critic and one optimizer", c.Compatibility)
	}
	return c.OnPolicy.Validate("amp", c.networks())
}

// Tunable returns the settings that may change while training, by key.
func (c *Config) Tunable() map[string]*float64 {
	t := c.OnPolicy.Tunable()
	for k, p := range map[string]*float64{
		"task_reward_scale": &c.TaskRewardScale, "style_reward_scale": &c.StyleRewardScale,
		"discriminator_loss_scale":                 &c.DiscriminatorLossScale,
		"discriminator_logit_regularization_scale": &c.DiscriminatorLogitRegularizationScale,
		"discriminator_gradient_penalty_scale":     &c.DiscriminatorGradientPenaltyScale,
		"discriminator_weight_decay_scale":         &c.DiscriminatorWeightDecayScale,
		"discriminator_learning_rate":              &c.DiscriminatorLearningRate,
		"discriminator_grad_norm_clip":             &c.DiscriminatorGradNormClip,
		"replay_admission_probability":             &c.ReplayAdmissionProbability,
	} {
		t[k] = p
	}
	return t
}

// FromDict merges a dictionary of settings, as in skrl's documentation (1.4's names or 2.0's), over the defaults. With
// "compatibility": "skrl-2.0" the defaults are skrl's to the letter. All problems are reported together.
func FromDict(dict map[string]any, sp spaces.Set) (Config, error) {
	c := DefaultConfig()
	if dict["compatibility"] == agents.SKRL2 {
		c.TimeLimitBootstrap = false
	}
	return c, c.merge(dict, sp)
}

// merge writes the settings of a dictionary over c and checks the result.
func (c *Config) merge(dict map[string]any, sp spaces.Set) error {
	own, err := agents.Rename("amp", dict, sp)
	if err != nil {
		return err
	}
	_, weight := own["style_reward_weight"]
	_, scale := own["discriminator_reward_scale"]
	if weight || scale { // their product replaces the scale that c has, see aliases
		c.StyleRewardScale = DefaultConfig().StyleRewardScale
	}
	if err := config.Merge(c, own, config.Options{Prefix: "amp", Aliases: aliases}); err != nil {
		return err
	}
	return c.Validate()
}

// aliases are skrl 1.4's names. There the style reward was weighed by style_reward_weight (default 1) times
// discriminator_reward_scale (default 2), the product of which is style_reward_scale.
var aliases = map[string]config.Alias{
	"amp_state_preprocessor":        {Key: "amp_observation_preprocessor", Note: "skrl 1.4's name"},
	"amp_state_preprocessor_kwargs": {Key: "amp_observation_preprocessor_kwargs", Note: "skrl 1.4's name"},
	"task_reward_weight":            {Key: "task_reward_scale", Note: "skrl 1.4's name"},
	"style_reward_weight": {Key: "style_reward_scale", Adjust: true, Convert: scaleBy(1),
		Note: "style_reward_scale = style_reward_weight × discriminator_reward_scale", Excludes: []string{"style_reward_scale"}},
	"discriminator_reward_scale": {Key: "style_reward_scale", Adjust: true, Convert: scaleBy(2),
		Note: "style_reward_scale = style_reward_weight × discriminator_reward_scale", Excludes: []string{"style_reward_scale"}},
	"reply_buffer":       {Key: "reply_buffer_size"},
	"replay_buffer_size": {Key: "reply_buffer_size"},
}

// scaleBy multiplies the product that style_reward_scale is by value instead of by the factor's default.
func scaleBy(standard float64) func(value, dst any) error {
	return func(value, dst any) error {
		var x struct {
			V float64 `yaml:"v" config:"min=0"`
		}
		if err := config.Merge(&x, map[string]any{"v": value}, config.Options{}); err != nil {
			return fmt.Errorf("want a number ≥ 0")
		}
		*dst.(*float64) *= x.V / standard
		return nil
	}
}
