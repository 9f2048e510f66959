package amp

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
)

// Config are AMP's settings: those it shares with PPO, and the discriminator's. Keys, names and defaults are those of
// skrl's documentation if it has them. The first paragraph of a field's comment says what it is, the second what a
// larger and a smaller value do.
//
// A new setting is a field here with its key and bounds, a default in DefaultConfig, a line in Tunable if it may
// change while training, and its use in update.go; the tables in docs are made from the comments (CONTRIBUTING.md).
type Config struct {
	agents.OnPolicy `yaml:",inline"`

	// AMPObservationPreprocessor scales AMP observations: "RunningStandardScaler" standardises,
	// "RunningMeanAbsScaler" divides by the mean absolute value and keeps 0 at 0, empty is none. It learns once per
	// update, from as many rows of the policy as of reference motion (DiscriminatorMode "differential": of the
	// policy only).
	//
	// Worth having wherever the columns of AMP observations differ in size: positions and velocities, for instance.
	AMPObservationPreprocessor       string         `yaml:"amp_observation_preprocessor" config:"oneof=|RunningStandardScaler|RunningMeanAbsScaler"`
	AMPObservationPreprocessorKwargs map[string]any `yaml:"amp_observation_preprocessor_kwargs"`

	// TaskRewardScale and StyleRewardScale weigh the environment's reward and the discriminator's.
	//
	// Style teaches how to move, the task teaches what to do. Raise the task's if the character moves well and fails
	// at the task, the style's if it moves in an unnatural way. Only their ratio matters with a ValuePreprocessor.
	TaskRewardScale  float64 `yaml:"task_reward_scale" config:"min=0"`
	StyleRewardScale float64 `yaml:"style_reward_scale" config:"min=0"`

	// TerminationStyleReward is the style reward (before StyleRewardScale) that terminates a training episode if
	// TerminationSteps steps in a row are below it (ProtoMotions); 0 never does. The environment must be an
	// envs.Terminator (envs/mujoco). It excludes Overlap.
	//
	// A larger threshold, and fewer steps, end episodes sooner, so that more of the experience is of poses near the
	// clips, where episodes begin; too large a threshold ends episodes that were about to recover. ProtoMotions has
	// 0.02 to 0.05 with the bce loss, and 10 steps. The other losses have rewards of another size.
	TerminationStyleReward float64 `yaml:"termination_style_reward" config:"min=0"`
	TerminationSteps       int     `yaml:"termination_steps" config:"min=1"`

	// AMPBatchSize is the number of rows of reference motion collected before each update.
	//
	// More rows renew the motion dataset faster, at the cost of sampling them. It matters little if the dataset is
	// large enough to hold the clips well.
	AMPBatchSize int `yaml:"amp_batch_size" config:"min=1"`
	// MotionDatasetSize is the number of rows of reference motion kept; it is filled before training.
	//
	// It should be large enough to hold all clips in small steps of time. A larger one costs memory only.
	MotionDatasetSize int `yaml:"motion_dataset_size" config:"min=1"`
	// ReplayBufferSize is the number of rows of the policy's motion kept for the discriminator.
	//
	// A larger one lets the discriminator remember motion that the policy gave up long ago, so that the policy cannot
	// return to it; a smaller one compares with recent motion only.
	ReplayBufferSize int `yaml:"reply_buffer_size" config:"min=1"`
	// ReplayAdmissionProbability is the probability that a row enters a full replay buffer.
	//
	// A smaller value keeps older rows for longer in a buffer of the same size.
	ReplayAdmissionProbability float64 `yaml:"replay_admission_probability" config:"gt=0,max=1"`

	// AMPObservationFrames is K, the number of frames stacked into one AMP observation, each with the same features.
	// Only DiscriminatorMaskedFeatures uses it: the environment decides how many frames there are.
	//
	// With a longer window the discriminator judges rhythm as well as poses. Observations may then omit velocities,
	// which follow from the poses (10 frames in MimicKit, 2 in skrl and Isaac Lab).
	AMPObservationFrames int `yaml:"amp_observation_frames" config:"min=1"`

	// SeparateCritics gives task and style a value network each, and adds their advantages by the reward scales.
	//
	// It costs one more network. It pays off if the two rewards differ much in size or in how far they look ahead.
	SeparateCritics bool `yaml:"separate_critics"`

	DiscriminatorSettings `yaml:",inline"`
	SkillSettings         `yaml:",inline"`
}

