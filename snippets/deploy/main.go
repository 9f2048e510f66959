// Command deploy trains PPO on the pendulum for a moment, takes the policy out of the run's checkpoint, and writes it
// for where there is no libtorch: policy.safetensors for package infer (see act/, which a robot's board runs, and
// browser/) and policy.onnx for everything else. Then it shows that the policy alone does what the agent does.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/infer/onnx"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/trainers"
)

func main() {
	tensor.TuneAllocator()
	timesteps := flag.Int("timesteps", 12_800, "timesteps, each a step of all 16 pendulums")
	seed := flag.Int64("seed", 1, "seed of everything random")
	out := flag.String("out", filepath.Join("runs", "deploy"), "folder of the run and of the policy")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *timesteps, *seed, *out); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, timesteps int, seed int64, out string) error {
	env, err := classic.NewPendulum(classic.Config{NumEnvs: 16, Seed: seed})
	if err != nil {
		return err
	}
	defer env.Close()
	agent, err := ppo.New(ppo.Options{
		Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{64, 64}, "tanh"), Seed: seed,
		Dict: map[string]any{
			"rollouts": 128, "learning_epochs": 10, "mini_batches": 16, "learning_rate": 1e-3, "discount_factor": 0.9,
			"value_loss_scale": 0.5, "rewards_shaper_scale": 0.1,
			"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
		},
	})
	if err != nil {
		return err
	}
	defer agent.Close()
	trainer, err := trainers.New(env, agent,
		trainers.Config{Timesteps: timesteps, Seed: seed, Directory: filepath.Dir(out), Name: filepath.Base(out)})
	if err != nil {
		return err
	}
	if err := trainer.Train(ctx); err != nil {
		return err
	}
	policy, err := export(filepath.Join(trainer.Dir(), "checkpoints"), out)
	if err != nil {
		return err
	}
	return compare(env, agent, policy)
}

// export takes the policy out of the newest checkpoint and writes it twice.
func export(checkpoints, out string) (*infer.Policy, error) {
	store, err := checkpoint.NewStore(checkpoints, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	saved, _, err := store.Latest()
	if err != nil {
		return nil, err
	}
	policy, err := infer.Load(saved.Path)
	if err != nil {
		return nil, err
	}
	alone, model := filepath.Join(out, "policy.safetensors"), filepath.Join(out, "policy.onnx")
	if err := policy.WriteFile(alone); err != nil {
		return nil, err
	}
	if err := onnx.WriteFile(model, policy, onnx.Options{Name: "pendulum"}); err != nil {
		return nil, err
	}
	fmt.Printf("checkpoint %d bytes", saved.Manifest.Size)
	for _, path := range []string{alone, model} {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		fmt.Printf(", %s %d", filepath.Base(path), info.Size())
	}
	fmt.Println()
	return policy, nil
}

// compare plays an episode by the policy and asks the agent what it would have done.
func compare(env envs.Env, agent *ppo.Agent, policy *infer.Policy) error {
	agent.SetTraining(false)
	step, err := env.Reset(7)
	if err != nil {
		return err
	}
	actions := make([]float32, env.NumEnvs()*env.Spaces().Action.Width())
	worst, reward, spent := 0.0, 0.0, time.Duration(0)
	const steps = 200
	for range steps {
		start := time.Now()
		if err := policy.ActBatch(step.Observations, actions); err != nil {
			return err
		}
		spent += time.Since(start)
		want, err := agent.Act(trainers.Observation(step))
		if err != nil {
			return err
		}
		for i := range actions {
			worst = max(worst, math.Abs(float64(actions[i]-want[i])))
		}
		if step, err = env.Step(actions); err != nil {
			return err
		}
		for _, r := range step.Rewards {
			reward += float64(r)
		}
	}
	fmt.Printf("return %.1f by the policy alone, %v an action\n", reward/float64(env.NumEnvs()),
		(spent / time.Duration(steps*env.NumEnvs())).Round(100*time.Nanosecond))
	fmt.Printf("agent and policy differ by %.1g at most\n", worst)
	return nil
}
