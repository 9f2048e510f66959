package agents

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
)

// The values of compatibility that reproduce a release of skrl number for number, its mistakes included.
const (
	SKRL2  = "skrl-2.0" // skrl 2.0.0
	SKRL21 = "skrl-2.1" // skrl 2.1.1
)

// The names of preprocessors: skrl's only one, and that of differences (package preprocessors).
const (
	RunningStandardScaler = "RunningStandardScaler"
	RunningMeanAbsScaler  = "RunningMeanAbsScaler"
)

// OnPolicy are the settings that PPO and AMP share; both embed it. Keys, names and meanings are those of skrl's
// documentation. Where skrl is mistaken the default differs, see docs/skrl-differences.md; Compatibility brings its
// behaviour back.
//
// The first paragraph of a field's comment says what it is, the second what a larger and a smaller value do.
type OnPolicy struct {
	// Rollouts is the number of timesteps between updates, T.
	//
	// An update learns from T × N environment steps. A larger value gives estimates with less noise and fewer updates
	// for the same number of timesteps; a smaller one updates sooner, from less experience. Use more with few
	// environments.
	Rollouts int `yaml:"rollouts" config:"min=1"`
	// RandomTimesteps is the number of first timesteps with uniformly random actions.
	//
	// A larger value shows the value network and the scalers more of the environment before the policy acts. 0 is
	// usual.
	RandomTimesteps int `yaml:"random_timesteps" config:"min=0"`
	// LearningStarts is the number of first timesteps without updates.
	//
	// Rollouts that end within them are thrown away. 0 is usual.
	LearningStarts int `yaml:"learning_starts" config:"min=0"`
	// Overlap lets the agent act while it learns: a copy of the policy fills the next rollout during an update, so
	// every rollout comes from the policy of one update ago (Hilton, Cobbe and Schulman 2022). It needs Models.Make and
	// excludes Compatibility.
	//
	// Runs stay reproducible, and updates run to completion even if the run is cancelled. Switch it on if stepping and
	// learning take about equally long, and the machine has cores or a simulator to run both at once: a timestep then
	// takes as long as the slower of the two, not as both. The first updates learn later by one rollout, which matters
	// only if a run has few of them.
	Overlap bool `yaml:"overlap"`
	// DiscountFactor is γ, the weight of a reward that comes one step later.
	//
	// A reward k steps ahead counts γ^k, so the agent looks about 1 / (1 − γ) steps ahead. A larger value is needed if
	// rewards come late, and makes returns harder to predict; a smaller one learns faster if they come at once.
	DiscountFactor float64 `yaml:"discount_factor" config:"min=0,max=1"`
	// GAELambda is λ of generalised advantage estimation: 0 trusts the value network, 1 the rewards.
	//
	// A larger value has less bias and more variance. Lower it if rewards are noisy and the value loss is small, raise
	// it if the value network predicts badly.
	GAELambda float64 `yaml:"gae_lambda" config:"min=0,max=1"`
	// TimeLimitBootstrap adds the value of the last observation to a truncated episode. Without it a truncation
	// counts as a termination.
	//
	// Switch it off if the time limit belongs to the task and the agent can see the time that is left.
	TimeLimitBootstrap bool `yaml:"time_limit_bootstrap"`
	// RewardsShaper changes the rewards (N,) in place before they are stored, given the number of timesteps so far.
	RewardsShaper func(rewards []float32, timestep int) `yaml:"rewards_shaper"`
	// RewardsShaperScale multiplies rewards before they are stored.
	//
	// Lower it if returns are in the hundreds and there is no ValuePreprocessor. It does not change the best policy,
	// nor the returns that trainers report.
	RewardsShaperScale float64 `yaml:"rewards_shaper_scale"`
	// Compatibility reproduces the numbers of a release of skrl; empty does not.
	Compatibility string `yaml:"compatibility" config:"oneof=|skrl-2.0|skrl-2.1"`

	Optimization  `yaml:",inline"`
	Loss          `yaml:",inline"`
	Preprocessing `yaml:",inline"`
	Computation   `yaml:",inline"`

	// Experiment says what a trainer writes and where.
	Experiment Experiment `yaml:"experiment"`
}