// DiscriminatorSettings are how the discriminator learns to tell motion apart.
type DiscriminatorSettings struct {
	// DiscriminatorMaskedFeatures are the features of a frame that the discriminator sees as 0, in every frame:
	// indices from 0 and ranges, such as "0-2, 9". Empty is none.
	//
	// Mask what the clips have wrong, or what the task must be free to do otherwise: the direction of travel, a held
	// object, hands. With a mask the gradient penalty is computed by differentiating twice, which is slower.
	DiscriminatorMaskedFeatures string `yaml:"discriminator_masked_features"`

	// DiscriminatorBatchSize is the largest number of rows each of policy, replay and motion in a minibatch of the
	// discriminator and the encoder; 0 or less is no limit.
	//
	// Fewer rows are faster. A discriminator needs less data than the policy; some hundreds of rows are enough.
	DiscriminatorBatchSize int `yaml:"discriminator_batch_size"`
	// DiscriminatorLossScale weighs the discriminator's whole loss.
	//
	// A larger value makes the discriminator learn faster relative to the policy. Lower it if its accuracy on both
	// sides reaches 1 at once: the style reward then says nothing.
	DiscriminatorLossScale float64 `yaml:"discriminator_loss_scale" config:"min=0"`
	// DiscriminatorMode is "motion" (AMP), which compares the policy's rows with reference motion, or "differential"
	// (ADD, Zhang et al. 2025), which compares them with zeros: the AMP observation must be the difference between
	// reference and character. In a dictionary "differential" has its own defaults.
	//
	// Choose "motion" if the character should move in the style of clips, at any time. Choose "differential" if it
	// should follow a clip in time; there are no weights of a tracking reward to tune.
	DiscriminatorMode string `yaml:"discriminator_mode" config:"oneof=motion|differential"`
	// DiscriminatorLoss is "bce" (skrl, ASE), "lsgan" (Peng et al. 2021, eq. 6 and 7) or "wasserstein" (a bounded
	// critic).
	//
	// Start with "bce", whose reward grows with the discriminator's certainty. That of "lsgan" lies between 0 and 1,
	// and that of "wasserstein" does not vanish if the discriminator is sure.
	DiscriminatorLoss string `yaml:"discriminator_loss" config:"oneof=bce|lsgan|wasserstein"`
	// WassersteinEta scales the wasserstein critic's output before the tanh that bounds it.
	//
	// A larger value makes the bound felt earlier, so that rewards are close to their limits. Only the wasserstein loss
	// has it.
	WassersteinEta float64 `yaml:"wasserstein_eta" config:"gt=0"`
	// DiscriminatorLogitRegularizationScale weighs the squared weights of the output layer.
	//
	// A larger value keeps logits small and the style reward away from its extremes.
	DiscriminatorLogitRegularizationScale float64 `yaml:"discriminator_logit_regularization_scale" config:"min=0"`
	// DiscriminatorGradientPenaltyScale weighs the squared gradient of the logit by the observation.
	//
	// A larger value makes the reward smoother in the observation, so that the policy can follow it, and the
	// discriminator weaker. Raise it if training is unstable, lower it if the discriminator cannot tell motion from
	// policy.
	DiscriminatorGradientPenaltyScale float64 `yaml:"discriminator_gradient_penalty_scale" config:"min=0"`
	// DiscriminatorGradientPenaltySamples are the rows of that penalty: "motion", "both" (motion and policy), or
	// "interpolated" between them at random. The wasserstein loss pulls the norm to 1, the others to 0.
	DiscriminatorGradientPenaltySamples string `yaml:"discriminator_gradient_penalty_samples" config:"oneof=motion|both|interpolated"`
	// DiscriminatorWeightDecayScale weighs the squared weights of all linear layers.
	//
	// A larger value keeps the discriminator's weights smaller and its verdict less sharp.
	DiscriminatorWeightDecayScale float64 `yaml:"discriminator_weight_decay_scale" config:"min=0"`

	// DiscriminatorOptimizer is "shared" (one optimizer and gradient clip for all networks, as in skrl) or
	// "separate", with DiscriminatorLearningRate and DiscriminatorGradNormClip.
	//
	// Choose "separate" if large gradients of the discriminator make the policy's steps small. A larger learning rate
	// lets it keep up with a policy that changes fast.
	DiscriminatorOptimizer    string  `yaml:"discriminator_optimizer" config:"oneof=shared|separate"`
	DiscriminatorLearningRate float64 `yaml:"discriminator_learning_rate" config:"gt=0"`
	DiscriminatorGradNormClip float64 `yaml:"discriminator_grad_norm_clip" config:"min=0"`
}

