package ppo

import (
	"maps"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
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

// What every agent must hold, for continuous actions, with privileged states, and for choices.
func TestSuite(t *testing.T) {
	for name, sp := range map[string]spaces.Set{
		"box":            plain,
		"states":         {Observation: spaces.Unbounded(3), State: spaces.Unbounded(5), Action: spaces.NewBox(-2, 2, 1)},
		"multi-discrete": {Observation: spaces.Unbounded(4), Action: spaces.NewMultiDiscrete(3, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			agenttest.Suite{
				Spaces: sp,
				New: func(t testing.TB, seed int64, settings map[string]any) agenttest.Agent {
					t.Helper()
					return newAgent(t, sp, seed, settings)
				},
			}.Run(t)
		})
	}
}
