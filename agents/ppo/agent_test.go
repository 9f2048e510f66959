package ppo

import (
	"maps"
	"testing"

	"github.com/gorl-dev/gorl/spaces"
)

var plain = spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewBox(-2, 2, 2)}

// small are settings of quick updates.
func small(settings map[string]any) map[string]any {
	out := map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 3, "observation_preprocessor": "RunningStandardScaler",
		"value_preprocessor": "RunningStandardScaler"}
	maps.Copy(out, settings)
	return out
}

func newAgent(t testing.TB, sp spaces.Set, seed int64, settings map[string]any) *Agent {
	t.Helper()
	a, err := New(Options{Spaces: sp, Models: MLPs(sp, []int{8}, "tanh"), Dict: small(settings), Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return a
}