// Optimization is how an update goes through a rollout, and with which optimizer.
type Optimization struct {
	// LearningEpochs is the number of passes over a rollout in one update.
	//
	// More passes take more from the same rollout, at more time an update, and move the policy further from the one
	// that collected them. Lower it, or set KLThreshold, if the KL divergence or the clip fraction grows large.
	LearningEpochs int `yaml:"learning_epochs" config:"min=1"`
	// MiniBatches is the number of minibatches of about equal size in one pass, at most T × N.
	//
	// More and therefore smaller minibatches make more optimizer steps, each with a noisier gradient. Fewer are
	// faster on a GPU. Aim at minibatches of some hundreds of rows or more.
	MiniBatches int `yaml:"mini_batches" config:"min=1"`
	// MiniBatchSize is the number of rows of a minibatch, an alternative to MiniBatches; 0 uses MiniBatches. It must
	// divide T × N and, with recurrent networks, be a multiple of SequenceLength.
	//
	// Set it if the number of environments changes from run to run, and the size of a minibatch should stay (rl_games,
	// Stable-Baselines3).
	MiniBatchSize int `yaml:"mini_batch_size" config:"min=0"`
	// MiniBatchOrder is the order of the rows in a pass. "random" shuffles them in every pass, "random_once" once
	// per update (rsl_rl). "environments" takes one environment after the other, each in the order of time
	// (rl_games).
	//
	// "random" makes minibatches more alike, and is the better choice in general. "environments" saves the shuffling,
	// and is what KLAdaptiveLR with divergence "gaussian" was made for.
	MiniBatchOrder string `yaml:"mini_batch_order" config:"oneof=random|random_once|environments"`
	// SequenceLength is L, the number of steps through which recurrent networks (GRU, LSTM, RNN) learn; 0 is the
	// whole rollout. It must divide "rollouts". Minibatches are made of whole sequences.
	//
	// With a larger value the networks can learn to remember for longer. An update then takes more time, because the
	// steps of a sequence are computed one after the other. A smaller one gives more sequences to shuffle. Make it,
	// and with it Rollouts, longer than what must be remembered.
	SequenceLength int `yaml:"sequence_length" config:"min=0"`
	// LearningRate is the step size of all networks, or a list with one per network: policy, value, (style value,)
	// discriminator.
	//
	// A larger one learns faster until updates become unstable: the KL divergence jumps and returns collapse. It is the
	// first setting to tune; KLAdaptiveLR below tunes it while training.
	LearningRate []float64 `yaml:"learning_rate" config:"gt=0,minlen=1"`
	// LearningRateScheduler changes the learning rate during training: "KLAdaptiveLR", "LinearLR", "CosineLR",
	// "StepLR", "ExponentialLR", "ConstantLR", one of your own (schedulers.Register), or empty for none.
	// LearningRateSchedulerKwargs are its settings.
	LearningRateScheduler       string         `yaml:"learning_rate_scheduler"`
	LearningRateSchedulerKwargs map[string]any `yaml:"learning_rate_scheduler_kwargs"`
	// LearningRateSchedulerNetworks says whose rates the schedule changes: those of "all" networks, or that of the
	// "policy" only (rl_games: central_value_config).
	//
	// Choose "policy" if KLAdaptiveLR lowers the rate of a policy that moves too fast, and the value network should go
	// on learning at its own.
	LearningRateSchedulerNetworks string `yaml:"learning_rate_scheduler_networks" config:"oneof=all|policy"`
	// ScheduleKLThreshold is the present kl_threshold of KLAdaptiveLR, which a population can change. It is 0 without
	// such a schedule. It is not a key: LearningRateSchedulerKwargs gives its first value.
	ScheduleKLThreshold float64 `yaml:"-"`
	// Optimizer is the optimizer, WeightDecay its L2 penalty (adamw: decoupled decay).
	//
	// More decay keeps weights smaller, which can help a network that fits too closely; 0 is usual.
	Optimizer   string  `yaml:"optimizer" config:"oneof=adam|adamw|sgd"`
	WeightDecay float64 `yaml:"weight_decay" config:"min=0"`
	// AdamEpsilon is Adam's ε. Default 1e-8 (PyTorch, skrl). CleanRL and Stable-Baselines3 use 1e-5 for PPO.
	//
	// A larger value makes the steps of parameters with small gradients smaller; a smaller one makes all steps about as
	// large as the learning rate. Only adam and adamw have it.
	AdamEpsilon float64 `yaml:"adam_epsilon" config:"gt=0"`
	// AdamBetas are β₁ and β₂, the decay rates of Adam's moments. Default 0.9 and 0.999.
	//
	// A larger β₁ averages the direction over more minibatches; a larger β₂ does so for the size of the steps. Only
	// adam and adamw have them.
	AdamBetas [2]float64 `yaml:"adam_betas" config:"min=0,lt=1,minlen=2"`
	// SGDMomentum is the momentum μ of sgd. DeepMimic and MimicKit use 0.9.
	//
	// A larger value makes steps longer, up to 1 / (1 − μ) times, and averages their direction: lower the learning rate
	// by as much.
	SGDMomentum float64 `yaml:"sgd_momentum" config:"min=0,lt=1"`
	// GradNormClip limits the norm of all gradients together or, given one value per network, of each network; 0 is
	// no limit.
	//
	// A smaller limit makes training steadier and, if it always applies, slower. The tracked value "Gradient / Norm"
	// shows how large gradients are before it.
	GradNormClip []float64 `yaml:"grad_norm_clip" config:"min=0,minlen=1"`
	// KLThreshold is the KL divergence in nats above which an update ends early; 0 never ends it.
	//
	// A smaller threshold makes fewer and safer optimizer steps. 0.01 to 0.05 is usual.
	KLThreshold float64 `yaml:"kl_threshold" config:"min=0"`
}

