package ppo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// turn is what one environment went through in a step.
type turn struct {
	idle, terminated, truncated bool
	reward                      float32
	observation, final, then    float32
}

// Advantages of random games with turns are the sums that their definition says, over the actions of each episode
// alone: A = Σ (γλ)^k·δ_k, one k an action. Rewards and ends of idle rows belong to the action before.
func TestAdvantagesFromTurnToTurn(t *testing.T) {
	const n, steps = 3, 12
	for _, c := range []struct {
		gamma, lambda float64
		memory        models.RecurrentLayer
	}{{0.9, 0.8, models.RecurrentLayer{}}, {1, 1, models.RecurrentLayer{}}, {0.9, 0.8, models.GRU(4)}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			for seed := range uint64(4) {
				rng := rand.New(rand.NewPCG(seed, 1))
				sp := spaces.Set{Observation: spaces.Unbounded(1), Action: spaces.NewDiscrete(2)}
				made := MLPs(sp, []int{4}, "tanh")
				if c.memory.HiddenSize > 0 {
					made = Recurrent(sp, c.memory, []int{4}, "tanh")
				}
				a := open(t, Options{Spaces: sp, NumEnvs: n, Models: made, Seed: int64(seed), Dict: map[string]any{
					"rollouts": steps, "discount_factor": c.gamma, "gae_lambda": c.lambda, "mini_batches": 1,
					"advantage_normalization": "none", "learning_epochs": 1}})
				game, next := playTurns(t, a, rng, n, steps)
				l := a.learner
				s := noGrad(t, l.Device)
				l.FillValues(s, l.Estimator)
				masks := l.NextValues(s, l.Estimator)
				read := func(x tensor.Tensor) []float32 { return tensortest.Float32s(t, s, x) }
				got := read(l.Advantages(s, l.Estimator, l.Rollout.Tensor("rewards"), masks))
				values, finals, follow := read(l.Rollout.Tensor("values")), read(l.Rollout.Tensor("final_values")),
					read(masks.Next)
				valid := l.Valid(s)
				learned := make([]int64, tensor.Size(valid, 0))
				check.Do(t, tensor.Read(valid, learned))
				for env := range n {
					want := sumOfTurns(game, next, env, n, c.gamma, c.lambda, values, finals,
						follow[(steps-1)*n+env])
					for step := range steps {
						row := step*n + env
						x, learn := want[step]
						check.Is(t, slices.Contains(learned, int64(row)), learn, "step %d of row %d is learned from",
							step, env)
						if learn {
							check.Near(t, float64(got[row]), x, 1e-5, "the advantage of step %d of row %d", step, env)
						}
					}
				}
				must(t, a.Update(t.Context()))
			}
		})
	}
}

// playTurns plays a rollout of random turns and returns it, with the marks of who is idle after it.
func playTurns(t *testing.T, a *Agent, rng *rand.Rand, n, steps int) (game [][]turn, next []bool) {
	t.Helper()
	game, next = make([][]turn, steps), make([]bool, n)
	for i := range next {
		next[i] = rng.IntN(2) == 0
	}
	observations := make([]float32, n)
	for step := range game {
		check.Get(a.Act(agents.Observation{Observations: observations}))(t)
		game[step] = make([]turn, n)
		tr := agents.Transition{Idle: slices.Clone(next), FinalObservations: make([]float32, n)}
		for i := range game[step] {
			x := turn{idle: next[i], reward: float32(rng.NormFloat64()), observation: observations[i],
				final: float32(rng.NormFloat64()), then: float32(rng.NormFloat64())}
			x.terminated, x.truncated = rng.IntN(6) == 0, rng.IntN(6) == 0
			game[step][i] = x
			tr.Rewards = append(tr.Rewards, x.reward)
			tr.Terminated, tr.Truncated = append(tr.Terminated, x.terminated), append(tr.Truncated, x.truncated)
			tr.FinalObservations[i] = x.final
			tr.NextObservations = append(tr.NextObservations, x.then)
			next[i] = rng.IntN(2) == 0
			observations[i] = x.then
		}
		tr.NextIdle = next
		check.Do(t, a.Record(tr))
	}
	return game, slices.Clone(next)
}

// sumOfTurns returns the advantage of every step of an environment that is learned from, by its definition. last is the
// value of what follows the rollout.
func sumOfTurns(game [][]turn, next []bool, env, n int, gamma, lambda float64, values, finals []float32,
	last float32) map[int]float64 {
	type action struct {
		step         int
		reward, then float64 // the value of what followed
		end          bool
	}
	var actions []action
	for step := 0; step < len(game); step++ {
		if game[step][env].idle {
			continue
		}
		a := action{step: step}
		at := step
		for {
			x := game[at][env]
			a.reward += float64(x.reward)
			if x.terminated || x.truncated {
				a.end = true
				if !x.terminated {
					a.then = float64(finals[at*n+env])
				}
				break
			}
			if at+1 == len(game) {
				if next[env] {
					a.step = -1 // its outcome is unknown
				}
				a.then = float64(last)
				break
			}
			if !game[at+1][env].idle {
				a.then = float64(values[(at+1)*n+env])
				break
			}
			at++
		}
		if a.step >= 0 {
			actions = append(actions, a)
		}
	}
	out := map[int]float64{}
	for i, a := range actions {
		weight := 1.0
		for _, b := range actions[i:] {
			out[a.step] += weight * (b.reward + gamma*b.then - float64(values[b.step*n+env]))
			if weight *= gamma * lambda; b.end {
				break
			}
		}
	}
	return out
}
