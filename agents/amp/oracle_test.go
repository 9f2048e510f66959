package amp

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/tensor"
)

// following returns settings of quick updates with differences.
func following(settings map[string]any) map[string]any {
	out := small(map[string]any{"discriminator_mode": "differential",
		"amp_observation_preprocessor": "RunningMeanAbsScaler"})
	maps.Copy(out, settings)
	return out
}

// told draws earlier rows that it was told.
type told struct {
	random
	replay tensor.Tensor
}

func (d told) Rows(s *tensor.Scope, index int, n int64) (motion, replay tensor.Tensor) {
	motion, _ = d.random.Rows(s, index, n)
	return motion, d.replay
}

// The scaler learns from the rollout's differences alone, and the replay buffer keeps them as they were observed.
func TestDifferentialMemories(t *testing.T) {
	a := open(t, Options{Spaces: plain, Models: MLPs(plain, []int{8}, "tanh"), Seed: 1, Dict: following(nil)})
	w := agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...)
	agenttest.Fill(t, a, w)
	s := noGrad(t, a.learner.Device)
	rows := tensortest.Float32s(t, s, a.learner.Rollout.Rows("amp_observations"))
	must(t, a.Update(context.Background()))
	kept := tensortest.Float32s(t, s, s.Narrow(a.learner.replay.Data(), 0, 0, a.learner.replay.Len()))
	check.Same(t, kept, rows, "what is kept")
	mean := make([]float64, 3)
	for i, x := range rows {
		mean[i%3] += math.Abs(float64(x)) / 24
	}
	scaler := a.learner.scaler.(*preprocessors.RunningMeanAbsScaler)
	for j, m := range tensortest.Float64s(t, s, scaler.Mean) {
		near(t, "mean", m, mean[j], 1e-6)
	}
}

// The loss of differences is that of the paper, computed row by row, and its gradient by every weight that of finite
// differences:
//
//	½(softplus(−D(0)) + E softplus(D(d))) + 0.01·Σw² + λ·½(E‖∇D(d)‖² + ‖∇D(0)‖²), λ = 2
//
// where d are the differences of the policy, now and earlier, divided by their mean size.
func TestDifferentialLoss(t *testing.T) {
	a := open(t, Options{Spaces: plain, Models: MLPs(plain, []int{6}, "tanh"), Seed: 3, Dict: following(map[string]any{
		"discriminator_loss_scale": 1, "discriminator_weight_decay_scale": 0})})
	l := a.learner
	s := withGrad(t, l.Device)
	for _, p := range l.discriminator.Parameters() {
		s.Scale(p.Tensor, 2)
	}
	mean := []float64{0.5, 2, 1e-9} // the last is divided by 1e-4
	must(t, tensor.Write(l.scaler.(*preprocessors.RunningMeanAbsScaler).Mean, mean))
	now, earlier := s.Randn(l.Gen, 4, 3), s.Randn(l.Gen, 4, 3)
	for _, x := range []tensor.Tensor{now, earlier} {
		s.Scale(s.Narrow(x, 1, 2, 1), 1e-4)
	}
	l.Draw = told{random{l}, earlier}
	rows := append(tensortest.Float32s(t, s, now), tensortest.Float32s(t, s, earlier)...)
	want := func() float64 {
		d := layered(t, l.discriminator.Parameters())
		judge := func(x []float64) (loss, slope float64) { // of one row, with central differences
			for j, v := range x {
				const h = 1e-5
				x[j] = v + h
				up := d(x)[0]
				x[j] = v - h
				slope += math.Pow((up-d(x)[0])/(2*h), 2)
				x[j] = v
			}
			return math.Log1p(math.Exp(d(x)[0])), slope
		}
		zero := make([]float64, 3)
		_, slopes := judge(zero)
		sum := math.Log1p(math.Exp(-d(zero)[0]))
		for row := range slices.Chunk(wide(rows), 3) {
			for j := range row {
				row[j] /= math.Max(mean[j], 1e-4)
			}
			loss, slope := judge(row)
			sum, slopes = sum+loss/8, slopes+slope/8
		}
		squares := 0.0
		for _, w := range tensortest.Float32s(t, s, l.discriminator.Parameters()[2].Tensor) {
			squares += float64(w) * float64(w)
		}
		return 0.5*sum + 0.01*squares + 2*0.5*slopes
	}

	l.Flat.ZeroGrad(s)
	b := onpolicy.Batch{Rows: 4, Fields: map[string]tensor.Tensor{"amp_observations": now}}
	v := l.verdict(s, l.discriminate(s, b, tensor.Tensor{}))
	near(t, "loss", float64(tensortest.Float32s(t, s, v.loss)[0]), want(), 1e-5)
	s.Backward(v.loss)
	for _, p := range l.discriminator.Parameters() {
		values, slope := tensortest.Float32s(t, s, p.Tensor), tensortest.Float32s(t, s, s.GradOf(p.Tensor))
		for i := range values {
			const h = 1e-2
			at := func(x float32) float64 {
				moved := slices.Clone(values)
				moved[i] = x
				must(t, tensor.Write(p.Tensor, moved))
				return want()
			}
			up, down := at(values[i]+h), at(values[i]-h)
			at(values[i])
			near(t, fmt.Sprintf("∂loss/∂%s[%d]", p.Name, i), float64(slope[i]), (up-down)/(2*h), 1e-3)
		}
	}
}

