//go:build learning

package trainers_test

import (
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/trainers"
)

// broken counts the games of training that a disc into a full column lost.
type broken struct {
	trainers.BaseCallback
	games, lost int
}

// OnEpisode implements [trainers.Callback].
func (b *broken) OnEpisode(_ *trainers.Trainer, e envs.Episode) error {
	b.games++
	b.lost += int(e.Metrics["illegal"])
	return nil
}

// TestLearnConnectFour plays against an opponent that moves at random. With action masks policies learn to win and
// never break a rule. Without masks they lose games by discs into full columns until they have learned the rule.
func TestLearnConnectFour(t *testing.T) {
	for name, unmasked := range map[string]bool{"masks": false, "without masks": true} {
		t.Run(name, func(t *testing.T) {
			var count broken
			for i, r := range learn(t, 3, func(seed int64) (envs.Env, error) {
				return classic.NewConnectFour(classic.ConnectFourConfig{Unmasked: unmasked,
					Config: classic.Config{NumEnvs: 64, Seed: seed}})
			}, perceptrons(128, 128), map[string]any{
				"rollouts": 64, "learning_epochs": 4, "mini_batches": 8, "discount_factor": 0.99,
				"entropy_loss_scale": 0.01, "value_loss_scale": 0.5, "adam_epsilon": 1e-5, "learning_rate": 1e-3,
				"learning_rate_scheduler": "LinearLR",
				"learning_rate_scheduler_kwargs": map[string]any{"start_factor": 1.0, "end_factor": 0.05,
					"total_iters": 25},
			}, 1600, &count) {
				if s := r.Metrics["success"]; !unmasked && s < 0.9 {
					t.Errorf("seed %d: %.1f %% of games are won; want at least 90", i+1, 100*s)
				}
			}
			t.Logf("%d of %d games of training were lost by a disc into a full column", count.lost, count.games)
			if broke := count.lost*200 > count.games; broke != unmasked { // more than 0.5 %
				t.Errorf("%d of %d games broke the rules", count.lost, count.games)
			}
		})
	}
}
