package amp

import (
	"context"
	"maps"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// skilled returns an agent whose observations end with a latent of 2 dimensions.
func skilled(t *testing.T, m Models, settings map[string]any) *Agent {
	t.Helper()
	all := small(map[string]any{"latent_size": 2})
	maps.Copy(all, settings)
	return open(t, Options{Spaces: plain, Models: m, Motions: &agenttest.Motion{Width: 3, Mean: 0.7}, Dict: all, Seed: 4})
}

// layered is a network of one hidden layer of tanh in float64: its outputs for a row.
func layered(t *testing.T, params []tensor.Parameter) func(x []float64) []float64 {
	t.Helper()
	var p [4][]float64 // weight and bias of two layers
	for i := range p {
		values, err := tensor.Float32s(params[i].Tensor)
		must(t, err)
		p[i] = wide(values)
	}
	linear := func(w, b, x []float64) []float64 {
		out := append([]float64(nil), b...)
		for i := range out {
			for j, v := range x {
				out[i] += w[i*len(x)+j] * v
			}
		}
		return out
	}
	return func(x []float64) []float64 {
		hidden := linear(p[0], p[1], x)
		for i := range hidden {
			hidden[i] = math.Tanh(hidden[i])
		}
		return linear(p[2], p[3], hidden)
	}
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// The reward is the weighted sum of task, style and max(0, z·μ(x)): with a discount of 0 returns are the rewards.
func TestEncoderReward(t *testing.T) {
	agenttest.CheckLive(t)
	a := skilled(t, WithSeparateEncoder(standard, plain, 2, []int{5}, "tanh"), map[string]any{"discount_factor": 0, "value_preprocessor": nil,
		"amp_observation_preprocessor": nil,
		"task_reward_scale":            0.5, "style_reward_scale": 0.25, "encoder_reward_scale": 3})
	l := a.learner
	w := agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...)
	agenttest.Fill(t, a, w)
	s := noGrad(t, l.Device)
	read := func(field string) []float32 { return tensortest.Float32s(t, s, l.Rollout.Rows(field)) }
	rows, observations, task := read("amp_observations"), read("observations"), read("rewards")
	mu := layered(t, l.encoder.Parameters())
	must(t, a.Update(context.Background()))
	style, positive := read("style_rewards"), 0
	for i, got := range read("returns") {
		x := []float64{float64(rows[3*i]), float64(rows[3*i+1]), float64(rows[3*i+2])}
		z := []float64{float64(observations[4*i+2]), float64(observations[4*i+3])}
		e := mu(x)
		skill := math.Max(0, dot(z, e)/math.Sqrt(dot(e, e)))
		if skill > 0 {
			positive++
		}
		near(t, "return", float64(got), 0.5*float64(task[i])+0.25*float64(style[i])+3*skill, 1e-4)
	}
	if positive == 0 || positive == len(task) {
		t.Errorf("%d of %d encoder rewards are positive", positive, len(task))
	}
	figures := map[string]float64{}
	a.Tracked(func(tag string, v float64) { figures[tag] = v })
	for _, tag := range []string{"Loss / Encoder loss", "Loss / Diversity loss", "Reward / Encoder reward (mean)"} {
		if v, ok := figures[tag]; !ok || math.IsNaN(v) {
			t.Errorf("%q is not tracked", tag)
		}
	}
}