// SkillSettings are those of ASE and CALM: policies that act by latent skills.
type SkillSettings struct {
	// LatentSize is L, the number of dimensions of ASE's latent skills (Peng et al. 2022); 0 is AMP without skills.
	// wrappers.NewSkills puts the latent, a point on the unit sphere, into the last L values of an observation;
	// Models.Encoder infers it from the motion.
	//
	// A larger size has room for more different motions, and takes longer to fill: 64 for half an hour of clips, less
	// for a few.
	LatentSize int `yaml:"latent_size" config:"min=0"`
	// LatentMode says where latents come from: "ase" draws them at random, "calm" (Tessler et al. 2023) encodes
	// reference motion ([Agent.Latents], the source of wrappers.Skills) and needs a discriminator that reads latents
	// (WithConditionalDiscriminator). It needs LatentSize. In a dictionary "calm" has its own defaults.
	//
	// Choose "ase" if it does not matter which skill is which, "calm" if a clip should say what the character does.
	LatentMode string `yaml:"latent_mode" config:"oneof=ase|calm"`
	// UniformityLossScale weighs the term of calm's encoder loss that spreads latents over the sphere. The other
	// term, that overlapping windows have similar latents, has weight 1.
	//
	// A larger value sets motions further apart, a smaller one gives one motion fewer different latents.
	UniformityLossScale float64 `yaml:"uniformity_loss_scale" config:"min=0"`
	// MismatchedNegatives also trains the discriminator to reject reference motion with the policy's latents (the
	// authors' negative_disc_samples). Only LatentMode "calm" has it.
	//
	// Switch it on if the character moves well, but not as its latent says.
	MismatchedNegatives bool `yaml:"mismatched_negatives"`
	// EncoderRewardScale weighs the reward for motion from which the encoder infers the latent.
	//
	// A larger value makes motions of different latents differ more, at the cost of their likeness to the clips. Only
	// LatentSize has it.
	EncoderRewardScale float64 `yaml:"encoder_reward_scale" config:"min=0"`
	// EncoderLossScale weighs the encoder's loss. With LatentMode "calm" the encoder also learns from the losses of
	// policy and value network, which it does not weigh.
	//
	// A larger value makes the encoder learn faster relative to the policy, if they share an optimizer.
	EncoderLossScale float64 `yaml:"encoder_loss_scale" config:"min=0"`
	// DiversityLossScale weighs the loss for mean actions that differ less than their latents; 0 is none. Actions
	// are scaled to the action space (bounds at ±1) and clipped to [−1, 1].
	//
	// Raise it if all latents lead to the same motion; lower it if actions jump.
	DiversityLossScale float64 `yaml:"diversity_loss_scale" config:"min=0"`
}

// DefaultConfig returns skrl's defaults for AMP, except that truncated episodes bootstrap (time_limit_bootstrap). What
// skrl does not have is off.
func DefaultConfig() Config {
	c := Config{
		OnPolicy: agents.DefaultOnPolicy(), TaskRewardScale: 0, StyleRewardScale: 2, TerminationSteps: 10,
		AMPBatchSize: 512, MotionDatasetSize: 20_000,
		ReplayBufferSize: 100_000, ReplayAdmissionProbability: 1, AMPObservationFrames: 1,
		DiscriminatorSettings: DiscriminatorSettings{
			DiscriminatorBatchSize: -1, DiscriminatorLossScale: 5, DiscriminatorMode: "motion",
			DiscriminatorLoss: "bce", WassersteinEta: 0.3, DiscriminatorLogitRegularizationScale: 0.05,
			DiscriminatorGradientPenaltyScale: 5, DiscriminatorGradientPenaltySamples: "motion",
			DiscriminatorWeightDecayScale: 1e-4, DiscriminatorOptimizer: "shared",
			DiscriminatorLearningRate: 5e-5, DiscriminatorGradNormClip: 0.5,
		},
		SkillSettings: SkillSettings{EncoderRewardScale: 1, EncoderLossScale: 5, DiversityLossScale: 0.01,
			LatentMode: "ase", UniformityLossScale: 0.5},
	}
	c.LearningEpochs = 6
	c.LearningRate = []float64{5e-5}
	return c
}

// clone returns a copy that shares no slice with c.
func (c *Config) clone() Config {
	out := *c
	out.OnPolicy = onpolicy.Clone(&c.OnPolicy)
	return out
}

