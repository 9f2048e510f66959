package ppo

import (
	"maps"
	"os"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
)

var plain = spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewBox(-2, 2, 2)}

// small are settings of quick updates.
func small(settings map[string]any) map[string]any {
	out := map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 3,
		"observation_preprocessor": "RunningStandardScaler",
		"value_preprocessor":       "RunningStandardScaler"}
	maps.Copy(out, settings)
	return out
}

// newAgent makes an agent of small networks and quick updates.
func newAgent(t testing.TB, sp spaces.Set, seed int64, settings map[string]any) *Agent {
	t.Helper()
	return open(t, Options{Spaces: sp, Models: MLPs(sp, []int{8}, "tanh"), Dict: small(settings), Seed: seed})
}

// open makes an agent and closes it with the test.
func open(t testing.TB, o Options) *Agent {
	t.Helper()
	a := check.Get(New(o))(t)
	agenttest.Close(t, a)
	return a
}

var must, noGrad, withGrad = check.Do, tensortest.NoGrad, tensortest.WithGrad

// TestMain fails if a test leaves tensors alive.
func TestMain(m *testing.M) { os.Exit(tensortest.Run(m)) }
