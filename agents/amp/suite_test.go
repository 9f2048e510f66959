package amp

import (
	"maps"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/spaces"
)

var plain = spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewBox(-2, 2, 2), AMPObservation: spaces.Unbounded(3)}

// small are settings of quick updates.
func small(settings map[string]any) map[string]any {
	out := map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 3, "learning_rate": 1e-3, "observation_preprocessor": "RunningStandardScaler",
		"value_preprocessor": "RunningStandardScaler", "amp_observation_preprocessor": "RunningStandardScaler", "task_reward_scale": 0.5,
		"amp_batch_size": 20, "motion_dataset_size": 50, "reply_buffer_size": 60}
	maps.Copy(out, settings)
	return out
}

func newAgent(t testing.TB, sp spaces.Set, seed int64, settings map[string]any) *Agent {
	t.Helper()
	a, err := New(Options{Spaces: sp, Models: MLPs(sp, []int{8}, "tanh"), Motions: &agenttest.Motion{Width: sp.AMPObservation.Width(), Mean: 0.7}, Dict: small(settings), Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What every agent must hold, for every kind of discriminator.
func TestSuite(t *testing.T) {
	states := spaces.Set{Observation: spaces.Unbounded(3), State: spaces.Unbounded(5), Action: spaces.NewDiscrete(3), AMPObservation: spaces.Unbounded(2)}
	for name, test := range map[string]struct {
		sp       spaces.Set
		settings map[string]any
	}{
		"bce":    {plain, nil},
		"lsgan":  {states, map[string]any{"discriminator_loss": "lsgan", "discriminator_optimizer": "separate", "discriminator_gradient_penalty_samples": "both"}},
		"critic": {plain, map[string]any{"discriminator_loss": "wasserstein", "separate_critics": true, "discriminator_gradient_penalty_samples": "interpolated", "replay_admission_probability": 0.3}},
	} {
		t.Run(name, func(t *testing.T) {
			agenttest.Suite{
				Spaces: test.sp,
				New: func(t testing.TB, seed int64, settings map[string]any) agenttest.Agent {
					t.Helper()
					all := maps.Clone(test.settings)
					if settings["compatibility"] != nil || all == nil { // which has none of them
						all = map[string]any{}
					}
					maps.Copy(all, settings)
					return newAgent(t, test.sp, seed, all)
				},
			}.Run(t)
		})
	}
}
