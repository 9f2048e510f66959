package ppo

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

const envs = 3

// remembering are PPO's networks with memory: of their own, and on one trunk.
var remembering = map[string]Models{
	"both":   Recurrent(plain, models.GRU(5, 2), []int{8}, "tanh"),
	"shared": {Make: sharedRNN},
}

func sharedRNN(seed int64) (models.Policy, models.Network, error) {
	net := func(in, out int, memory models.RecurrentLayer) *models.Net {
		m, err := models.NewMLP(models.MLPConfig{Inputs: in, Outputs: out, Recurrent: memory}, seed)
		if err != nil {
			panic(err)
		}
		return m
	}
	dist, err := models.NewDistribution(plain.Action, models.DefaultGaussianConfig())
	if err != nil {
		return nil, nil, err
	}
	none := models.RecurrentLayer{}
	m, err := models.NewShared(net(4, 6, models.RNN(5)), net(6, 2, none), net(6, 1, none), dist)
	if err != nil {
		return nil, nil, err
	}
	return m.Policy(), m.Value(), nil
}

// newRecurrent makes an agent in three environments, with rollouts of 8 steps in sequences of 4.
func newRecurrent(t testing.TB, m Models, settings map[string]any) *Agent {
	t.Helper()
	all := small(map[string]any{"sequence_length": 4, "mini_batches": 4})
	maps.Copy(all, settings)
	return open(t, Options{Spaces: plain, NumEnvs: envs, Models: m, Dict: all, Seed: 3})
}

// unrolled returns, before any step of an update, the log-probabilities of a minibatch's actions under the unrolled
// policy, and the values that the unrolled value network predicts in units of reward.
func (a *Agent) unrolled(t *testing.T, s *tensor.Scope, policy, value models.Inputs, actions tensor.Tensor) (logProb,
	values []float32) {
	t.Helper()
	e, v := models.EvaluateBoth(s, a.learner.Policy, a.learner.Value, policy, value, actions)
	return tensortest.Float32s(t, s, e.LogProb), tensortest.Float32s(t, s, a.learner.VScaler.Inverse(s, v))
}

func farthest(a, b []float32) float64 {
	d := 0.0
	for i := range a {
		d = max(d, math.Abs(float64(a[i]-b[i])))
	}
	return d
}

// TestSequences: the sequences of an epoch cover all rows once, and what the networks compute of them from the stored
// states is what they computed while acting, through ends of episodes and a reset: the ratio of the first minibatch
// is 1.
func TestSequences(t *testing.T) {
	for name, m := range remembering {
		t.Run(name, func(t *testing.T) {
			a := newRecurrent(t, m, nil)
			w := agenttest.NewWorld(plain, agenttest.Seeds(2, envs)...)
			agenttest.Learn(t, a, w, 2)
			must(t, agenttest.Advance(a, w, 6))
			a.ResetHidden()
			agenttest.Fill(t, a, w)
			check.Not(t, w.Ended < 4, "too few episodes ended")
			fill := tensor.NoGrad().On(a.learner.Device)
			a.learner.FillValues(fill, a.learner.Estimator) // where they are not recorded step by step
			fill.Close()
			var orders []string
			for epoch := range 2 {
				s := tensor.NoGrad().On(a.learner.Device)
				var all []float32
				count, apart := 0, 0.0
				for b := range a.learner.Epoch(s, epoch) {
					recorded := tensortest.Float32s(t, s, b.LogProb)
					all = append(all, recorded...)
					policy, value := b.Of(layout.Policy), b.Of(layout.Value)
					logProb, values := a.unrolled(t, s, policy, value, b.Actions)
					check.Near(t, farthest(logProb, recorded), 0, 1e-5, "log-probabilities beside those of acting")
					check.Near(t, farthest(values, tensortest.Float32s(t, s, b.Values)), 0, 1e-4,
						"values beside those of acting")
					// The comparison notices where memories do not begin anew.
					policy.Hidden.Ended, value.Hidden.Ended = tensor.Tensor{}, tensor.Tensor{}
					other, otherValues := a.unrolled(t, s, policy, value, b.Actions)
					apart = max(apart, farthest(other, recorded), farthest(otherValues, values))
					count++
				}
				want := tensortest.Float32s(t, s, a.learner.Rollout.Tensor("log_prob"))
				orders = append(orders, fmt.Sprint(all))
				slices.Sort(all)
				slices.Sort(want)
				check.Is(t, count, 4, "number of minibatches")
				check.Same(t, all, want, "log-probabilities of all rows")
				check.Not(t, apart < 1e-4, "without resets the values are %g apart", apart)
				s.Close()
			}
			check.Not(t, orders[0] == orders[1], "two epochs have the same order")
		})
	}
}

