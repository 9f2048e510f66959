package ppo

import (
	"context"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// With overlap the surrogate's ratio is against the policy that acted, in a band around where the update begins: in the
// first minibatch the loss is −E[w·A], where w is that ratio for the policy that the update begins with.
func TestOverlapSurrogate(t *testing.T) {
	agenttest.CheckLive(t)
	sp := spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 2)}
	agent := open(t, Options{Spaces: sp, NumEnvs: 4, Models: MLPs(sp, []int{8}, "tanh"), Seed: 1, Dict: map[string]any{
		"rollouts": 16, "learning_epochs": 1, "mini_batches": 1, "learning_rate": 0.05, "grad_norm_clip": 0,
		"overlap":                  true,
		"observation_preprocessor": "RunningStandardScaler"}})
	w := agenttest.NewWorld(sp, agenttest.Seeds(3, 4)...)
	for round := range 4 {
		agenttest.Fill(t, agent, w)
		acted, err := agenttest.Snapshot(t, agent).Arrays["rollout/log_prob"].Float32s()
		must(t, err)
		must(t, agent.Update(context.Background()))
		agent.Tracked(func(string, float64) {})
		must(t, agent.Wait(context.Background()))
		read := func(field string) []float32 {
			x, err := tensor.Float32s(agent.learner.Rollout.Tensor(field))
			must(t, err)
			return x
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
		})
	}
}
