package trainers_test

import (
	"testing"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
)

// directedWalker is a walker whose policy is told encodings of reference motion.
func directedWalker(t testing.TB) (*wrappers.Skills, *amp.Agent) {
	t.Helper()
	walker := newWalker(t)
	skills := value(wrappers.NewSkills(walker, wrappers.SkillsOptions{Size: 4, MinSteps: 2, MaxSteps: 6}))(t)
	sp, hidden := skills.Spaces(), []int{8}
	agent := value(amp.New(amp.Options{Spaces: sp, Motions: walker, Seed: 5,
		Models: amp.WithConditionalDiscriminator(amp.WithSeparateEncoder(amp.MLPs(sp, hidden, "tanh"), sp, 4, hidden,
			"tanh"), sp, 4, hidden, "tanh"),
		Dict: map[string]any{"latent_mode": "calm", "latent_size": 4, "rollouts": 8, "learning_epochs": 2,
			"mini_batches":                 2,
			"amp_observation_preprocessor": "RunningStandardScaler", "amp_batch_size": 16, "motion_dataset_size": 40,
			"reply_buffer_size": 60, "learning_rate": 1e-3, "mismatched_negatives": true,
			"termination_style_reward": 0.3}}))(t)
	skills.SetSource(agent.Latents)
	return skills, agent
}

// directed is a scene whose walker is told latents by the agent's encoder.
var directed = scene{"directed walker", func(t testing.TB) (envs.Env, agenttest.Agent) { return directedWalker(t) }}
