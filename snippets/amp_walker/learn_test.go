//go:build learning

package main

import (
	"context"
	"testing"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/trainers"
)

// TestLearnWalker trains the snippet's agent for 1.5 million environment steps with three seeds: it must walk for at least
// 290 of 300 steps and keep within 0.11 rad of the gait's nearest frame.
func TestLearnWalker(t *testing.T) {
	const envs, timesteps = 64, 23_424 // 1.499 million steps
	for seed := int64(1); seed <= 3; seed++ {
		env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: envs, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		agent, err := amp.New(amp.Options{
			Spaces: env.Spaces(), Models: amp.MLPs(env.Spaces(), []int{128, 64}, "elu"), Motions: env, Config: config(), Seed: uint64(seed),
		})
		if err != nil {
			t.Fatal(err)
		}
		trainer := trainers.Sequential(env, agent, trainers.Config{Timesteps: timesteps, Seed: seed, OnStep: func(tr *trainers.Trainer) error {
			if n := tr.Timestep() * envs; n == 163_840 || n == 327_680 || n == 655_360 || n == 1_146_880 {
				m := tr.Metrics()
				t.Logf("seed %d, %.2f M steps: length %.0f, speed %.2f m/s, joint error %.3f rad (sampled actions)",
					seed, float64(n)/1e6, m["episode.length"], m["episode.speed"], m["episode.joint_error"])
			}
			return nil
		}})
		if err := trainer.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
		result, err := trainer.Evaluate(context.Background(), 128, 100+seed)
		if err != nil {
			t.Fatal(err)
		}
		length, joint := result.Length, result.Metrics["joint_error"]
		t.Logf("seed %d, 1.50 M steps: length %.1f of 300, speed %.2f m/s, joint error %.3f rad (mean actions, %d episodes)",
			seed, length, result.Metrics["speed"], joint, result.Episodes)
		if length < 290 || joint > 0.11 {
			t.Errorf("seed %d: length %.1f (want ≥ 290), joint error %.3f rad (want ≤ 0.11)", seed, length, joint)
		}
		if err := agent.Close(); err != nil {
			t.Error(err)
		}
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	}
}
