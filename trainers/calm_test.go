package trainers_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

// directedWalker is a walker whose policy is told encodings of reference motion.
func directedWalker(t testing.TB) (*wrappers.Skills, *amp.Agent) {
	t.Helper()
	walker := newWalker(t)
	skills := value(wrappers.NewSkills(walker, wrappers.SkillsOptions{Size: 4, MinSteps: 2, MaxSteps: 6}))(t)
	sp, hidden := skills.Spaces(), []int{8}
	agent := value(amp.New(amp.Options{Spaces: sp, Motions: walker, Seed: 5,
		Models: amp.WithConditionalDiscriminator(amp.WithSeparateEncoder(amp.MLPs(sp, hidden, "tanh"), sp, 4, hidden, "tanh"), sp, 4, hidden, "tanh"),
		Dict: map[string]any{"latent_mode": "calm", "latent_size": 4, "rollouts": 8, "learning_epochs": 2, "mini_batches": 2,
			"amp_observation_preprocessor": "RunningStandardScaler", "amp_batch_size": 16, "motion_dataset_size": 40,
			"reply_buffer_size": 60, "learning_rate": 1e-3, "mismatched_negatives": true, "termination_style_reward": 0.3}}))(t)
	skills.SetSource(agent.Latents)
	return skills, agent
}

// directed is a scene whose walker is told latents by the agent's encoder.
var directed = scene{"directed walker", func(t testing.TB) (envs.Env, agenttest.Agent) { return directedWalker(t) }}

// The walker is told the latents of its reference motion by the present encoder, which changes with every update, and all
// figures of CALM are tracked.
func TestDirectedWalker(t *testing.T) {
	checkLiveTensors(t)
	skills, agent := directedWalker(t)
	defer skills.Close()
	defer agent.Close()
	tr := sequential(t, skills, agent, trainers.Config{Timesteps: 40, Seed: 3})
	known := map[[4]float32]bool{} // the latents of all encoders so far
	drawn := map[[4]float32]bool{}
	for range 40 {
		table := value(agent.Latents())(t)
		for z := range slices.Chunk(table, 4) {
			known[[4]float32(z)] = true
		}
		value(tr.Step(t.Context()))(t)
		for z := range slices.Chunk(skills.Latents(), 4) {
			if drawn[[4]float32(z)] = true; !known[[4]float32(z)] {
				t.Fatalf("the walker is told %v, which is no motion's latent", z)
			}
		}
	}
	if len(known) < 100 || len(drawn) < 20 {
		t.Errorf("%d latents of 40 motions by 5 encoders, %d were told", len(known), len(drawn))
	}
	figures := tr.Metrics()
	for _, tag := range []string{"Loss / Encoder loss", "Loss / Discriminator loss", "Reward / Style reward (mean)",
		"Reward / Encoder reward (mean)", "Discriminator / Gradient penalty"} {
		if x, ok := figures[tag]; !ok || math.IsNaN(x) {
			t.Errorf("%q is %g", tag, x)
		}
	}
	if x := figures["Discriminator / Gradient penalty"]; x <= 0 {
		t.Errorf("the gradient penalty is %g", x)
	}
}
