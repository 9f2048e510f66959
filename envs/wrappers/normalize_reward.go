package wrappers

import (
	"errors"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
)

// NormalizeReward divides rewards by the running standard deviation of their discounted sums, as Gymnasium's wrapper of
// that name does: rewards keep their sign and zero, and their scale settles near one. It is [envs.Stateful]
// where the environment inside is.
type NormalizeReward struct {
	keeper
	step                  envs.Step
	rewards               []float32
	sums                  []float64 // discounted, of the running episodes
	mean, variance, count float64
	discount, epsilon     float64
	frozen                bool
}

// NewNormalizeReward returns env with normalised rewards. discount, in [0, 1], is that of the agent.
func NewNormalizeReward(env envs.Env, discount float64) (*NormalizeReward, error) {
	if env == nil {
		return nil, errors.New("wrappers: NewNormalizeReward needs an environment, got nil")
	}
	if !(discount >= 0 && discount <= 1) {
		return nil, fmt.Errorf("wrappers: discount is %g; it must lie in [0, 1]", discount)
	}
	n := env.NumEnvs()
	return &NormalizeReward{keeper: keeper{inner{env}}, rewards: make([]float32, n), sums: make([]float64, n),
		variance: 1, count: 1e-4, discount: discount, epsilon: 1e-8}, nil
}

// Freeze stops (or resumes) updating the running statistics, for evaluation.
func (r *NormalizeReward) Freeze(on bool) { r.frozen = on }

// Reset resets the environment inside. The running statistics stay.
func (r *NormalizeReward) Reset(seed int64) (*envs.Step, error) {
	clear(r.sums)
	return r.within.Reset(seed)
}

// Step steps the environment inside and normalises its rewards.
func (r *NormalizeReward) Step(actions []float32) (*envs.Step, error) {
	s, err := r.within.Step(actions)
	if err != nil {
		return nil, err
	}
	n := float64(len(s.Rewards))
	var mean, variance float64
	for i, x := range s.Rewards {
		r.sums[i] = r.sums[i]*r.discount + float64(x)
		mean += r.sums[i] / n
	}
	for i := range s.Rewards {
		variance += (r.sums[i] - mean) * (r.sums[i] - mean) / n
		if s.Terminated[i] || s.Truncated[i] {
			r.sums[i] = 0
		}
	}
	if !r.frozen {
		r.merge(mean, variance, n)
	}
	scale := 1 / math.Sqrt(r.variance+r.epsilon)
	for i, x := range s.Rewards {
		r.rewards[i] = float32(float64(x) * scale)
	}
	r.step = *s
	r.step.Rewards = r.rewards
	return &r.step, nil
}

// merge adds n values of the given mean and population variance to the running statistics (Chan et al.'s formula).
func (r *NormalizeReward) merge(mean, variance, n float64) {
	delta, total := mean-r.mean, r.count+n
	r.variance = (r.variance*r.count + variance*n + delta*delta*r.count*n/total) / total
	r.mean += delta * n / total
	r.count = total
}

const normalizeHeader = "gorl normalized reward 1"

// MarshalState returns the running statistics and the state of the environment inside.
func (r *NormalizeReward) MarshalState() ([]byte, error) {
	return r.marshal(normalizeHeader, func(e *statecodec.Encoder) {
		e.Float(r.mean)
		e.Float(r.variance)
		e.Float(r.count)
		e.Int(len(r.sums))
		for _, x := range r.sums {
			e.Float(x)
		}
	})
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (r *NormalizeReward) RestoreState(b []byte) error {
	var mean, variance, count float64
	sums := make([]float64, len(r.sums))
	err := r.restore(normalizeHeader, b, func(d *statecodec.Decoder) {
		mean, variance, count = d.Float(), d.Float(), d.Float()
		if got := d.Int(); got != len(sums) {
			d.Fail("it is of %d environments, here are %d", got, len(sums))
		}
		for i := range sums {
			sums[i] = d.Float()
		}
		if variance < 0 || count <= 0 {
			d.Fail("variance is %g after %g rewards", variance, count)
		}
	})
	if err != nil {
		return err
	}
	r.mean, r.variance, r.count, r.sums = mean, variance, count, sums
	return nil
}
