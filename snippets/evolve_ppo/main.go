// Command evolve_ppo lets PPO agents on CartPole evolve: they begin with tiny networks and learning rates that are
// mostly far too small, and selection with mutations of learning rate, architecture and weights finds better ones.
//
// It prints the members with their mutations, evaluates the elite, and writes a picture with the lineage. Run again
// with -resume after an interruption, it continues with the whole population.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/report"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/trainers"
)

var (
	members  = flag.Int("members", 6, "members of the population")
	envs     = flag.Int("envs", 16, "poles of each member")
	steps    = flag.Int64("steps", 98_304, "environment steps of each member")
	interval = flag.Int64("interval", 4096, "environment steps of a generation")
	seed     = flag.Int64("seed", 1, "seed of everything random")
	out      = flag.String("out", filepath.Join("runs", "evolve_ppo"), "folder of the results")
	resume   = flag.Bool("resume", false, "continue what is in the folder")
)

func main() {
	tensor.TuneAllocator()
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := os.Stat(*out); err == nil && !*resume { // an earlier run is kept, out of the way
		check(os.Rename(*out, *out+"-"+time.Now().Format("060102-150405")))
	}
	mutations := evolution.DefaultMutations()
	mutations.NoMutation, mutations.Architecture, mutations.Parameters, mutations.RLHP = 0.2, 0.3, 0.1, 0.4
	mutations.Limits = evolution.Limits{MinLayers: 1, MaxLayers: 2, MinNodes: 4, MaxNodes: 128,
		MinLatent: 8, MaxLatent: 128}
	mutations.Hyperparameters = evolution.HyperparameterConfig{
		"learning_rate": {Min: 1e-8, Max: 0.02, GrowFactor: 4, ShrinkFactor: 0.25},
	}
	e, err := evolution.New(evolution.Options{
		Options: pbt.Options{
			Members: *members, IntervalSteps: *interval, TotalSteps: *steps, Seed: *seed,
			Strategy:  strategy.Tournament{TournamentSize: 2, Elitism: true},
			Sample:    map[string]explore.Range{"learning_rate": {Low: 3e-8, High: 3e-4, Log: true}},
			Directory: filepath.Join(*out, "population"),
			Progress: func(u pbt.Update) {
				if u.Event != nil && u.Event.HasObjective && u.Status.Member == *members-1 {
					log.Printf("generation %d: %d of %d environment steps", u.Event.Iteration, u.Event.Steps, *steps)
				}
			},
			New: func(m pbt.Member) (pbt.Trainee, error) { return member(m) },
		},
		Mutations: &mutations,
		SaveElite: true, ElitePath: filepath.Join(*out, "elite"),
	})
	check(err)
	defer e.Close()
	best, err := e.Train(ctx)
	if errors.Is(err, context.Canceled) {
		fmt.Printf("Stopped. The whole population is in %s; continue with -resume.\n", *out)
		return
	}
	check(err)

	elite, err := evolution.Build(member, best.Snapshot, *seed)
	check(err)
	defer elite.Close()
	result, err := elite.Evaluate(ctx, trainers.EvaluateOptions{Episodes: 64, Seed: *seed})
	check(err)
	history, err := journal.NewHistory(e.Population().Journal())
	check(err)
	check(report.Write(*out, history, report.Options{}))
	check(e.WriteTable(os.Stdout))
	fmt.Printf("\nElite: member %d of generation %d, %s, learning rate %.2g. Return %.1f over %d episodes.\n"+
		"Fitness, hyperparameters, networks and lineage: %s. Weights and architecture of the elite: %s.\n",
		best.Member, best.Iteration, e.Evolver().Architecture(best.Snapshot), best.Hyperparameters["learning_rate"],
		result.Return, result.Episodes, filepath.Join(*out, report.PageFile), filepath.Join(*out, "elite"))
}

// member builds an agent: at first with one hidden layer of four nodes, later with what it has evolved to.
func member(m pbt.Member) (*trainers.Trainee, error) {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: *envs, Seed: m.Seed})
	if err != nil {
		return nil, err
	}
	return trainers.NewTrainee(env, func() (agents.Agent, error) {
		start, err := description.NewArchitecture(env.Spaces().Observation, nil, 0, []int{4}, "tanh")
		if err != nil {
			return nil, err
		}
		shapes := map[string]description.Architecture{"policy": start, "value": start}
		if m.Restoring != nil {
			if shapes, err = evolution.Architectures(m.Restoring); err != nil {
				return nil, err
			}
		}
		return ppo.New(ppo.Options{
			Spaces: env.Spaces(),
			Models: ppo.Evolvable(env.Spaces(), shapes["policy"], shapes["value"], models.DefaultGaussianConfig()),
			Dict:   map[string]any{"rollouts": 32, "learning_epochs": 4, "mini_batches": 4, "value_loss_scale": 0.5},
			Seed:   m.Seed,
		})
	}, trainers.Config{Seed: m.Seed, SaveBuffers: true})
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