// networks returns how many networks the shared optimizer steps.
func (c *Config) networks() int {
	n := 3
	if c.DiscriminatorOptimizer == "separate" {
		n--
	}
	if c.SeparateCritics {
		n++
	}
	if c.LatentSize > 0 {
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
		return fmt.Errorf("amp: \"task_reward_scale\" and \"style_reward_scale\" are both 0: there would be " +
			"nothing to learn")
	}
	if err := cmp.Or(c.validateMode(), c.validateCALM(), onpolicy.CheckKwargs("amp", "amp_observation_preprocessor",
		c.AMPObservationPreprocessor, c.AMPObservationPreprocessorKwargs)); err != nil {
		return err
	}
	if _, err := parseFeatures(c.DiscriminatorMaskedFeatures); err != nil {
		return err
	}
	if c.Skrl() && (c.DiscriminatorMode != "motion" || c.AMPObservationPreprocessor == agents.RunningMeanAbsScaler ||
		c.DiscriminatorLoss != "bce" || c.DiscriminatorGradientPenaltySamples != "motion" || c.SeparateCritics ||
		c.LatentSize > 0 || c.DiscriminatorOptimizer != "shared" || c.TerminationStyleReward > 0) {
		return fmt.Errorf("amp: \"compatibility\" is %q, which has only the discriminator of motion, the "+
			"RunningStandardScaler, the bce loss, its penalty at motion rows, one critic, no latents, one optimizer "+
			"and no \"termination_style_reward\"", c.Compatibility)
	}
	if c.TerminationStyleReward > 0 && c.Overlap {
		return fmt.Errorf("amp: \"termination_style_reward\" is %g and \"overlap\" is true: the discriminator that "+
			"judges the steps is learning meanwhile; set one of them off", c.TerminationStyleReward)
	}
	return onpolicy.Validate(&c.OnPolicy, "amp", c.networks())
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
		"encoder_reward_scale":                     &c.EncoderRewardScale,
		"encoder_loss_scale":                       &c.EncoderLossScale,
		"diversity_loss_scale":                     &c.DiversityLossScale,
	} {
		t[k] = p
	}
	return t
}

// FromDict merges a dictionary of settings, as in skrl's documentation (1.4's names or 2.0's), over the defaults. With
// "compatibility" the defaults are those of that release of skrl. "discriminator_mode" "differential" and "latent_mode"
// "calm" have the defaults of ADD's and CALM's authors. All problems are reported together.
func FromDict(dict map[string]any, sp spaces.Set) (Config, error) {
	c := DefaultConfig()
	if dict["discriminator_mode"] == differential {
		c = differentialConfig()
	}
	if dict["latent_mode"] == calm {
		c = calmConfig()
	}
	_, weight := dict["style_reward_weight"]
	_, scale := dict["discriminator_reward_scale"]
	if weight || scale { // their product replaces the scale that c has, see aliases
		c.StyleRewardScale = DefaultConfig().StyleRewardScale
	}
	err := onpolicy.Merge(dict, sp, &c, &c.OnPolicy, config.Options{Prefix: "amp", Aliases: aliases}, c.Validate)
	return c, err
}

// aliases are skrl 1.4's names. There the style reward was weighed by style_reward_weight (default 1) times
// discriminator_reward_scale (default 2), the product of which is style_reward_scale.
var aliases = map[string]config.Alias{
	"amp_state_preprocessor":        {Key: "amp_observation_preprocessor", Note: "skrl 1.4's name"},
	"amp_state_preprocessor_kwargs": {Key: "amp_observation_preprocessor_kwargs", Note: "skrl 1.4's name"},
	"task_reward_weight":            {Key: "task_reward_scale", Note: "skrl 1.4's name"},
	"style_reward_weight": {Key: "style_reward_scale", Factor: 1,
		Note: "style_reward_scale = style_reward_weight × discriminator_reward_scale"},
	"discriminator_reward_scale": {Key: "style_reward_scale", Factor: 2,
		Note: "style_reward_scale = style_reward_weight × discriminator_reward_scale"},
	"reply_buffer":       {Key: "reply_buffer_size"},
	"replay_buffer_size": {Key: "reply_buffer_size"},
}

func init() {
	config.Declare("agents", "AMP", DefaultConfig(),
		slices.AppendSeq(slices.Clone(onpolicy.OlderNames), maps.Keys(aliases))...)
}
