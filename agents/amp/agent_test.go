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
