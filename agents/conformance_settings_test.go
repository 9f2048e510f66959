package agents_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
)

// hyperparameters: all change, or on error none.
func (x suite) hyperparameters(t *testing.T) {
	a := x.make(t, 1, nil)
	before := a.Hyperparameters()
	want := map[string]float64{"learning_rate": 3e-3, "discount_factor": 0.9, "entropy_loss_scale": 0.01}
	for name, bad := range map[string]map[string]float64{
		"unknown":   {"learning_rate": 1e-3, "learning_rat": 1},
		"zero rate": {"discount_factor": 0.9, "learning_rate": 0},
		"NaN":       {"discount_factor": 0.9, "gae_lambda": math.NaN()},
		"above one": {"learning_rate": 1e-3, "discount_factor": 1.5},
	} {
		check.Not(t, a.SetHyperparameters(bad) == nil, "%s: accepted", name)
		check.Equal(t, name, before, a.Hyperparameters())
	}
	must(t, a.SetHyperparameters(want))
	got := a.Hyperparameters()
	for key, v := range want {
		check.Is(t, got[key], v, "%s", key)
	}
	// They take effect: an agent made with them learns the same.
	b := x.make(t, 1, map[string]any{"learning_rate": 3e-3, "discount_factor": 0.9, "entropy_loss_scale": 0.01})
	agenttest.Learn(t, a, x.world(4), 2)
	agenttest.Learn(t, b, x.world(4), 2)
	agenttest.Same(t, a, b)
}

// shaping: the environment's rewards are not changed, and the shaper sees every step. What is not finite after it is
// refused.
func (x suite) shaping(t *testing.T) {
	var steps []int
	factor := float32(1)
	a := x.make(t, 1, map[string]any{"rewards_shaper_scale": 0.5, "rewards_shaper": func(rewards []float32,
		timestep int) {
		steps = append(steps, timestep)
		for i := range rewards {
			rewards[i] = (rewards[i] + 10) * factor
		}
	}})
	w := x.world(2)
	var want []float32
	for range 5 {
		actions := check.Get(a.Act(w.Now()))(t)
		tr := w.Step(actions)
		given := slices.Clone(tr.Rewards)
		must(t, a.Record(tr))
		check.Same(t, tr.Rewards, given, "the environment's rewards")
		for _, r := range given {
			want = append(want, (r+10)*0.5)
		}
	}
	check.Same(t, steps, []int{0, 1, 2, 3, 4}, "timesteps of the shaper")
	got := check.Get(agenttest.Snapshot(t, a).Arrays["rollout/rewards"].Float32s())(t)
	check.Same(t, got[:len(want)], want, "rewards")
	act(t, a, w.Now())
	tr := w.Step(make([]float32, rows*x.spaces.Action.Width()))
	factor = float32(math.Inf(1))
	check.RefuseAs(t, "an infinite reward after shaping", a.Record(tr),
		"at timestep 5: the reward of environment 0 is +Inf after rewards_shaper")
	factor = 1
	must(t, a.Record(tr))
}

// firstSteps: random_timesteps acts at random, with probabilities that are the policy's own; learning_starts puts the
// first update off.
func (x suite) firstSteps(t *testing.T) {
	settings := map[string]any{"random_timesteps": 4, "rollouts": 8, "learning_starts": 16}
	a := x.make(t, 1, settings)
	w := x.world(2)
	for step := range 24 {
		check.Is(t, a.Ready(), false, "ready to learn after %d steps", step)
		must(t, agenttest.Step(a, w))
		if step == 5 {
			logProb := check.Get(agenttest.Snapshot(t, a).Arrays["rollout/log_prob"].Float32s())(t)
			for i, p := range logProb[:18] {
				check.Not(t, p == 0 || math.IsNaN(float64(p)), "log-probability %d is %v", i, p)
			}
		}
	}
	must(t, a.Update(context.Background()))
	// The first four actions do not depend on the policy, the fifth does.
	first := func(seed int64, steps int) []float32 {
		b := x.make(t, 5, settings)
		snap := agenttest.Snapshot(t, b)
		last := "policy/net.2.bias"
		// Of evolvable and shared networks.
		for _, name := range []string{"policy/head.out.bias", "policy/head.net.0.bias"} {
			if _, ok := snap.Arrays[name]; ok {
				last = name
			}
		}
		p := check.Get(snap.Arrays[last].Float32s())(t)
		for i := range p {
			p[i] += float32(seed) * 20 * float32(i%3+1)
		}
		layout.DropRollout(snap) // with what an agent with overlap acts in it
		must(t, b.Restore(snap))
		v := x.world(2)
		must(t, agenttest.Advance(b, v, steps-1))
		return act(t, b, v.Now())
	}
	check.Same(t, first(0, 4), first(1, 4), "random actions, of two policies")
	check.Not(t, slices.Equal(first(0, 5), first(1, 5)), "actions after the random ones are those of another policy")
}