// Loss are the terms of the loss and their limits.
type Loss struct {
	// AdvantageNormalization is the set of rows over which advantages are standardised: the whole "rollout" (skrl),
	// each "minibatch" (CleanRL, Stable-Baselines3), or "none". A minibatch of one row is left as it is.
	//
	// With "minibatch" every optimizer step weighs its own rows alike, which adds noise if minibatches are small. With
	// "none" the size of rewards changes the size of the policy's steps; choose it if rewards are scaled with care.
	AdvantageNormalization string `yaml:"advantage_normalization" config:"oneof=rollout|minibatch|none"`
	// RatioClip is ε of the clipped surrogate, the largest change of the probability ratio that is rewarded.
	//
	// A larger value lets an update change the probability of an action by more. Lower it if updates undo each other,
	// raise it if the clip fraction is high and the policy moves slowly. 0.1 to 0.3 is usual.
	RatioClip float64 `yaml:"ratio_clip" config:"gt=0"`
	// ValueClip limits the change of a value prediction in one update; 0 is no limit. The loss is the larger of the
	// clipped and the unclipped one.
	//
	// A smaller limit makes the value network change more slowly. It is in units of the standardised return if there is
	// a ValuePreprocessor, else of the return: raise it, or set it to 0, if returns are large and not standardised.
	ValueClip float64 `yaml:"value_clip" config:"min=0"`
	// EntropyLossScale weighs the bonus for the entropy of the policy, summed over action dimensions.
	//
	// A larger value keeps the policy undecided for longer, so that it explores; too large a one keeps it from ever
	// deciding. Raise it if the entropy falls early and the return stays low.
	EntropyLossScale float64 `yaml:"entropy_loss_scale" config:"min=0"`
	// ValueLossScale weighs the value loss against the policy loss.
	//
	// It matters if both share a trunk or one limit of gradients: a larger value then leaves the policy smaller steps.
	ValueLossScale float64 `yaml:"value_loss_scale" config:"min=0"`
	// BoundsLossScale weighs a loss on mean actions: with BoundsLossType "limit" the square of what exceeds
	// ±BoundsLossLimit, with "square" the squared mean (rl_games: bounds_loss_coef, bound_loss_type); 0 is none. It
	// needs a Gaussian policy and excludes "compatibility".
	//
	// A larger value brings means back sooner that have run off to where the environment clips actions and no reward
	// can tell them apart. rl_games' files have 1e-4, those of AMP 10. The limit stands a little outside of the
	// actions' range, 1.1 for one of ±1: raise it if actions have wider limits.
	BoundsLossScale float64 `yaml:"bounds_loss_scale" config:"min=0"`
	BoundsLossLimit float64 `yaml:"bounds_loss_limit" config:"gt=0"`
	BoundsLossType  string  `yaml:"bounds_loss_type" config:"oneof=limit|square"`
}

