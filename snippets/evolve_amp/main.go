// Command evolve_amp lets walkers evolve: AMP agents learn to walk after reference motion, and between generations
// their learning rates, the weight of style, and the architecture of policy, critic and discriminator mutate.
//
// It prints the members with their mutations, and films the elite.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/trainers"
)

var (
	members  = flag.Int("members", 4, "members of the population")
	walkers  = flag.Int("envs", 64, "walkers of each member")
	steps    = flag.Int64("steps", 458_752, "environment steps of each member")
	interval = flag.Int64("interval", 65_536, "environment steps of a generation")
	seed     = flag.Int64("seed", 1, "seed of everything random")
	out      = flag.String("out", filepath.Join("runs", "evolve_amp"), "folder of the results")
)

func main() {
	tensor.TuneAllocator()
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	mutations := evolution.DefaultMutations()
	mutations.Activation = 0.1
	mutations.Limits = models.Limits{MinLayers: 1, MaxLayers: 3, MinNodes: 32, MaxNodes: 256, MinLatent: 8, MaxLatent: 128}
	mutations.Hyperparameters = evolution.HyperparameterConfig{
		"learning_rate":      {Min: 5e-5, Max: 2e-3, GrowFactor: 1.5, ShrinkFactor: 0.67},
		"style_reward_scale": {Min: 0.25, Max: 4, GrowFactor: 1.5, ShrinkFactor: 0.67},
	}
	e, err := evolution.New(evolution.Options{
		PopulationSize: *members, EvoSteps: *interval, MaxSteps: *steps, Seed: *seed,
		Mutations: &mutations, PreTrainingMutation: true,
		Progress: func(u pbt.Update) {
			if u.Event != nil && u.Event.Mutation != "" {
				fmt.Fprintf(os.Stderr, "generation %d, member %d: %s\n", u.Event.Iteration, u.Event.Member, u.Event.Mutation)
			}
		},
		New: func(m pbt.Member) (pbt.Trainee, error) { return member(m) },
	})
	if err != nil {
		return err
	}
	defer e.Close()
	best, err := e.Train(ctx)
	if err != nil {
		return err
	}
	if err := e.WriteTable(os.Stdout); err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	film := filepath.Join(*out, "walk.gif")
	elite, err := infer.FromSnapshot(best.Snapshot)
	if err != nil {
		return err
	}
	cfg := mujoco.FilmConfig{Seed: *seed, Title: "elite of the population"}
	if err := mujoco.WalkerFilm(film, elite.Act, cfg); err != nil {
		return err
	}
	fmt.Printf("\nElite: member %d of generation %d, return %.1f: %s. A film is in %s.\n",
		best.Member, best.Iteration, best.Objective, e.Evolver().Architecture(best.Snapshot), film)
	return nil
}

// member builds a walker's trainer, with networks of the shapes that it has evolved to.
func member(m pbt.Member) (*trainers.Trainee, error) {
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: *walkers, Seed: m.Seed, Workers: 1})
	if err != nil {
		return nil, err
	}
	sp := env.Spaces()
	return trainers.NewTrainee(env, func() (agents.Agent, error) {
		shapes, err := shapes(m, sp)
		if err != nil {
			return nil, err
		}
		return amp.New(amp.Options{
			Spaces: sp, Motions: env, Seed: m.Seed,
			Models: amp.Evolvable(sp, shapes["policy"], shapes["value"], shapes["discriminator"], amp.DefaultGaussian()),
			Dict: map[string]any{
				"rollouts": 32, "learning_epochs": 4, "mini_batches": 4, "grad_norm_clip": 1.0, "value_loss_scale": 1.0, "learning_rate": 3e-4,
				"observation_preprocessor":     "RunningStandardScaler",
				"value_preprocessor":           "RunningStandardScaler",
				"amp_observation_preprocessor": "RunningStandardScaler",
				"task_reward_scale":            0.5, "style_reward_scale": 1.0,
				"discriminator_loss_scale": 2.0, "discriminator_batch_size": 512,
				"motion_dataset_size": 4000, "reply_buffer_size": 50_000,
			},
		})
	}, trainers.Config{Seed: m.Seed, EvaluationEnv: func(n int, seed int64) (envs.Env, error) {
		return mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: n, Seed: seed, Workers: 1})
	}})
}

// shapes returns the architectures that a member has evolved to, or those that all begin with.
func shapes(m pbt.Member, sp spaces.Set) (map[string]models.Architecture, error) {
	if m.Restoring != nil {
		return evolution.Architectures(m.Restoring)
	}
	body, err := models.NewArchitecture(sp.Observation, nil, 0, []int{128, 64}, "elu")
	if err != nil {
		return nil, err
	}
	motion, err := models.NewArchitecture(sp.AMPObservation, nil, 0, []int{128, 64}, "elu")
	return map[string]models.Architecture{"policy": body, "value": body, "discriminator": motion}, err
}
