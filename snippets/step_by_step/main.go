// Command step_by_step runs the training loop itself, one step at a time, with the trainer's Step: for programs that do
// something between steps, as a simulator with a window does. The second half is the same loop without a trainer: an
// agent needs nothing but Act, Record and Update.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/trainers"
)

func main() {
	tensor.TuneAllocator()
	timesteps := flag.Int("timesteps", 1024, "timesteps for each loop, each a step of all 16 poles")
	flag.Parse()
	ctx := context.Background()
	for _, loop := range []struct {
		name string
		run  func(ctx context.Context, env envs.Env, agent agents.Agent, timesteps int) (episodes int, steps float64,
			err error)
	}{{"with a trainer", withTrainer}, {"by hand", byHand}} {
		episodes, steps, err := train(ctx, *timesteps, loop.run)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d episodes, mean length %.1f\n", loop.name, episodes, steps/float64(max(1, episodes)))
	}
}

func train(ctx context.Context, timesteps int,
	loop func(context.Context, envs.Env, agents.Agent, int) (int, float64, error)) (int, float64, error) {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 16, Seed: 1})
	if err != nil {
		return 0, 0, err
	}
	defer env.Close()
	agent, err := ppo.New(ppo.Options{Spaces: env.Spaces(), NumEnvs: env.NumEnvs(),
		Models: ppo.MLPs(env.Spaces(), []int{64, 64}, "tanh"), Seed: 1,
		Dict: map[string]any{"rollouts": 64, "mini_batches": 4, "value_loss_scale": 0.5,
			"value_preprocessor": "RunningStandardScaler"}})
	if err != nil {
		return 0, 0, err
	}
	defer agent.Close()
	return loop(ctx, env, agent, timesteps)
}

// withTrainer leaves acting, recording and learning to the trainer, and looks at every step.
func withTrainer(ctx context.Context, env envs.Env, agent agents.Agent, timesteps int) (episodes int, steps float64,
	err error) {
	trainer, err := trainers.Sequential(env, agent, trainers.Config{Timesteps: timesteps, Seed: 1})
	if err != nil {
		return 0, 0, err
	}
	for range timesteps {
		step, err := trainer.Step(ctx)
		if err != nil {
			return episodes, steps, err
		}
		for _, e := range step.Episodes {
			episodes++
			steps += float64(e.Length)
		}
	}
	return episodes, steps, nil
}

// byHand is what a trainer does, without tracking and checkpoints.
func byHand(ctx context.Context, env envs.Env, agent agents.Agent, timesteps int) (episodes int, steps float64,
	err error) {
	now, err := env.Reset(1)
	if err != nil {
		return 0, 0, err
	}
	for range timesteps {
		actions, err := agent.Act(trainers.Observation(now))
		if err != nil {
			return episodes, steps, err
		}
		if now, err = env.Step(actions); err != nil {
			return episodes, steps, err
		}
		if err := agent.Record(trainers.Transition(now)); err != nil {
			return episodes, steps, err
		}
		if agent.Ready() { // a rollout is complete
			if err := agent.Update(ctx); err != nil {
				return episodes, steps, err
			}
		}
		for _, e := range now.Episodes {
			episodes++
			steps += float64(e.Length)
		}
	}
	return episodes, steps, nil
}