// Preprocessing is how what networks see, and returns, are scaled.
type Preprocessing struct {
	// ObservationPreprocessor, StatePreprocessor and ValuePreprocessor name the scaler of observations, states and
	// returns; empty is none. The Kwargs are its settings (preprocessors.ScalerConfig).
	//
	// Scalers of observations and states are worth having wherever their columns differ in size; that of values
	// wherever returns are not about 1. They must be the same when a checkpoint is restored.
	ObservationPreprocessor       string         `yaml:"observation_preprocessor" config:"oneof=|RunningStandardScaler"`
	ObservationPreprocessorKwargs map[string]any `yaml:"observation_preprocessor_kwargs"`
	StatePreprocessor             string         `yaml:"state_preprocessor" config:"oneof=|RunningStandardScaler"`
	StatePreprocessorKwargs       map[string]any `yaml:"state_preprocessor_kwargs"`
	ValuePreprocessor             string         `yaml:"value_preprocessor" config:"oneof=|RunningStandardScaler"`
	ValuePreprocessorKwargs       map[string]any `yaml:"value_preprocessor_kwargs"`
}

// Computation is where and how tensors are computed.
type Computation struct {
	// Device is the device of all tensors: "cpu", "cuda", "cuda:1" or "auto".
	//
	// Small networks are faster on the CPU; a GPU pays off with wide networks or thousands of environments.
	Device string `yaml:"device"`
	// CUDAGraphs replays the minibatches of an update on a GPU as CUDA graphs, with equal results. It is off because
	// it has not yet passed its tests on a GPU. It has no effect with recurrent networks, KLThreshold,
	// MixedPrecisionDtype "float16", several ranks, "compatibility" or on the CPU. Your own networks must not copy to
	// or from the device while they compute.
	//
	// True saves time if a GPU waits for the host: small networks and minibatches, and ten of them or more an update,
	// epochs counted. It takes the memory of one minibatch more, of two if their sizes differ by a row. False launches
	// every operation by itself.
	CUDAGraphs bool `yaml:"cuda_graphs"`
	// MixedPrecision computes the layers of all networks in MixedPrecisionDtype. Losses, parameters, gradients and
	// the optimizer stay in float32 (Micikevicius et al. 2018; skrl: mixed_precision).
	//
	// It makes wide networks faster on GPUs with tensor cores and on processors that multiply in bfloat16, and small
	// ones slower. Where the device cannot do it, that is an error when the agent is made.
	MixedPrecision bool `yaml:"mixed_precision"`
	// MixedPrecisionDtype is "bfloat16" or, on a GPU, "float16", whose losses are scaled so that small gradients do
	// not vanish.
	//
	// "float16" is more precise and faster on GPUs older than NVIDIA's Ampere; "bfloat16" needs no scale.
	MixedPrecisionDtype string `yaml:"mixed_precision_dtype" config:"oneof=bfloat16|float16"`
}

// Experiment says what a trainer writes, where, and how often (skrl: ExperimentCfg).
type Experiment struct {
	// Directory is the parent folder. Default "runs".
	Directory string `yaml:"directory"`
	// ExperimentName is the run's folder; empty is the time and the agent's name.
	ExperimentName string `yaml:"experiment_name"`
	// WriteInterval is the number of timesteps between writes of tracked values; 0 writes none.
	WriteInterval Interval `yaml:"write_interval"`
	// CheckpointInterval is the number of timesteps between checkpoints; 0 writes none.
	CheckpointInterval Interval `yaml:"checkpoint_interval"`
	// StoreSeparately is skrl's; only false is accepted.
	StoreSeparately bool `yaml:"store_separately"`
	// WandB switches the tracker "wandb" on, WandBKwargs are its settings (skrl).
	WandB       bool           `yaml:"wandb"`
	WandBKwargs map[string]any `yaml:"wandb_kwargs"`
}

