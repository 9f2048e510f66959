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

	env, err := classic.NewPendulum(classic.Config{NumEnvs: 16, Seed: *seed})
	check(err)
	defer env.Close()
	agent, err := ppo.New(ppo.Options{
		Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{64, 64}, "tanh"), Seed: *seed,
		Dict: map[string]any{
			"rollouts": 128, "learning_epochs": 10, "mini_batches": 16, "learning_rate": 1e-3, "discount_factor": 0.9,
			"value_loss_scale": 0.5, "rewards_shaper_scale": 0.1,
			"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
		},
	})
	check(err)
	defer agent.Close()
	trainer, err := trainers.New(env, agent,
		trainers.Config{Timesteps: *timesteps, Seed: *seed, Directory: filepath.Dir(*out), Name: filepath.Base(*out)})
	check(err)
	check(trainer.Train(ctx))

	// The policy of the newest checkpoint, in both forms.
	store, err := checkpoint.NewStore(filepath.Join(trainer.Dir(), "checkpoints"), checkpoint.Options{})
	check(err)
	saved, _, err := store.Latest()
	check(err)
	policy, err := infer.Load(saved.Path)
	check(err)
	alone, model := filepath.Join(*out, "policy.safetensors"), filepath.Join(*out, "policy.onnx")
	check(policy.WriteFile(alone))
	check(onnx.WriteFile(model, policy, onnx.Options{Name: "pendulum"}))
	fmt.Printf("checkpoint %d bytes", saved.Manifest.Size)
	for _, path := range []string{alone, model} {
		info, err := os.Stat(path)
		check(err)
		fmt.Printf(", %s %d", filepath.Base(path), info.Size())
	}
	fmt.Println()
	compare(env, agent, policy)
}

// compare plays an episode by the policy and asks the agent what it would have done.
func compare(env envs.Env, agent *ppo.Agent, policy *infer.Policy) {
	agent.SetTraining(false)
	step, err := env.Reset(7)
	check(err)
	actions := make([]float32, env.NumEnvs()*env.Spaces().Action.Width())
	worst, reward, spent := 0.0, 0.0, time.Duration(0)
	const steps = 200
	for range steps {
		start := time.Now()
		check(policy.ActBatch(step.Observations, actions))
		spent += time.Since(start)
		want, err := agent.Act(trainers.Observation(step))
		check(err)
		for i := range actions {
			worst = max(worst, math.Abs(float64(actions[i]-want[i])))
		}
		step, err = env.Step(actions)
		check(err)
		for _, r := range step.Rewards {
			reward += float64(r)
		}
	}
	fmt.Printf("return %.1f by the policy alone, %v an action\n", reward/float64(env.NumEnvs()),
		(spent / time.Duration(steps*env.NumEnvs())).Round(100*time.Nanosecond))
	fmt.Printf("agent and policy differ by %.1g at most\n", worst)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
