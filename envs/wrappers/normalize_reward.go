package wrappers

import (
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
)

// NormalizeRewardOptions are the settings of [NewNormalizeReward]. An Epsilon of 0 means 1e-8, and no Variant [SB3].
type NormalizeRewardOptions struct {
	// Discount is the agent's discount_factor; required.
	Discount float64 `yaml:"discount" config:"min=0,max=1"`
	// Epsilon is added to the variance before the square root.
	//
	// A larger value keeps rewards small that hardly vary, a smaller one scales them up.
	Epsilon float64 `yaml:"epsilon" config:"gt=0"`
	// Variant says when the discounted sum restarts: sb3 at 0 after every episode and reset, as VecNormalize does;
	// gymnasium at the reward of a terminating step, not at truncations and resets, as in CleanRL's runs.
	Variant Variant `yaml:"variant" config:"oneof=gymnasium|sb3"`
}

// NormalizeReward divides rewards by the running standard deviation of their discounted sums, as Stable-Baselines3's
// VecNormalize and Gymnasium's NormalizeReward do. Rewards keep their sign and zero, and their scale settles near
// one. The returns of finished episodes are sums of the rewards before the division. It is [envs.Stateful] if the
// environment inside is.
type NormalizeReward struct {
	keeper
	learning
	// step is what Step returns, rewards (N) its normalised rewards.
	step    envs.Step
	rewards []float32
	// sums (N) are the discounted sums of rewards of the episodes in progress.
	sums     []float64
	discount float64
	// rows are the environments whose sums changed in the last step. The slice is reused.
	rows []int
}

// NewNormalizeReward returns env with normalised rewards.
func NewNormalizeReward(env envs.Env, o NormalizeRewardOptions) (*NormalizeReward, error) {
	l, err := newLearning("NewNormalizeReward", o.Epsilon, o.Variant, SB3)
	if err != nil {
		return nil, err
	}
	if err := env.Spaces().RefuseSeats("wrappers: NewNormalizeReward"); err != nil {
		return nil, fmt.Errorf("%w; scale rewards by a constant (NewRewardScale)", err)
	}
	if !(o.Discount >= 0 && o.Discount <= 1) {
		return nil, fmt.Errorf("wrappers: discount is %g; it must lie in [0, 1]", o.Discount)
	}
	n := env.NumEnvs()
	l.moments = newMoments(1)
	return &NormalizeReward{keeper: keeper{inner{env}}, learning: l, rewards: make([]float32, n),
		sums: make([]float64, n), discount: o.Discount}, nil
}

// StatisticsName is "normalize_reward".
func (r *NormalizeReward) StatisticsName() string { return "normalize_reward" }

// Statistics returns the running "mean" and "variance" of the discounted sums, the "count" behind them, and the sums of
// the episodes in progress ([envs.RunningSums]).
func (r *NormalizeReward) Statistics() map[string][]float64 {
	s := r.statistics()
	s[envs.RunningSums] = slices.Clone(r.sums)
	return s
}

// SetStatistics puts back what Statistics returned, all or (on an error) nothing.
func (r *NormalizeReward) SetStatistics(statistics map[string][]float64) error {
	m, err := r.read(r.StatisticsName(), statistics, envs.RunningSums)
	if err != nil {
		return err
	}
	r.moments = m
	// Sums of another number of environments belong to a copied agent; this wrapper keeps its own.
	if sums := statistics[envs.RunningSums]; len(sums) == len(r.sums) {
		copy(r.sums, sums)
	}
	return nil
}

// Reset resets the environment inside. The running statistics stay.
func (r *NormalizeReward) Reset(seed int64) (*envs.Step, error) {
	if r.variant == SB3 && !r.frozen {
		clear(r.sums)
	}
	return r.within.Reset(seed)
}

// Step steps the environment inside, learns from its rewards, and normalises them.
func (r *NormalizeReward) Step(actions []float32) (*envs.Step, error) {
	s, err := r.within.Step(actions)
	if err != nil {
		return nil, err
	}
	if !r.frozen {
		if err := r.learn(s); err != nil {
			return nil, err
		}
	}
	// The statistics include this step before it is scaled, as in both libraries.
	scale := 1 / math.Sqrt(r.variance[0]+r.epsilon)
	for i, x := range s.Rewards {
		r.rewards[i] = float32(float64(x) * scale)
	}
	r.step = *s
	r.step.Rewards, r.step.RawRewards = r.rewards, s.Raw()
	return &r.step, nil
}

// checkRewards returns an error if a reward is not finite, because it would stay in the sums of the wrapper called
// who. Rows that only reset are not read.
func checkRewards(who string, s *envs.Step, rewards []float32) error {
	for i, x := range rewards {
		if x-x != 0 && !s.ResetOnly(i) {
			return fmt.Errorf("wrappers: %s: the reward of environment %d is %g; it must be finite", who, i, x)
		}
	}
	return nil
}

// learn updates the discounted sums with a step's rewards, and then the statistics with the sums of this step. Only
// the variance is used: the mean is not subtracted, so rewards keep their sign.
func (r *NormalizeReward) learn(s *envs.Step) error {
	if err := checkRewards(r.StatisticsName(), s, s.Rewards); err != nil {
		return err
	}
	r.rows = r.rows[:0]
	for i, x := range s.Rewards {
		if s.ResetOnly(i) {
			continue
		}
		// Gymnasium's wrapper computes sum · discount · (1 − terminated) + reward in this step; VecNormalize zeroes
		// the sum after it.
		if r.variant == Gymnasium && s.Terminated[i] {
			r.sums[i] = 0
		}
		r.sums[i] = r.sums[i]*r.discount + float64(x)
		r.rows = append(r.rows, i)
	}
	n := float64(len(r.rows))
	if n == 0 {
		return nil
	}
	// The batch's mean and population variance of the sums are merged like rows of one column.
	var mean, variance [1]float64
	for _, i := range r.rows {
		mean[0] += r.sums[i] / n
	}
	for _, i := range r.rows {
		variance[0] += (r.sums[i] - mean[0]) * (r.sums[i] - mean[0]) / n
		if r.variant == SB3 && s.Ended(i) {
			r.sums[i] = 0
		}
	}
	r.merge(mean[:], variance[:], n)
	return nil
}

// normalizeHeader begins a saved state. Its number changes with the format.
const normalizeHeader = "gorl normalized reward 1"

// MarshalState returns the running statistics and the state of the environment inside.
func (r *NormalizeReward) MarshalState() ([]byte, error) {
	return marshal(r.stateful(), normalizeHeader, func(e *statecodec.Encoder) {
		e.Numbers(r.mean[0], r.variance[0], r.count)
		e.Int(len(r.sums))
		e.Numbers(r.sums...)
	})
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (r *NormalizeReward) RestoreState(b []byte) error {
	var mean, variance, count float64
	sums := make([]float64, len(r.sums))
	err := restore(r.stateful(), normalizeHeader, b, func(d *statecodec.Decoder) {
		mean, variance, count = d.Float(), d.Float(), d.Float()
		if got := d.Int(); got != len(sums) {
			d.Fail("it is of %d environments, here are %d", got, len(sums))
		}
		d.Numbers(sums)
		if variance < 0 || count <= 0 {
			d.Fail("variance is %g after %g rewards", variance, count)
		}
	})
	if err != nil {
		return err
	}
	r.mean[0], r.variance[0], r.count, r.sums = mean, variance, count, sums
	return nil
}