// Interval is a number of timesteps, or "auto": a fraction of the run that its user chooses, see Of.
type Interval struct {
	Auto  bool
	Steps int
}

// SetConfig reads "auto" or a whole number of at least 0.
func (i *Interval) SetConfig(value any) error {
	next, ok := value.(Interval)
	if text, is := value.(string); is && strings.EqualFold(text, "auto") {
		next, ok = Interval{Auto: true}, true
	} else if !ok {
		next.Steps, ok = config.Whole(value)
	}
	if !ok || !next.Auto && next.Steps < 0 {
		return fmt.Errorf("want a whole number of timesteps, or \"auto\"")
	}
	*i = next
	return nil
}

// MarshalYAML returns what SetConfig reads.
func (i Interval) MarshalYAML() (any, error) {
	if i.Auto {
		return "auto", nil
	}
	return i.Steps, nil
}

// Of returns the interval in a run of timesteps: the number given, or the run divided by parts, at least 1. Of a run
// without a known end "auto" is 0.
func (i Interval) Of(timesteps, parts int) int {
	if !i.Auto {
		return i.Steps
	}
	if timesteps <= 0 {
		return 0
	}
	return max(1, timesteps/parts)
}

// DefaultOnPolicy returns the settings that PPO and AMP have in common.
func DefaultOnPolicy() OnPolicy {
	return OnPolicy{
		Rollouts: 16, DiscountFactor: 0.99, GAELambda: 0.95, TimeLimitBootstrap: true, RewardsShaperScale: 1,
		Optimization: Optimization{MiniBatches: 2, MiniBatchOrder: "random", LearningRateSchedulerNetworks: "all",
			Optimizer: "adam", AdamEpsilon: 1e-8, AdamBetas: [2]float64{0.9, 0.999}, GradNormClip: []float64{0.5}},
		Loss: Loss{AdvantageNormalization: "rollout", RatioClip: 0.2, ValueClip: 0.2, ValueLossScale: 2.5,
			BoundsLossLimit: 1.1, BoundsLossType: "limit"},
		Computation: Computation{Device: "cpu", MixedPrecisionDtype: "bfloat16"},
		Experiment: Experiment{Directory: "runs", WriteInterval: Interval{Auto: true},
			CheckpointInterval: Interval{Auto: true}},
	}
}

// Skrl reports whether the behaviour of a release of skrl is asked for.
func (c *OnPolicy) Skrl() bool { return c.Compatibility != "" }

// Skrl20 and Skrl21 report which release's it is, where the two differ: in generalised advantage estimation and
// time-limit bootstrapping, minibatches, and the entropy.
func (c *OnPolicy) Skrl20() bool { return c.Compatibility == SKRL2 }

// Skrl21 is described at [OnPolicy.Skrl20].
func (c *OnPolicy) Skrl21() bool { return c.Compatibility == SKRL21 }

// Tunable returns the shared settings that may change while training, by key. Of several learning rates or clips the
// first stands for all: changing it scales the others.
func (c *OnPolicy) Tunable() map[string]*float64 {
	return map[string]*float64{
		"learning_rate": &c.LearningRate[0], "discount_factor": &c.DiscountFactor, "gae_lambda": &c.GAELambda,
		"grad_norm_clip": &c.GradNormClip[0], "ratio_clip": &c.RatioClip, "value_clip": &c.ValueClip,
		"entropy_loss_scale": &c.EntropyLossScale, "value_loss_scale": &c.ValueLossScale,
		"kl_threshold":      &c.KLThreshold,
		"bounds_loss_scale": &c.BoundsLossScale, "schedule_kl_threshold": &c.ScheduleKLThreshold,
	}
}
