package ppo

import (
	"context"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

func near(t *testing.T, what string, got float32, want float64) {
	t.Helper()
	if d := math.Abs(float64(got) - want); !(d <= 2e-5*(1+math.Abs(want))) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// An update passes over the rollout learning_epochs × mini_batches times, or stops where the policy has moved too far.
func TestKLThreshold(t *testing.T) {
	steps := func(settings map[string]any) int64 {
		a := newAgent(t, plain, 1, settings)
		agenttest.Learn(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...), 1)
		return a.learner.Optimizer.Steps
	}
	settings := map[string]any{"learning_epochs": 5, "mini_batches": 3, "learning_rate": 0.05}
	check.Is(t, steps(settings), 15, "optimizer steps")
	settings["kl_threshold"] = 1e-3
	check.Is(t, steps(settings), 1, "optimizer steps before the policy has moved too far")
}

// One learning rate and one clip a network are applied to each. A schedule changes all rates, or the policy's alone.
func TestRatesPerNetwork(t *testing.T) {
	check := func(a *Agent, rates, clips [2]float64) {
		t.Helper()
		for i, g := range a.learner.Optimizer.Groups {
			near(t, "learning rate of "+g.Name, float32(g.LearningRate/rates[i]), 1)
			near(t, "clip of "+g.Name, float32(a.learner.Optimizer.Clips[i].MaxNorm), clips[i])
		}
	}
	for networks, rates := range map[string][2]float64{"all": {1e-3, 1e-2}, "policy": {1e-3, 2e-2}} {
		a := newAgent(t, plain, 1, map[string]any{"learning_rate": []any{1e-3, 1e-2}, "grad_norm_clip": []any{0.5, 2.0},
			"learning_rate_scheduler": "LinearLR", "learning_rate_scheduler_networks": networks,
			"learning_rate_scheduler_kwargs": map[string]any{"start_factor": 1, "end_factor": 0, "total_iters": 2}})
		check(a, [2]float64{1e-3, 1e-2}, [2]float64{0.5, 2})
		must(t, a.SetHyperparameters(map[string]float64{"learning_rate": 2e-3, "grad_norm_clip": 0.25}))
		check(a, [2]float64{2e-3, 2e-2}, [2]float64{0.25, 1})
		agenttest.Learn(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...), 1)
		check(a, rates, [2]float64{0.25, 1})
	}
}

// With overlap the surrogate's ratio is against the policy that acted, in a band around where the update begins: in the
// first minibatch the loss is −E[w·A], where w is that ratio for the policy that the update begins with. The divergence
// is that from the policy that the update begins with, and 0 in the first minibatch.
func TestOverlapSurrogate(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 2)}
	agent := open(t, Options{Spaces: sp, NumEnvs: 4, Models: MLPs(sp, []int{8}, "tanh"), Seed: 1, Dict: map[string]any{
		"rollouts": 16, "learning_epochs": 1, "mini_batches": 1, "learning_rate": 0.05, "grad_norm_clip": 0,
		"overlap":                  true,
		"observation_preprocessor": "RunningStandardScaler"}})
	w := agenttest.NewWorld(sp, agenttest.Seeds(3, 4)...)
	for round := range 4 {
		agenttest.Fill(t, agent, w)
		acted := check.Get(agenttest.Snapshot(t, agent).Arrays["rollout/log_prob"].Float32s())(t)
		must(t, agent.Update(context.Background()))
		agent.Tracked(func(string, float64) {})
		must(t, agent.Wait(context.Background()))
		read := func(field string) []float32 {
			return check.Get(tensor.Float32s(agent.learner.Rollout.Tensor(field)))(t)
		}
		before, advantages := read("log_prob_before"), read("advantages")
		want, moved := 0.0, 0.0
		for i, a := range advantages {
			w := math.Exp(float64(before[i]) - float64(acted[i]))
			want -= w * float64(a) / float64(len(advantages))
			moved = max(moved, math.Abs(w-1))
		}
		if round == 0 && moved > 1e-5 || round > 0 && moved < 0.05 {
			t.Errorf("update %d: the ratio to the policy that acted is up to %g beside 1", round, moved)
		}
		agent.Tracked(func(tag string, got float64) {
			if tag == "Loss / Policy loss" && math.Abs(got-want) > 1e-5 {
				t.Errorf("update %d: the policy loss is %g, want %g", round, got, want)
			}
			if tag == "Policy / KL divergence" && math.Abs(got) > 1e-5 {
				t.Errorf("update %d: the divergence from the policy that the update begins with is %g", round, got)
			}
		})
	}
}

// With momentum μ the second of two steps down nearly the same gradient is 1 + μ times as long as the first.
func TestSGDMomentum(t *testing.T) {
	moved := func(momentum float64) float64 {
		a := newAgent(t, plain, 1, map[string]any{"optimizer": "sgd", "sgd_momentum": momentum, "learning_rate": 1e-4,
			"learning_epochs": 2,
			"mini_batches":    1, "grad_norm_clip": 0})
		before := agenttest.Parameters(t, a)["value/net.2.weight"]
		agenttest.Learn(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...), 1)
		sum := 0.0
		for i, x := range agenttest.Parameters(t, a)["value/net.2.weight"] {
			sum += math.Abs(float64(x - before[i]))
		}
		return sum
	}
	if got := moved(0.9) / moved(0); math.Abs(got-1.45) > 0.02 {
		t.Errorf("with momentum 0.9 two steps are %.3f times as long as without, want 2.9 / 2", got)
	}
}
