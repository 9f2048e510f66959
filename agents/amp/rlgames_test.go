package amp

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
)

// AMP shares what PPO has for rl_games' recipes: the loss for means out of bounds is that of the formula, and the
// learning rate is stepped as often as the schedule says.
func TestRLGames(t *testing.T) {
	const scale, limit, rate, epochs, parts = 0.3, 0.02, 1e-3, 2, 3
	for step, times := range map[string]float64{"minibatch": epochs * parts, "epoch": epochs, "update": 1} {
		t.Run(step, func(t *testing.T) {
			agenttest.CheckLive(t)
			// A threshold that no divergence comes near raises the rate by half at every step of the schedule; the
			// rate itself is too small to change the means within the update.
			a := newAgent(t, plain, 1, map[string]any{"bounds_loss_scale": scale, "bounds_loss_limit": limit,
				"learning_rate":   rate * 1e-9,
				"learning_epochs": epochs, "mini_batches": parts, "mini_batch_order": "environments",
				"learning_rate_scheduler": "KLAdaptiveLR",
				"learning_rate_scheduler_kwargs": map[string]any{"kl_threshold": 1e3, "max_lr": 1, "min_lr": 1e-20,
					"step": step, "divergence": "gaussian"}})
			agenttest.Fill(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...))
			means, err := agenttest.Snapshot(t, a).Arrays["rollout/mean"].Float32s()
			must(t, err)
			want, beyond := 0.0, 0
			for _, m := range means {
				over, under := math.Max(float64(m)-limit, 0), math.Min(float64(m)+limit, 0)
				want += scale * (over*over + under*under) / (8 * 3)
				if over > 0 || under < 0 {
					beyond++
				}
			}
			if beyond == 0 || beyond == len(means) {
				t.Fatalf("%d of %d means are out of bounds", beyond, len(means))
			}
			must(t, a.Update(t.Context()))
			got := map[string]float64{}
			a.Tracked(func(tag string, v float64) { got[tag] = v })
			if math.Abs(got["Loss / Bounds loss"]-want) > 1e-5*want {
				t.Errorf("the loss is %g, want %g", got["Loss / Bounds loss"], want)
			}
			if r, want := got["Learning / Learning rate"], rate*1e-9*math.Pow(1.5,
				times); math.Abs(r-want) > 1e-9*want {
				t.Errorf("the rate is %g, want %g", r, want)
			}
		})
	}
}
