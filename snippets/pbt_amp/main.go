// Command pbt_amp trains a population: four AMP agents with different hyperparameters learn to walk side by side, and
// those that fall behind continue from the weights of those that lead. It is what `make demo` runs.
//
// It writes a journal of every decision, a plot with the population's lineage, and a film of the best walker beside the
// reference gait. gorl serve runs shows it in a browser while it trains. Run again with -resume after an interruption,
// it continues.
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
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/report"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/trainers"
)

var (
	members  = flag.Int("members", 4, "members of the population")
	envs     = flag.Int("envs", 64, "walkers of each member")
	steps    = flag.Int64("steps", 458_752, "environment steps of each member")
	interval = flag.Int64("interval", 65_536, "environment steps between decisions")
	seed     = flag.Int64("seed", 1, "seed of everything random")
	out      = flag.String("out", filepath.Join("runs", "pbt_amp"), "folder of the results")
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
	display := progress.New(os.Stderr, progress.Options{LineEvery: 0.25})
	bars := map[int]tracking.Bar{}
	for id := range *members {
		bars[id] = display.Bar(fmt.Sprintf("member %d", id), *steps)
	}
	population, err := pbt.New(pbt.Options{
		Members:       *members,
		Objective:     "episode.return",
		IntervalSteps: *interval,
		TotalSteps:    *steps,
		Strategy:      strategy.IsaacLab{ThresholdStd: 0.5, ThresholdAbs: 10},
		Explore: explore.Mutation{Rate: 0.5, ChangeRange: [2]float64{1.1, 1.5}, Rules: explore.Rules{
			"learning_rate": explore.MutateFloat, "discount_factor": explore.MutateDiscount,
			"style_reward_scale": explore.MutateFloat,
		}},
		Sample: map[string]explore.Range{
			"learning_rate":      {Low: 1e-4, High: 1e-3, Log: true},
			"discount_factor":    {Low: 0.95, High: 0.98},
			"style_reward_scale": {Low: 0.5, High: 2, Log: true},
		},
		Seed:          *seed,
		Directory:     filepath.Join(*out, "population"),
		ProgressSteps: 8192,
		Progress: func(u pbt.Update) {
			if u.Event == nil {
				bars[u.Status.Member].Set(u.Status.Steps, fmt.Sprintf("return %5.1f  length %3.0f  style %.2f",
					u.Metrics["episode.return"], u.Metrics["episode.length"], u.Metrics["style_reward"]))
			}
		},
		New: func(m pbt.Member) (pbt.Trainee, error) { return member(m.Seed) },
	})
	check(err)
	defer population.Close()
	best, err := population.Train(ctx)
	display.Wait()
	if errors.Is(err, context.Canceled) {
		fmt.Printf("Stopped. Everything so far is in %s; continue with -resume.\n", *out)
		return
	}
	check(err)
	summarise(population, best)
}

// settings are those that all members share.
var settings = map[string]any{
	"rollouts": 32, "learning_epochs": 4, "mini_batches": 4, "grad_norm_clip": 1.0, "value_loss_scale": 1.0,
	"observation_preprocessor":     "RunningStandardScaler",
	"value_preprocessor":           "RunningStandardScaler",
	"amp_observation_preprocessor": "RunningStandardScaler",
	"task_reward_scale":            0.5,
	"discriminator_loss_scale":     2.0, "discriminator_batch_size": 512,
	"motion_dataset_size": 4000, "reply_buffer_size": 50_000,
}

// member builds the trainer of one member.
func member(seed int64) (*trainers.Trainee, error) {
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: *envs, Seed: seed, Workers: 1})
	if err != nil {
		return nil, err
	}
	return trainers.NewTrainee(env, func() (agents.Agent, error) { // owns env
		nets := amp.MLPs(env.Spaces(), []int{128, 64}, "elu") // policy, value, discriminator
		return amp.New(amp.Options{Spaces: env.Spaces(), Models: nets, Motions: env, Dict: settings, Seed: seed})
	}, trainers.Config{Seed: seed})
}

// summarise evaluates the best member and writes the table, the page and the film.
func summarise(population *pbt.Population, best *pbt.Result) {
	walker, err := member(*seed)
	check(err)
	defer walker.Close()
	check(walker.Restore(best.Snapshot))
	result, err := walker.Evaluate(context.Background(), trainers.EvaluateOptions{Episodes: 64, Seed: *seed})
	check(err)
	history, err := journal.NewHistory(population.Journal())
	check(err)
	check(report.Write(*out, history, report.Options{}))
	policy, err := infer.FromSnapshot(best.Snapshot)
	check(err)
	film := filepath.Join(*out, "walk.gif")
	check(mujoco.WalkerFilm(film, "best of the population", 6, *seed, policy.Act))
	store, err := checkpoint.NewStore(filepath.Join(*out, "best"), checkpoint.Options{})
	check(err)
	weights, err := store.Save(fmt.Sprintf("walker_%d", best.Steps), best.Steps, best.Snapshot)
	check(err)
	fmt.Println()
	check(population.Table().Write(os.Stdout))
	fmt.Printf("\nBest: member %d after %d environment steps. Evaluated over %d episodes: length %.1f of 300, "+
		"return %.1f, speed %.2f m/s, joint error %.3f rad.\n\n",
		best.Member, best.Steps, result.Episodes, result.Length, result.Return,
		result.Metrics["speed"], result.Metrics["joint_error"])
	check(tracking.Table(os.Stdout, []string{"written", "what it is"}, [][]string{
		{film, "the best walker beside the reference gait"},
		{filepath.Join(*out, report.PageFile), "the page of the population: who copied whom and why, and all curves"},
		{weights, "the best member's weights"},
		{filepath.Join(*out, "population", "000", "journal.jsonl"), "every decision about member 0, one a line"},
	}))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
