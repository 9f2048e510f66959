package amp

import (
	"maps"
	"math"
	"os"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
)

var plain = spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewBox(-2, 2, 2),
	AMPObservation: spaces.Unbounded(3)}

// small are settings of quick updates.
func small(settings map[string]any) map[string]any {
	out := map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 3, "learning_rate": 1e-3,
		"observation_preprocessor": "RunningStandardScaler",
		"value_preprocessor":       "RunningStandardScaler", "amp_observation_preprocessor": "RunningStandardScaler",
		"task_reward_scale": 0.5,
		"amp_batch_size":    20, "motion_dataset_size": 50, "reply_buffer_size": 60}
	maps.Copy(out, settings)
	return out
}

// newAgent makes an agent of small networks and quick updates.
func newAgent(t testing.TB, sp spaces.Set, seed int64, settings map[string]any) *Agent {
	t.Helper()
	return open(t, Options{Spaces: sp, Models: MLPs(sp, []int{8}, "tanh"),
		Motions: &agenttest.Motion{Width: sp.AMPObservation.Width(), Mean: 0.7}, Dict: small(settings), Seed: seed})
}

// open makes an agent and closes it with the test.
func open(t testing.TB, o Options) *Agent {
	t.Helper()
	a := check.Get(New(o))(t)
	agenttest.Close(t, a)
	return a
}

var must, noGrad, withGrad = check.Do, tensortest.NoGrad, tensortest.WithGrad

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if d := math.Abs(got - want); !(d <= tolerance*(1+math.Abs(want))) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// TestMain fails if a test leaves tensors alive.
func TestMain(m *testing.M) { os.Exit(tensortest.Run(m)) }
