//go:build learning

package trainers_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

// learn trains PPO with seeds from 1 and returns the deterministic evaluation of each.
func learn(t *testing.T, seeds int64, make func(seed int64) (envs.Env, error), networks func(spaces.Set) ppo.Models,
	config map[string]any, timesteps int, callbacks ...trainers.Callback) []trainers.Evaluation {
	t.Helper()
	var results []trainers.Evaluation
	for seed := int64(1); seed <= seeds; seed++ {
		env := value(make(seed))(t)
		agent := value(ppo.New(ppo.Options{Spaces: env.Spaces(), Models: networks(env.Spaces()), Dict: config,
			Seed: seed}))(t)
		trainer := sequential(t, env, agent, trainers.Config{Timesteps: timesteps, Seed: seed,
			Callbacks: callbacks})
		must(t, trainer.Train(context.Background()))
		result := value(trainer.Evaluate(t.Context(), trainers.EvaluateOptions{Episodes: 100, Seed: 1000 + seed}))(t)
		t.Logf("seed %d: return %.1f over %d episodes (training: %.1f) %v", seed, result.Return, result.Episodes,
			trainer.Metrics()["episode.return"], result.Metrics)
		results = append(results, result)
		must(t, errors.Join(agent.Close(), env.Close()))
	}
	return results
}

// mean returns the mean return over seeds.
func mean(t *testing.T, results []trainers.Evaluation) (sum float64) {
	t.Helper()
	for _, r := range results {
		sum += r.Return / float64(len(results))
	}
	t.Logf("mean return over %d seeds: %.1f", len(results), sum)
	return sum
}

// perceptrons returns a constructor of perceptrons.
func perceptrons(hidden ...int) func(spaces.Set) ppo.Models {
	return func(sp spaces.Set) ppo.Models { return ppo.MLPs(sp, hidden, "tanh") }
}

// learnBothWays is learn without and with overlap, which comes to within 5 % of what the same steps come to without it.
// worst is the return of an agent that has learned nothing, from which that is measured.
func learnBothWays(t *testing.T, make func(seed int64) (envs.Env, error), config map[string]any, timesteps int,
	worst float64) float64 {
	var means []float64
	for _, overlap := range []bool{false, true} {
		config["overlap"] = overlap
		t.Logf("overlap: %t", overlap)
		means = append(means, mean(t, learn(t, 5, make, perceptrons(64, 64), config, timesteps)))
	}
	if gained, want := means[1]-worst, means[0]-worst; gained < 0.95*want {
		t.Errorf("with overlap the mean return is %.1f, without %.1f", means[1], means[0])
	}
	return means[0]
}

func TestLearnCartPole(t *testing.T) {
	got := learnBothWays(t, func(seed int64) (envs.Env, error) {
		return classic.NewCartPole(classic.Config{NumEnvs: 8, Seed: seed})
	}, map[string]any{
		"rollouts": 32, "learning_epochs": 10, "mini_batches": 2, "discount_factor": 0.98, "gae_lambda": 0.8,
		"value_loss_scale": 0.5, "value_clip": 0,
		"learning_rate": 1e-3, "learning_rate_scheduler": "LinearLR",
		"learning_rate_scheduler_kwargs": map[string]any{"start_factor": 1.0, "end_factor": 0.01, "total_iters": 390},
	}, 12_500, 0)
	if got < 475 {
		t.Errorf("CartPole: mean return %.1f over 5 seeds, want ≥ 475", got)
	}
}

func TestLearnPendulum(t *testing.T) {
	got := learnBothWays(t, func(seed int64) (envs.Env, error) {
		return classic.NewPendulum(classic.Config{NumEnvs: 16, Seed: seed})
	}, map[string]any{
		"rollouts": 128, "learning_epochs": 10, "mini_batches": 16, "discount_factor": 0.9, "value_loss_scale": 0.5,
		"value_clip":           0,
		"rewards_shaper_scale": 0.1, "observation_preprocessor": "RunningStandardScaler",
		"value_preprocessor": "RunningStandardScaler",
		"learning_rate":      1e-3, "learning_rate_scheduler": "LinearLR",
		"learning_rate_scheduler_kwargs": map[string]any{"start_factor": 1.0, "end_factor": 0.05, "total_iters": 125},
	}, 16_000, -1200)
	if got < -250 {
		t.Errorf("Pendulum: mean return %.1f over 5 seeds, want ≥ −250", got)
	}
}

// gru returns a constructor of networks with 64 gated recurrent units before the hidden layers.
func gru(hidden []int, from models.Initialization) func(spaces.Set) ppo.Models {
	return func(sp spaces.Set) ppo.Models { return ppo.Recurrent(sp, models.GRU(64), hidden, "tanh", from) }
}

