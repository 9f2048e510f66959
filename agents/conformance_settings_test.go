package agents_test

import (
	"context"
	"fmt"
	"math"
	"strings"
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
	for key := range want {
		if _, ok := before[key]; !ok {
			t.Errorf("%q is no hyperparameter", key)
		}
	}
	for name, bad := range map[string]map[string]float64{
		"unknown":       {"learning_rate": 1e-3, "learning_rat": 1},
		"negative":      {"discount_factor": 0.9, "learning_rate": -1},
		"zero rate":     {"discount_factor": 0.9, "learning_rate": 0},
		"NaN":           {"discount_factor": 0.9, "gae_lambda": math.NaN()},
		"NaN rate":      {"learning_rate": math.NaN()},
		"infinite rate": {"learning_rate": math.Inf(1)},
		"above one":     {"learning_rate": 1e-3, "discount_factor": 1.5},
	} {
		if err := a.SetHyperparameters(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if got := a.Hyperparameters(); fmt.Sprint(got) != fmt.Sprint(before) {
			t.Errorf("%s: changed %v to %v", name, before, got)
		}
	}
	must(t, a.SetHyperparameters(want))
	got := a.Hyperparameters()
	for key, v := range want {
		if got[key] != v {
			t.Errorf("%q is %v, want %v", key, got[key], v)
		}
	}
	// They take effect: an agent made with them learns the same.
	b := x.make(t, 1, map[string]any{"learning_rate": 3e-3, "discount_factor": 0.9, "entropy_loss_scale": 0.01})
	agenttest.Learn(t, a, x.world(4), 2)
	agenttest.Learn(t, b, x.world(4), 2)
	agenttest.Same(t, a, b)
}

// scheduled: with a schedule, a new learning rate changes the schedule's in proportion.
func (x suite) scheduled(t *testing.T) {
	a := x.make(t, 1, map[string]any{"learning_rate": 1e-3, "learning_rate_scheduler": "ExponentialLR",
		"learning_rate_scheduler_kwargs": map[string]any{"gamma": 0.5}})
	w := x.world(4)
	rate := func() (rate float64) {
		t.Helper()
		rate = math.NaN()
		a.Tracked(func(tag string, v float64) {
			if tag == "Learning / Learning rate" {
				rate = v
			}
		})
		return rate
	}
	for _, want := range []float64{5e-4, 2.5e-4} {
		agenttest.Learn(t, a, w, 1)
		must(t, a.Wait(context.Background()))
		if got := rate(); math.Abs(got-want) > 1e-12 {
			t.Errorf("learning rate %g, want %g", got, want)
		}
	}
	must(t, a.SetHyperparameters(map[string]float64{"learning_rate": 4e-3}))
	agenttest.Learn(t, a, w, 1)
	must(t, a.Wait(context.Background()))
	if got := rate(); math.Abs(got-5e-4) > 1e-12 {
		t.Errorf("learning rate %g after the change, want %g", got, 5e-4)
	}
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
		given := append([]float32(nil), tr.Rewards...)
		must(t, a.Record(tr))
		if fmt.Sprint(given) != fmt.Sprint(tr.Rewards) {
			t.Fatalf("rewards %v became %v", given, tr.Rewards)
		}
		for _, r := range given {
			want = append(want, (r+10)*0.5)
		}
	}
	if fmt.Sprint(steps) != "[0 1 2 3 4]" {
		t.Errorf("the shaper was called at timesteps %v", steps)
	}
	got, err := agenttest.Snapshot(t, a).Arrays["rollout/rewards"].Float32s()
	if err != nil || fmt.Sprint(got[:len(want)]) != fmt.Sprint(want) {
		t.Errorf("rewards %v, want %v (%v)", got, want, err)
	}
	act(t, a, w.Now())
	tr := w.Step(make([]float32, rows*x.spaces.Action.Width()))
	factor = float32(math.Inf(1))
	if err := a.Record(tr); err == nil || !strings.Contains(err.Error(),
		"at timestep 5: the reward of environment 0 is +Inf after rewards_shaper") {
		t.Errorf("an infinite reward after shaping: %v", err)
	}
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
		if a.Ready() {
			t.Fatalf("ready to learn after %d steps", step)
		}
		must(t, agenttest.Step(a, w))
		if step == 5 {
			logProb := check.Get(agenttest.Snapshot(t, a).Arrays["rollout/log_prob"].Float32s())(t)
			for i, p := range logProb[:18] {
				if p == 0 || math.IsNaN(float64(p)) {
					t.Errorf("log-probability %d is %v", i, p)
				}
			}
		}
	}
	if !a.Ready() {
		t.Fatal("not ready after 24 steps")
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
		actions := check.Get(b.Act(v.Now()))(t)
		return append([]float32(nil), actions...)
	}
	if a, b := first(0, 4), first(1, 4); fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("random actions depend on the policy: %v, %v", a, b)
	}
	if a, b := first(0, 5), first(1, 5); fmt.Sprint(a) == fmt.Sprint(b) {
		t.Errorf("actions after the random ones do not depend on the policy: %v", a)
	}
}