// gae is generalised advantage estimation for one stream of rewards, environment-wise, as it is written in books.
func gae(rewards, values, next []float64, terminated, cut []bool, gamma, lambda float64) []float64 {
	out := make([]float64, len(rewards))
	after := 0.0
	for k := len(out) - 1; k >= 0; k-- {
		n, chain := next[k], after
		if terminated[k] {
			n = 0
		}
		if cut[k] {
			chain = 0
		}
		after = rewards[k] + gamma*n - values[k] + gamma*lambda*chain
		out[k] = after
	}
	return out
}

// With separate critics each learns the returns of its own reward, and the policy the weighted sum of the advantages.
func TestCritics(t *testing.T) {
	const n, steps, gamma, lambda = 3, 20, 0.9, 0.8
	a := newAgent(t, plain, 1, map[string]any{"rollouts": steps, "learning_epochs": 1, "mini_batches": 1,
		"discount_factor": gamma, "gae_lambda": lambda, "value_preprocessor": nil, "separate_critics": true,
		"task_reward_scale": 0.5, "style_reward_scale": 1.5})
	w := agenttest.NewWorld(plain, agenttest.Seeds(1, n)...)
	l := a.learner
	critics := [2]*onpolicy.Critic{l.Estimator, l.styleEstimator}
	var values, next [2][n][]float64
	var terminated, cut [n][]bool
	var rewards [2][n][]float64
	for !a.Ready() {
		in := slices.Clone(w.Now().Observations)
		must(t, agenttest.Step(a, w))
		tr := w.Last
		following := slices.Clone(tr.NextObservations)
		reset := len(cut[0]) == 7 // a reset truncates the step before it, for each critic
		if reset {
			w.Reset()
			a.ResetHidden()
		}
		for i := range n {
			switch {
			case tr.Truncated[i]:
				copy(following[4*i:4*i+4], tr.FinalObservations[4*i:4*i+4])
			case reset: // the observation before stands in for the last one
				copy(following[4*i:4*i+4], in[4*i:4*i+4])
			}
			terminated[i] = append(terminated[i], tr.Terminated[i])
			cut[i] = append(cut[i], reset || tr.Terminated[i] || tr.Truncated[i])
			rewards[0][i] = append(rewards[0][i], float64(tr.Rewards[i]))
		}
		for k, critic := range critics {
			s := tensor.NoGrad().On(l.Device)
			valuesOf := func(rows []float32) []float64 {
				return tensortest.Float64s(t, s, l.ValuesOf(s, critic, tensor.From(s, rows, n, 4), tensor.Tensor{}))
			}
			now, then := valuesOf(in), valuesOf(following)
			for i := range n {
				values[k][i], next[k][i] = append(values[k][i], now[i]), append(next[k][i], then[i])
			}
			s.Close()
		}
	}
	must(t, a.Update(context.Background()))
	s := noGrad(t, l.Device)
	read := func(field string) []float64 { return tensortest.Float64s(t, s, l.Rollout.Tensor(field)) }
	style, advantages := read("style_rewards"), read("advantages")
	returns := [2][]float64{read("returns"), read("style_returns")}
	sums, mean, square := make([]float64, n*steps), 0.0, 0.0 // of the advantages, as they lie in the rollout
	for i := range n {
		for k := range steps {
			rewards[1][i] = append(rewards[1][i], style[k*n+i])
		}
		for c, weight := range [2]float64{0.5, 1.5} {
			for k, x := range gae(rewards[c][i], values[c][i], next[c][i], terminated[i], cut[i], gamma, lambda) {
				near(t, fmt.Sprint("return of critic ", c), returns[c][k*n+i], x+values[c][i][k], 2e-5)
				sums[k*n+i] += weight * x
				mean += weight * x / (n * steps)
			}
		}
	}
	for _, x := range sums {
		square += (x - mean) * (x - mean)
	}
	for k, x := range sums {
		near(t, "advantage", advantages[k], (x-mean)/math.Sqrt(square/(n*steps-1)), 5e-5)
	}
}