// TestLearnMaskedCartPole holds networks with memory against perceptrons in CartPole without velocities.
func TestLearnMaskedCartPole(t *testing.T) {
	for _, x := range []struct {
		name     string
		networks func(spaces.Set) ppo.Models
		astray   int // how many seeds may end below; of an LSTM one of 32 does
	}{
		{"GRU", gru([]int{64}, models.Initialization{}), 0},
		{"LSTM", func(sp spaces.Set) ppo.Models { return ppo.Recurrent(sp, models.LSTM(64), []int{64}, "tanh") }, 1},
		{"Perceptron", perceptrons(64, 64), 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			results := learn(t, 3, func(seed int64) (envs.Env, error) {
				return classic.NewMaskedCartPole(classic.Config{NumEnvs: 32, Seed: seed})
			}, x.networks, map[string]any{
				"rollouts": 64, "learning_epochs": 4, "mini_batches": 4, "value_loss_scale": 0.5, "kl_threshold": 0.05,
				"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
				"adam_epsilon": 1e-5, "learning_rate": 1e-3, "learning_rate_scheduler": "LinearLR",
				"learning_rate_scheduler_kwargs": map[string]any{"start_factor": 1.0, "end_factor": 0.01,
					"total_iters": 100},
			}, 6400)
			slices.SortFunc(results, func(a, b trainers.Evaluation) int { return cmp.Compare(a.Return, b.Return) })
			if x.name == "Perceptron" && results[2].Return >= 200 || x.name != "Perceptron" &&
				results[x.astray].Return < 475 {
				t.Errorf("the returns of the seeds are %.1f, %.1f and %.1f; want ≥ 475 with memory (but for %d), < "+
					"200 without",
					results[0].Return, results[1].Return, results[2].Return, x.astray)
			}
		})
	}
}

// TestLearnTMaze holds networks with memory against perceptrons in a T-maze with a corridor of 20 steps.
func TestLearnTMaze(t *testing.T) {
	for _, x := range []struct {
		name        string
		networks    func(spaces.Set) ppo.Models
		least, most float64 // of episodes that succeed
	}{
		{"GRU", gru(nil, models.Initialization{Kind: "orthogonal"}), 0.95, 1},
		{"Perceptron", perceptrons(64, 64), 0.3, 0.7},
	} {
		t.Run(x.name, func(t *testing.T) {
			for i, r := range learn(t, 3, func(seed int64) (envs.Env, error) {
				return classic.NewTMaze(classic.TMazeConfig{Config: classic.Config{NumEnvs: 64, Seed: seed},
					Length: 20})
			}, x.networks, map[string]any{
				"rollouts": 64, "learning_epochs": 4, "mini_batches": 8, "discount_factor": 0.98,
				"entropy_loss_scale": 0.03,
				"value_loss_scale":   0.5, "kl_threshold": 0.05,
				"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
				"adam_epsilon": 1e-5, "learning_rate": 2e-3, "learning_rate_scheduler": "LinearLR",
				"learning_rate_scheduler_kwargs": map[string]any{"start_factor": 1.0, "end_factor": 0.01,
					"total_iters": 100},
			}, 6400) {
				if s := r.Metrics["success"]; s < x.least || s > x.most {
					t.Errorf("seed %d: %.0f %% of episodes succeed; want %g to %g", i+1, 100*s, 100*x.least, 100*x.most)
				}
			}
		})
	}
}

// broken counts the games of training that a disc into a full column lost.
type broken struct {
	trainers.BaseCallback
	games, lost int
}

// OnEpisode implements [trainers.Callback].
func (b *broken) OnEpisode(_ *trainers.Trainer, e envs.Episode) error {
	b.games++
	b.lost += int(e.Metrics["illegal"])
	return nil
}

// TestLearnConnectFour plays against an opponent that moves at random. With action masks policies learn to win and
// never break a rule. Without masks they lose games by discs into full columns until they have learned the rule.
func TestLearnConnectFour(t *testing.T) {
	for name, unmasked := range map[string]bool{"masks": false, "without masks": true} {
		t.Run(name, func(t *testing.T) {
			var count broken
			for i, r := range learn(t, 3, func(seed int64) (envs.Env, error) {
				return classic.NewConnectFour(classic.ConnectFourConfig{Unmasked: unmasked,
					Config: classic.Config{NumEnvs: 64, Seed: seed}})
			}, perceptrons(128, 128), map[string]any{
				"rollouts": 64, "learning_epochs": 4, "mini_batches": 8, "discount_factor": 0.99,
				"entropy_loss_scale": 0.01, "value_loss_scale": 0.5, "adam_epsilon": 1e-5, "learning_rate": 1e-3,
				"learning_rate_scheduler": "LinearLR",
				"learning_rate_scheduler_kwargs": map[string]any{"start_factor": 1.0, "end_factor": 0.05,
					"total_iters": 25},
			}, 1600, &count) {
				if s := r.Metrics["success"]; !unmasked && s < 0.9 {
					t.Errorf("seed %d: %.1f %% of games are won; want at least 90", i+1, 100*s)
				}
			}
			t.Logf("%d of %d games of training were lost by a disc into a full column", count.lost, count.games)
			if broke := count.lost*200 > count.games; broke != unmasked { // more than 0.5 %
				t.Errorf("%d of %d games broke the rules", count.lost, count.games)
			}
		})
	}
}
