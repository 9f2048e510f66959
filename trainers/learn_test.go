//go:build learning

package trainers_test

import (
	"context"
	"testing"

	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/trainers"
)

// learn trains PPO over five seeds and returns the mean return of deterministic evaluation of each.
func learn(t *testing.T, make func(seed int64) (envs.Env, error), hidden []int, activation string, config map[string]any, timesteps int) float64 {
	t.Helper()
	const seeds = 5
	total := 0.0
	for seed := int64(1); seed <= seeds; seed++ {
		env, err := make(seed)
		if err != nil {
			t.Fatal(err)
		}
		agent, err := ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), hidden, activation), Dict: config, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		trainer := sequential(t, env, agent, trainers.Config{Timesteps: timesteps, Seed: seed})
		if err := trainer.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
		result, err := trainer.Evaluate(context.Background(), trainers.EvaluateOptions{Episodes: 100, Seed: 1000 + seed})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("seed %d: return %.1f over %d episodes (training: %.1f)", seed, result.Return, result.Episodes, trainer.Metrics()["episode.return"])
		total += result.Return
		if err := agent.Close(); err != nil {
			t.Fatal(err)
		}
		if err := env.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return total / seeds
}

func TestLearnCartPole(t *testing.T) {
	mean := learn(t, func(seed int64) (envs.Env, error) {
		return classic.NewCartPole(classic.Config{NumEnvs: 8, Seed: seed})
	}, []int{64, 64}, "tanh", map[string]any{
		"rollouts": 32, "learning_epochs": 10, "mini_batches": 2, "discount_factor": 0.98, "gae_lambda": 0.8, "value_loss_scale": 0.5, "value_clip": 0,
		"learning_rate": 1e-3, "learning_rate_scheduler": "LinearLR", "learning_rate_scheduler_kwargs": map[string]any{"start_factor": 1.0, "end_factor": 0.01, "total_iters": 390},
	}, 12_500)
	t.Logf("mean return over 5 seeds: %.1f", mean)
	if mean < 475 {
		t.Errorf("CartPole: mean return %.1f over 5 seeds, want ≥ 475", mean)
	}
}

func TestLearnPendulum(t *testing.T) {
	mean := learn(t, func(seed int64) (envs.Env, error) {
		return classic.NewPendulum(classic.Config{NumEnvs: 16, Seed: seed})
	}, []int{64, 64}, "tanh", map[string]any{
		"rollouts": 128, "learning_epochs": 10, "mini_batches": 16, "discount_factor": 0.9, "value_loss_scale": 0.5, "value_clip": 0,
		"rewards_shaper_scale": 0.1, "observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
		"learning_rate": 1e-3, "learning_rate_scheduler": "LinearLR", "learning_rate_scheduler_kwargs": map[string]any{"start_factor": 1.0, "end_factor": 0.05, "total_iters": 125},
	}, 16_000)
	t.Logf("mean return over 5 seeds: %.1f", mean)
	if mean < -250 {
		t.Errorf("Pendulum: mean return %.1f over 5 seeds, want ≥ −250", mean)
	}
}
