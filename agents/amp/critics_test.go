package amp

import (
	"context"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

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

// With separate critics each learns the returns of its own reward, and the policy the weighted sum of the advantages;
// with one critic, it learns the returns of the sum of the rewards.
func TestCritics(t *testing.T) {
	const n, steps, gamma, lambda = 3, 20, 0.9, 0.8
	for name, separate := range map[string]bool{"one": false, "separate": true} {
		t.Run(name, func(t *testing.T) {
			agenttest.CheckLive(t)
			a := newAgent(t, plain, 1, map[string]any{"rollouts": steps, "learning_epochs": 1, "mini_batches": 1,
				"discount_factor": gamma, "gae_lambda": lambda,
				"value_preprocessor": nil, "separate_critics": separate, "task_reward_scale": 0.5,
				"style_reward_scale": 1.5})
			w := agenttest.NewWorld(plain, agenttest.Seeds(1, n)...)
			l := a.learner
			critics := map[string]*onpolicy.Critic{"values": l.Estimator}
			if separate {
				critics["style_values"] = l.styleEstimator
			}
			values, next := map[string][n][]float64{}, map[string][n][]float64{}
			var terminated, cut [n][]bool
			var task [n][]float64
			for !a.Ready() {
				in := append([]float32(nil), w.Now().Observations...)
				must(t, agenttest.Step(a, w))
				tr := w.Last
				following := append([]float32(nil), tr.NextObservations...)
				reset := len(task[0]) == 7 // a reset truncates the step before it, for each critic
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
					terminated[i], cut[i] = append(terminated[i], tr.Terminated[i]), append(cut[i], reset ||
						tr.Terminated[i] || tr.Truncated[i])
					task[i] = append(task[i], float64(tr.Rewards[i]))
				}
				for field, critic := range critics {
					s := tensor.NoGrad().On(a.learner.Device)
					now, then := tensortest.Float32s(t, s, l.ValuesOf(s, critic, tensor.From(s, in, n, 4), tensor.Tensor{})),
						tensortest.Float32s(t, s, l.ValuesOf(s, critic, tensor.From(s, following, n, 4), tensor.Tensor{}))
					s.Close()
					v, x := values[field], next[field]
					for i := range n {
						v[i], x[i] = append(v[i], float64(now[i])), append(x[i], float64(then[i]))
					}
					values[field], next[field] = v, x
				}
			}
			must(t, a.Update(context.Background()))
			s := noGrad(t, a.learner.Device)
			style := tensortest.Float32s(t, s, a.learner.Rollout.Tensor("style_rewards"))
			returns, advantages := tensortest.Float32s(t, s, a.learner.Rollout.Tensor("returns")),
				tensortest.Float32s(t, s, a.learner.Rollout.Tensor("advantages"))
			var styleReturns []float32
			if separate {
				styleReturns = tensortest.Float32s(t, s, a.learner.Rollout.Tensor("style_returns"))
			}
			sums := make([]float64, n*steps) // of the advantages, as they lie in the rollout
			for i := range n {
				of := make([]float64, steps)
				both := make([]float64, steps)
				for k := range of {
					of[k] = float64(style[k*n+i])
					both[k] = 0.5*task[i][k] + 1.5*of[k]
				}
				first := both
				if separate {
					first = task[i]
				}
				a1 := gae(first, values["values"][i], next["values"][i], terminated[i], cut[i], gamma, lambda)
				var a2 []float64
				if separate {
					a2 = gae(of, values["style_values"][i], next["style_values"][i], terminated[i], cut[i], gamma,
						lambda)
				}
				for k := range a1 {
					near(t, "return", float64(returns[k*n+i]), a1[k]+values["values"][i][k], 2e-5)
					sums[k*n+i] = a1[k]
					if separate {
						near(t, "style return", float64(styleReturns[k*n+i]), a2[k]+values["style_values"][i][k], 2e-5)
						sums[k*n+i] = 0.5*a1[k] + 1.5*a2[k]
					}
				}
			}
			mean, square := 0.0, 0.0
			for _, x := range sums {
				mean += x / (n * steps)
			}
			for _, x := range sums {
				square += (x - mean) * (x - mean)
			}
			for k, x := range sums {
				near(t, "advantage", float64(advantages[k]), (x-mean)/math.Sqrt(square/(n*steps-1)), 5e-5)
			}
		})
	}
}
