package populations

import (
	"maps"
	"testing"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
)

func smallPPO(t testing.TB, sp spaces.Set, seed int64, settings map[string]any) *ppo.Agent {
	t.Helper()
	all := map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 2,
		"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler"}
	maps.Copy(all, settings)
	return must.Get(ppo.New(ppo.Options{Spaces: sp, Models: ppo.MLPs(sp, []int{8}, "tanh"), Dict: all, Seed: seed}))(t)
}

// rememberingPPO is smallPPO with recurrent layers in policy and value network.
func rememberingPPO(t testing.TB, sp spaces.Set, seed int64) *ppo.Agent {
	t.Helper()
	return must.Get(ppo.New(ppo.Options{Spaces: sp, Models: ppo.Recurrent(sp, models.GRU(5), []int{8}, "tanh"),
		Seed: seed, Dict: map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 2, "sequence_length": 4,
			"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler"}}))(t)
}

func smallAMP(t testing.TB, seed int64, settings map[string]any) *amp.Agent {
	t.Helper()
	all := map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 2,
		"amp_observation_preprocessor": "RunningStandardScaler", "task_reward_scale": 0.5,
		"amp_batch_size": 16, "motion_dataset_size": 40, "reply_buffer_size": 60, "learning_rate": 1e-3,
		"discriminator_optimizer": "separate"}
	maps.Copy(all, settings)
	return must.Get(amp.New(amp.Options{Spaces: styled, Models: amp.MLPs(styled, []int{8}, "tanh"),
		Motions: &agenttest.Motion{Width: 3, Mean: 0.7}, Dict: all, Seed: seed}))(t)
}