// TestFinalValuesRemember: the value of a truncated episode's last observation, and of what follows the rollout, are
// those of a network that has seen the whole episode, and asking for them leaves the memory as it was.
func TestFinalValuesRemember(t *testing.T) {
	for _, name := range []string{"both", "shared"} {
		t.Run(name, func(t *testing.T) {
			a := newRecurrent(t, remembering[name], map[string]any{"rollouts": 16, "observation_preprocessor": nil})
			w := agenttest.NewWorld(plain, agenttest.Seeds(4, envs)...)
			s := noGrad(t, a.learner.Device)
			byHand := func(episode []float32) float32 {
				n := len(episode) / 4
				in := models.Inputs{Observations: tensor.From(s, episode, int64(n), 4),
					Hidden: models.Hidden{Length: n}}
				v := tensortest.Float32s(t, s, a.learner.VScaler.Inverse(s, a.learner.Value.Forward(s, in)))
				return v[n-1]
			}
			var episodes [envs][]float32
			truncated := 0
			for step := 0; !a.Ready(); step++ {
				for i := range envs {
					episodes[i] = append(episodes[i], w.Now().Observations[4*i:4*i+4]...)
				}
				must(t, agenttest.Step(a, w))
				final := tensortest.Float32s(t, s, a.learner.Rollout.At("final_values", step))
				for i := range envs {
					if w.Last.Truncated[i] && !w.Last.Terminated[i] {
						near(t, "final value", final[i], float64(byHand(append(episodes[i],
							w.Last.FinalObservations[4*i:4*i+4]...))))
						truncated++
					}
					if w.Last.Truncated[i] || w.Last.Terminated[i] {
						episodes[i] = nil
					}
				}
			}
			before := agenttest.Snapshot(t, a)
			next := tensortest.Float32s(t, s, a.learner.ValuesOf(s, a.learner.Estimator,
				tensor.From(s, w.Now().Observations, envs, 4), tensor.Tensor{}))
			for i := range envs {
				near(t, "value of what follows", next[i], float64(byHand(append(episodes[i],
					w.Now().Observations[4*i:4*i+4]...))))
			}
			check.Same(t, agenttest.Differences(before, agenttest.Snapshot(t, a)), nil, "changed by asking for values")
			check.Not(t, truncated == 0, "no episode was truncated")
		})
	}
}

// TestEvaluationRemembers: evaluation begins without memory, and each Act goes on with it. Record resets the memory of
// the environments whose episodes have ended.
func TestEvaluationRemembers(t *testing.T) {
	a := newRecurrent(t, remembering["both"], map[string]any{"observation_preprocessor": nil})
	w := agenttest.NewWorld(plain, agenttest.Seeds(4, envs)...)
	must(t, agenttest.Advance(a, w, 5))
	act := func() []float32 { return slices.Clone(check.Get(a.Act(w.Now()))(t)) }
	a.SetTraining(false)
	first, second := act(), act()
	forgotten := func(after string, actions []float32, want ...bool) { // of each environment
		t.Helper()
		for i, reset := range want {
			equal := slices.Equal(actions[2*i:2*i+2], first[2*i:2*i+2])
			check.Is(t, equal, reset, "%s environment %d has no memory", after, i)
		}
	}
	forgotten("after a step", second, false, false, false)
	transition := w.Clone().Step(second)
	transition.Terminated, transition.Truncated = []bool{false, true, false}, []bool{false, false, true}
	must(t, a.Record(transition))
	forgotten("after ends of episodes", act(), false, true, true)
	a.ResetHidden(1)
	forgotten("after a reset of one", act(), false, true, false)
	a.ResetHidden()
	forgotten("after a reset", act(), true, true, true)
}

// A checkpoint of networks with memory, or of another architecture, is refused with what both agents have, and nothing
// changes.
func TestCheckpointsOfOtherNetworks(t *testing.T) {
	architecture := func(hidden ...int) description.Architecture {
		return check.Get(description.NewArchitecture(plain.Observation, nil, 0, hidden, "tanh"))(t)
	}
	evolvable := func(a description.Architecture) *Agent {
		return newRecurrent(t, Evolvable(plain, a, architecture(8), models.DefaultGaussianConfig()), nil)
	}
	recurrent := newRecurrent(t, remembering["both"], nil)
	perceptron := newRecurrent(t, MLPs(plain, []int{8}, "tanh"), nil)
	narrow, wide := evolvable(architecture(8)), evolvable(architecture(12, 8))
	for want, pair := range map[string][2]*Agent{
		`the array "policy/gru.bias_hh_l0", which this agent has not; make the agent`: {perceptron, recurrent},
		`no array "policy/gru.weight_ih_l0", which this agent has; make the agent`:    {recurrent, perceptron},
		"network is 4→[12 8] tanh, this agent's 4→[8] tanh; make the agent from the checkpoint's architecture": {
			narrow, wide},
		"the checkpoint's policy network is 4→[12 8] tanh, this agent's has no architecture": {perceptron, wide},
	} {
		before := agenttest.Snapshot(t, pair[0])
		err := pair[0].Restore(agenttest.Through(t, agenttest.Snapshot(t, pair[1])))
		check.RefuseAs(t, want, err, want)
		check.Same(t, agenttest.Differences(before, agenttest.Snapshot(t, pair[0])), nil, "changed by the refused one")
	}
	snap := agenttest.Snapshot(t, wide)
	delete(snap.Values, "architectures") // of a version that did not record them
	must(t, wide.Restore(snap))
}
